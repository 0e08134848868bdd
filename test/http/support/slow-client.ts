/** Clients that take their time, on raw TLS sockets. */
import { connect as connectTcp, type Socket } from "node:net";
import { connect } from "node:tls";

export const HEAD = "Host: localhost\r\nX-API-Key: full-key\r\n";

export interface SlowClient extends Disposable {
  /** What came so far. */
  readonly received: string;
  /** Resolves with the milliseconds since the start when the server has closed; null when it did not in time. */
  closed(withinMs: number): Promise<number | null>;
  send(text: string): void;
  /** Sends the text again and again. */
  drip(text: string, everyMs: number): void;
  pause(): void;
}

/** Connects and sends `begin`. With `handshake` false it stays a mute TCP connection. */
export async function slowClient(
  port: number,
  { begin = "", handshake = true }: { begin?: string; handshake?: boolean } = {},
): Promise<SlowClient> {
  const socket: Socket = handshake
    ? connect({ host: "127.0.0.1", port, rejectUnauthorized: false })
    : connectTcp({ host: "127.0.0.1", port });
  const end = Promise.withResolvers<number>();
  let timer: NodeJS.Timeout | undefined;
  let received = "";
  let startedMs = performance.now();
  socket.on("data", (data) => {
    received += data.toString("latin1");
  });
  socket.on("error", () => {});
  socket.on("close", () => {
    clearInterval(timer);
    end.resolve(performance.now() - startedMs);
  });
  await new Promise<void>((resolve, reject) => {
    socket.once(handshake ? "secureConnect" : "connect", resolve);
    socket.once("close", () => reject(new Error("not accepted")));
  });
  startedMs = performance.now();
  if (begin !== "") socket.write(begin);
  return {
    get received() {
      return received;
    },
    closed: (withinMs) => Promise.race([end.promise, Bun.sleep(withinMs).then(() => null)]),
    send: (text) => void socket.write(text),
    drip(text, everyMs) {
      timer = setInterval(() => socket.write(text), everyMs);
    },
    pause: () => void socket.pause(),
    [Symbol.dispose]() {
      clearInterval(timer);
      socket.destroy();
    },
  };
}

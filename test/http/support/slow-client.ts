/** Clients that take their time, on raw TLS sockets. */
import { connect as connectTcp, type Socket } from "node:net";
import { connect } from "node:tls";
import { eventually } from "../../eventually.ts";

export const HEAD = "Host: localhost\r\nX-API-Key: full-key\r\n";

export interface SlowClient extends Disposable {
  /** What came so far. */
  readonly received: string;
  /**
   * Resolves when the server has closed the connection.
   * @throws {Error} when it does not
   */
  cut(): Promise<void>;
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
  let timer: NodeJS.Timeout | undefined;
  let received = "";
  let isClosed = false;
  socket.on("data", (data) => {
    received += data.toString("latin1");
  });
  socket.on("error", () => {});
  socket.on("close", () => {
    clearInterval(timer);
    isClosed = true;
  });
  await new Promise<void>((resolve, reject) => {
    socket.once(handshake ? "secureConnect" : "connect", resolve);
    socket.once("close", () => reject(new Error("not accepted")));
  });
  if (begin !== "") socket.write(begin);
  return {
    get received() {
      return received;
    },
    cut: () => eventually("the connection is cut", () => isClosed),
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

/** Speaks HTTP/1.1 by hand, for what no client library would send. */
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";

const QUIET_MS = 150;

/** Sends the bytes and gives back whatever comes until the peer closes or nothing comes any more. */
export function exchangeRaw(
  port: number,
  sent: string | Uint8Array,
  options: { tls: boolean },
): Promise<string> {
  return new Promise((resolve) => {
    const socket = options.tls
      ? connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false })
      : connect({ host: "127.0.0.1", port });
    let received = "";
    const done = () => {
      socket.destroy();
      resolve(received);
    };
    let timer = setTimeout(done, 10 * QUIET_MS);
    socket.on(options.tls ? "secureConnect" : "connect", () => socket.write(sent));
    socket.on("data", (data) => {
      received += data.toString("latin1");
      clearTimeout(timer);
      timer = setTimeout(done, QUIET_MS);
    });
    // A refused connection is an answer too: nothing was received.
    socket.on("error", done);
    socket.on("close", done);
  });
}

/** Speaks HTTP/1.1 by hand, for what no client library would send. */
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import { PATIENCE_MS } from "../../patience.ts";

/** What comes this soon after the last answer that was expected is seen, too. */
const QUIET_MS = 150;

export interface RawExchange {
  tls: boolean;
  /** How many answers to wait for, unless the peer closes: 1 by default. */
  answers?: number;
}

/**
 * Sends the bytes and gives back whatever comes until the peer closes, or until the answers that are waited
 * for are there and nothing comes any more.
 */
export function exchangeRaw(
  port: number,
  sent: string | Uint8Array,
  { tls, answers = 1 }: RawExchange,
): Promise<string> {
  return new Promise((resolve) => {
    const socket = tls
      ? connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false })
      : connect({ host: "127.0.0.1", port });
    let received = "";
    const done = () => {
      clearTimeout(timer);
      socket.destroy();
      resolve(received);
    };
    let timer = setTimeout(done, PATIENCE_MS);
    const look = () => {
      if (wholeAnswers(received) < answers) return;
      clearTimeout(timer);
      timer = setTimeout(done, QUIET_MS);
    };
    socket.on(tls ? "secureConnect" : "connect", () => {
      socket.write(sent);
      look();
    });
    socket.on("data", (data) => {
      received += data.toString("latin1");
      look();
    });
    // A refused connection is an answer too: nothing was received.
    socket.on("error", done);
    socket.on("close", done);
  });
}

/** Counts the complete answers. None of them may be to a HEAD request. */
function wholeAnswers(received: string): number {
  let count = 0;
  for (let at = 0; ; count++) {
    const bodyAt = received.indexOf("\r\n\r\n", at) + 4;
    if (bodyAt < 4) return count;
    const head = received.slice(at, bodyAt);
    if (/^transfer-encoding: chunked/im.test(head)) {
      const last = received.indexOf("0\r\n\r\n", bodyAt);
      if (last === -1) return count;
      at = last + 5;
    } else {
      at = bodyAt + Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0);
    }
    if (at > received.length) return count;
  }
}

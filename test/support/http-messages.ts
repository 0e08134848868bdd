/** Splits the bytes of a connection into messages of HTTP/1.1 (RFC 9112, section 6), unchanged. */

export interface HttpMessage {
  /** The whole message, unchanged. */
  bytes: Buffer;
  /** Its first line. */
  start: string;
  /** Where its body begins. */
  bodyAt: number;
}

const HEAD_END = "\r\n\r\n";

/** Collects the bytes that arrive, and returns each message once it is complete. */
export class HttpMessages {
  #pending: Buffer[] = [];
  #bytes = 0;
  /** The number of bytes below which no message can be complete. */
  #wanted = 0;

  add(piece: Buffer): HttpMessage[] {
    this.#pending.push(piece);
    this.#bytes += piece.length;
    const found: HttpMessage[] = [];
    while (this.#bytes > 0 && this.#bytes >= this.#wanted) {
      const all = this.#pending.length === 1 ? (this.#pending[0] as Buffer) : Buffer.concat(this.#pending);
      const { message, wanted } = firstOf(all);
      const rest = message === null ? all : all.subarray(message.bytes.length);
      this.#pending = [rest];
      this.#bytes = rest.length;
      this.#wanted = wanted;
      if (message === null) break;
      found.push(message);
    }
    return found;
  }
}

function firstOf(all: Buffer): { message: HttpMessage | null; wanted: number } {
  const headEnd = all.indexOf(HEAD_END);
  if (headEnd < 0) return { message: null, wanted: all.length + 1 };
  const head = all.toString("latin1", 0, headEnd);
  const bodyAt = headEnd + HEAD_END.length;
  const end = /^transfer-encoding:.*chunked/im.test(head)
    ? endOfChunks(all, bodyAt)
    : bodyAt + Number(/^content-length:\s*(\d+)/im.exec(head)?.[1] ?? 0);
  if (end === null || all.length < end) return { message: null, wanted: end ?? all.length + 1 };
  const start = head.slice(0, (head.indexOf("\r\n") + head.length + 1) % (head.length + 1));
  return { message: { bytes: all.subarray(0, end), start, bodyAt }, wanted: 0 };
}

/** Returns where a chunked body without trailers ends; null while it is incomplete. */
function endOfChunks(all: Buffer, bodyAt: number): number | null {
  let at = bodyAt;
  for (;;) {
    const lineEnd = all.indexOf("\r\n", at);
    if (lineEnd < 0) return null;
    const length = Number.parseInt(all.toString("latin1", at, lineEnd), 16);
    at = lineEnd + 2 + length + 2;
    if (at > all.length) return null;
    if (length === 0) return at;
  }
}

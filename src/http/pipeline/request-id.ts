/** The request id: the client's own when it is harmless to log and to echo, else a new one. */

/** 1 to 128 of `A-Z a-z 0-9 . _ -`. */
const CLIENT_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** Bytes of a random prefix and hex digits of a counter: unique across restarts, cheap per request. */
const PREFIX_BYTES = 8;
const COUNTER_DIGITS = 8;
const COUNTER_LIMIT = 16 ** COUNTER_DIGITS;

/** Makes request ids from random bytes that are drawn once for every 2^32 requests. */
export class RequestIds {
  readonly #randomBytes: (length: number) => Uint8Array;
  #prefix = "";
  #next = COUNTER_LIMIT;

  constructor(randomBytes: (length: number) => Uint8Array) {
    this.#randomBytes = randomBytes;
  }

  /** The id of a request that came with this `X-Request-Id` header, or with none. */
  of(header: string | null): string {
    return header !== null && CLIENT_ID.test(header) ? header : this.#make();
  }

  #make(): string {
    if (this.#next === COUNTER_LIMIT) {
      this.#prefix = `req_${Buffer.from(this.#randomBytes(PREFIX_BYTES)).toString("hex")}`;
      this.#next = 0;
    }
    return this.#prefix + (this.#next++).toString(16).padStart(COUNTER_DIGITS, "0");
  }
}

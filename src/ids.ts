/**
 * Identifiers in TypeID form: a prefix, `_`, and 16 bytes in Crockford's base32, 26 characters. The 16 bytes are a UUIDv7
 * (RFC 9562, section 5.7), so ids that one source creates in the same millisecond still sort in order of creation. Those
 * of an event are its position in the log and random bytes.
 */

type IdPrefix = "ws" | "usr" | "key" | "cp" | "aud" | "ses" | "inv" | "snk" | "wid" | "pky" | "idn";

/** Milliseconds since the Unix epoch. */
export type Clock = () => number;

/** Fills the bytes with random values fit for secrets. */
type FillRandom = (bytes: Uint8Array) => void;

/**
 * The first and the last moment, ms since the Unix epoch, that {@link showTime} shows as RFC 3339 does, with four digits
 * for the year. Only such texts sort like the moments that they name.
 */
export const FIRST_MOMENT_MS = Date.parse("0000-01-01T00:00:00.000Z");
export const LAST_MOMENT_MS = Date.parse("9999-12-31T23:59:59.999Z");

/** Returns a moment as the API and the log show it: RFC 3339, UTC, three decimals. */
export const showTime = (ms: number): string => new Date(ms).toISOString();

/** Returns a moment like {@link showTime}, and null for none. */
export const showTimeOrNull = (ms: number | null): string | null => (ms === null ? null : showTime(ms));

/** How far clocks may differ before a stored time counts as one of a clock that was ahead, ms. */
export const CLOCK_LEEWAY_MS = 5 * 60_000;

/**
 * Reports whether a stored time has not come yet, since the clock was ahead when it was stored. It then says nothing
 * about how long ago that was, and what waits for it would wait until that date.
 */
export const isFromFuture = (storedMs: number, nowMs: number): boolean => storedMs > nowMs + CLOCK_LEEWAY_MS;

export const systemClock: Clock = () => Date.now();
const systemRandom: FillRandom = (bytes) => {
  crypto.getRandomValues(bytes);
};

/** The digits of an id: Crockford's base32 in lower case. */
export const ID_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const SUFFIX_LENGTH = 26;
const SUFFIX = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/;
const POOL_BYTES = 4_096;
/** Limits the start value of the 12-bit counter in a new millisecond, so that it has room to count. */
const COUNTER_START_MASK = 0x7ff;
const COUNTER_LIMIT = 0xfff;

/** Fetches random bytes from the system in large blocks, for many small requests. */
export class RandomPool {
  readonly #pool = new Uint8Array(POOL_BYTES);
  #used = POOL_BYTES;

  constructor(private readonly fill: FillRandom = systemRandom) {}

  /** Returns a copy of the next `count` random bytes (at most 4,096). */
  take(count: number): Uint8Array {
    if (this.#used + count > POOL_BYTES) {
      this.fill(this.#pool);
      this.#used = 0;
    }
    // A loop, since requests are small: copying with `slice` and `fill` is ten times slower.
    const taken = new Uint8Array(count);
    for (let i = 0; i < count; i++) {
      taken[i] = this.#pool[this.#used] as number;
      this.#pool[this.#used++] = 0;
    }
    return taken;
  }
}

const ALPHABET_CODES = Uint8Array.from(ID_ALPHABET, (letter) => letter.charCodeAt(0));
/** A buffer for the characters of an identifier: joining strings would cost more than everything else. */
const characters = Buffer.alloc(SUFFIX_LENGTH);

function base32(bytes: Uint8Array): string {
  // 128 bits in 26 characters of 5 bits: two zero bits in front.
  let length = 0;
  let buffer = 0;
  let bits = 2;
  for (let i = 0; i < bytes.length; i++) {
    buffer = ((buffer << 8) | (bytes[i] as number)) & 0xffff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      characters[length++] = ALPHABET_CODES[(buffer >> bits) & 31] as number;
    }
  }
  return characters.toString("latin1", 0, length);
}

export const EVENT_RANDOM_BYTES = 8;

/** Creates identifiers from a clock and a source of random bytes. */
export class IdSource {
  #lastMs = -1;
  #counter = 0;

  constructor(
    private readonly clock: Clock = systemClock,
    private readonly random = new RandomPool(),
  ) {}

  /** Returns a new identifier. When the clock stands still or steps back, a counter keeps the order. */
  next(prefix: Exclude<IdPrefix, "aud">): string {
    const bytes = this.random.take(16);
    const now = Math.max(this.clock(), this.#lastMs);
    if (now > this.#lastMs) {
      this.#lastMs = now;
      this.#counter = (((bytes[6] as number) << 8) | (bytes[7] as number)) & COUNTER_START_MASK;
    } else if (++this.#counter > COUNTER_LIMIT) {
      this.#lastMs++;
      this.#counter = 0;
    }
    writeTimestamp(bytes, this.#lastMs);
    bytes[6] = 0x70 | (this.#counter >> 8);
    bytes[7] = this.#counter & 0xff;
    bytes[8] = 0x80 | ((bytes[8] as number) & 0x3f);
    return `${prefix}_${base32(bytes)}`;
  }

  /** Returns the id of a new event at a position. */
  event(seq: number): string {
    return eventId(seq, this.random.take(EVENT_RANDOM_BYTES));
  }
}

/** The bytes of an event's id. */
const eventBytes = new Uint8Array(2 * EVENT_RANDOM_BYTES);

/** Returns the id of an event: its position in the log in 8 bytes, big-endian, and 8 random bytes. */
export function eventId(seq: number, random: Uint8Array): string {
  let [high, low] = [Math.floor(seq / 2 ** 32), seq % 2 ** 32];
  for (let index = 3; index >= 0; index--) {
    eventBytes[index] = high & 0xff;
    eventBytes[index + 4] = low & 0xff;
    high >>>= 8;
    low >>>= 8;
  }
  for (let index = 0; index < EVENT_RANDOM_BYTES; index++) {
    eventBytes[EVENT_RANDOM_BYTES + index] = random[index] as number;
  }
  return idOf("aud", eventBytes);
}

/** Returns the identifier that encodes 16 bytes, such as the beginning of a digest. */
export const idOf = (prefix: IdPrefix, bytes: Uint8Array): string => `${prefix}_${base32(bytes)}`;

/** How many characters of an event's id depend on its position. The last of them has one bit of it, and four random ones. */
const POSITION_CHARS = 14;
const RANDOM_BITS = 0xf;

/** Returns the position in the id of an event; null for a text of another form, and beyond 2^53 - 1. */
export function positionOf(id: string): number | null {
  if (!isId("aud", id)) return null;
  const last = PREFIX.length + POSITION_CHARS - 1;
  let half = 0;
  for (let index = PREFIX.length; index < last; index++) half = half * 32 + valueAt(id, index);
  const seq = half * 2 + (valueAt(id, last) > RANDOM_BITS ? 1 : 0);
  return Number.isSafeInteger(seq) ? seq : null;
}

/** Returns the random bytes in the id of an event, which must have the form of one. */
export function randomOf(id: string): Uint8Array {
  const bytes = new Uint8Array(EVENT_RANDOM_BYTES);
  let buffer = valueAt(id, PREFIX.length + POSITION_CHARS - 1) & RANDOM_BITS;
  let bits = 4;
  let length = 0;
  for (let index = PREFIX.length + POSITION_CHARS; length < EVENT_RANDOM_BYTES; index++) {
    buffer = ((buffer << 5) | valueAt(id, index)) & 0xffff;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes[length++] = buffer >> bits;
  }
  return bytes;
}

const PREFIX = "aud_";
/** The digits by the code of their character. */
const VALUES = new Uint8Array(128);
for (const [value, digit] of [...ID_ALPHABET].entries()) VALUES[digit.charCodeAt(0)] = value;
const valueAt = (id: string, index: number): number => VALUES[id.charCodeAt(index)] as number;

function writeTimestamp(bytes: Uint8Array, ms: number): void {
  let rest = ms;
  for (let i = 5; i >= 0; i--) {
    bytes[i] = rest % 256;
    rest = Math.floor(rest / 256);
  }
}

/** Reports whether the text is a well-formed identifier with this prefix. */
export function isId(prefix: IdPrefix, text: string): boolean {
  return (
    text.length === prefix.length + 1 + SUFFIX_LENGTH &&
    text.startsWith(`${prefix}_`) &&
    SUFFIX.test(text.slice(prefix.length + 1))
  );
}

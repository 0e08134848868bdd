/** Compares and copies short runs of bytes, four at a time, which is faster than calls into the runtime. */

/** Bytes, with a view that reads them as numbers. */
export class Bytes {
  readonly view: DataView;

  readonly #buffer: Buffer;

  constructor(readonly u8: Uint8Array) {
    this.view = new DataView(u8.buffer, u8.byteOffset, u8.byteLength);
    this.#buffer = Buffer.from(u8.buffer, u8.byteOffset, u8.byteLength);
  }

  ascii(start: number, end: number): string {
    return this.#buffer.toString("latin1", start, end);
  }

  text(start: number, end: number): string {
    return this.#buffer.toString("utf8", start, end);
  }

  /** Returns the bytes of a text, one for each character (Latin-1). */
  static of(text: string): Bytes {
    return new Bytes(Buffer.from(text, "latin1"));
  }
}

/** Returns a copy of an array with space for `length` elements, or twice as many as before. New elements are zero. */
export function enlarged<T extends Uint8Array | Uint32Array | Int32Array | Float64Array>(array: T, length = 0): T {
  const Kind = array.constructor as new (length: number) => T;
  const larger = new Kind(Math.max(2 * array.length, length));
  larger.set(array);
  return larger;
}

/** Reports whether the `length` bytes of `a` at `at` equal those of `b` at `from`. */
export function same(a: Bytes, at: number, b: Bytes, from: number, length: number): boolean {
  if (at + length > a.u8.length) return false;
  const [x, y] = [a.view, b.view];
  let done = 0;
  for (; done + 4 <= length; done += 4) {
    if (x.getInt32(at + done, true) !== y.getInt32(from + done, true)) return false;
  }
  for (; done < length; done++) if (x.getUint8(at + done) !== y.getUint8(from + done)) return false;
  return true;
}

/** Copies `length` bytes of `from` to `to`. Both must be long enough. */
export function copy(to: Bytes, at: number, from: Bytes, start: number, length: number): void {
  const [x, y] = [to.view, from.view];
  let done = 0;
  for (; done + 4 <= length; done += 4) x.setInt32(at + done, y.getInt32(start + done, true), true);
  for (; done < length; done++) x.setUint8(at + done, y.getUint8(start + done));
}

/** The two hex digits of each byte, as the little-endian number of their ASCII codes. */
const HEX_PAIRS = Uint16Array.from({ length: 256 }, (_, byte) => {
  const digits = byte.toString(16).padStart(2, "0");
  return digits.charCodeAt(0) | (digits.charCodeAt(1) << 8);
});

/** Reports whether `text` has the lower-case hex of `bytes` at `at`. */
export function isHexOf(text: Bytes, at: number, bytes: Uint8Array): boolean {
  if (at + 2 * bytes.length > text.u8.length) return false;
  const { view } = text;
  for (let index = 0; index < bytes.length; index++) {
    if (view.getUint16(at + 2 * index, true) !== HEX_PAIRS[bytes[index] as number]) return false;
  }
  return true;
}

const NO_DIGIT = 0xff;
const HEX_VALUES = new Uint8Array(256).fill(NO_DIGIT);
for (const [value, digit] of [..."0123456789abcdef"].entries()) HEX_VALUES[digit.charCodeAt(0)] = value;

/** Decodes `count` bytes from the lower-case hex in `text` at `at`. Returns false when it is not lower-case hex. */
export function readHex(text: Uint8Array, at: number, into: Uint8Array, start: number, count: number): boolean {
  for (let index = 0; index < count; index++) {
    const high = HEX_VALUES[text[at + 2 * index] as number] as number;
    const low = HEX_VALUES[text[at + 2 * index + 1] as number] as number;
    if ((high | low) > 15) return false;
    into[start + index] = (high << 4) | low;
  }
  return at + 2 * count <= text.length;
}

/** Reports whether `text` has `count` lower-case hex digits at `at`. */
export function isHex(text: Uint8Array, at: number, count: number): boolean {
  let values = 0;
  for (let index = 0; index < count; index++) values |= HEX_VALUES[text[at + index] as number] as number;
  return values <= 15;
}

const ZERO = 0x30;
/** Integers with up to this many digits are exact. */
const MAX_DIGITS = 15;

/** Returns the position after the decimal number `expected` at `at`; -1 when the text has something else there. */
export function numberEnd(text: Uint8Array, at: number, expected: number): number {
  let value = 0;
  let place = at;
  for (const last = at + MAX_DIGITS; place < last; place++) {
    const digit = (text[place] as number) - ZERO;
    if (!(digit >= 0 && digit <= 9)) break;
    value = value * 10 + digit;
  }
  if (value !== expected || place === at) return -1;
  return text[at] === ZERO && place > at + 1 ? -1 : place;
}

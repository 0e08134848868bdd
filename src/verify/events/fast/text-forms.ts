/** Forms of texts in bytes: ids and times. */
import { ID_ALPHABET } from "../../../ids.ts";
import { Bytes } from "../../../log/bytes.ts";

/** The lengths of a hash in hex, of an id after its prefix, and of a time. */
export const HASH_CHARS = 64;
export const ID_CHARS = 26;
export const TIME_CHARS = 24;

/** The values of the characters of an id; 255 for others. */
const ID_VALUES = new Uint8Array(256).fill(0xff);
for (const [value, character] of [...ID_ALPHABET].entries()) {
  ID_VALUES[character.charCodeAt(0)] = value;
}
const MAX_ID_VALUE = 31;
const SEVEN = 0x37;

/** Whether the text has 26 characters of TypeID's base32 at `at`. */
export function isTypeId(text: Uint8Array, at: number): boolean {
  let good = (text[at] as number) <= SEVEN ? 1 : 0;
  for (let index = 0; index < ID_CHARS; index++)
    good &= (ID_VALUES[text[at + index] as number] as number) <= MAX_ID_VALUE ? 1 : 0;
  return good === 1;
}

/** The character of an event's id with the last bit of its position, which is before four random bits. */
const SHARED_CHAR = 13;
const RANDOM_BITS = 4;
/** Characters that can be computed as integers of 32 bits. */
const LOW_CHARS = 6;
const LOW = 2 ** 30;

/** Whether the text has the 26 characters of the id of an event at position `seq`, at `at`. */
export function isEventId(text: Uint8Array, at: number, seq: number): boolean {
  let all = 0;
  for (let index = SHARED_CHAR; index < ID_CHARS; index++) all |= ID_VALUES[text[at + index] as number] as number;
  if (all > MAX_ID_VALUE) return false;
  if ((ID_VALUES[text[at + SHARED_CHAR] as number] as number) >> RANDOM_BITS !== seq % 2) return false;
  const half = Math.floor(seq / 2);
  return (
    hasNumber(text, at, SHARED_CHAR - LOW_CHARS, Math.floor(half / LOW)) &&
    hasNumber(text, at + SHARED_CHAR - LOW_CHARS, LOW_CHARS, half % LOW)
  );
}

/** Whether the text has a number of at most 30 bits in `count` characters of base32. */
function hasNumber(text: Uint8Array, at: number, count: number, number: number): boolean {
  let rest = number;
  for (let index = count - 1; index >= 0; index--) {
    if (ID_VALUES[text[at + index] as number] !== (rest & MAX_ID_VALUE)) return false;
    rest >>>= 5;
  }
  return true;
}

const ZERO = 0x30;
const COLON = 0x3a;
/** The places of the parts of a time: 2026-01-02T03:04:05.678Z. */
const DATE_CHARS = 11;

/** Recognizes times of the last learned day, which is known to be valid. */
export class TimeForm {
  readonly #day = new Bytes(new Uint8Array(DATE_CHARS));
  #dayMs = 0;

  /** @param timestamp of an event that was parsed */
  learn(timestamp: string): void {
    this.#day.u8.set(Buffer.from(timestamp.slice(0, DATE_CHARS), "latin1"));
    this.#dayMs = Date.parse(`${timestamp.slice(0, DATE_CHARS)}00:00:00.000Z`);
  }

  /** Returns the time at `at`, whose form {@link fits} has checked, ms since the Unix epoch. */
  ms({ u8 }: Bytes, at: number): number {
    const two = (place: number): number =>
      ((u8[at + place] as number) - ZERO) * 10 + (u8[at + place + 1] as number) - ZERO;
    const seconds = two(11) * 3_600 + two(14) * 60 + two(17);
    return this.#dayMs + seconds * 1_000 + ((u8[at + 20] as number) - ZERO) * 100 + two(21);
  }

  /** Whether the text has a well-formed time of that day at `at`. */
  fits(text: Bytes, at: number): boolean {
    const { u8 } = text;
    for (let index = 0; index < DATE_CHARS; index++) {
      if (u8[at + index] !== this.#day.u8[index]) return false;
    }
    return (
      isNumber(u8, at + 11, 24) &&
      u8[at + 13] === COLON &&
      isNumber(u8, at + 14, 60) &&
      u8[at + 16] === COLON &&
      isNumber(u8, at + 17, 60) &&
      u8[at + 19] === 0x2e &&
      isDigit(u8[at + 20] as number) &&
      isNumber(u8, at + 21, 100) &&
      u8[at + 23] === 0x5a
    );
  }
}

/** Whether the text has two digits at `at` whose number is below `limit`. */
function isNumber(text: Uint8Array, at: number, limit: number): boolean {
  const [tens, ones] = [text[at] as number, text[at + 1] as number];
  return isDigit(tens) && isDigit(ones) && (tens - ZERO) * 10 + ones - ZERO < limit;
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= ZERO + 9;
}

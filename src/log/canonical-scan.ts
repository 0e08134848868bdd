/**
 * Recognizes canonical JSON objects (RFC 8785) in bytes, without building values. The scan accepts only common forms;
 * `parseCanonicalJson` decides about escapes, fractions and other rare ones.
 */
import { isUtf8 } from "node:buffer";
import { MAX_JSON_DEPTH } from "./jcs.ts";

export const UNSURE = -1;
const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const SAFE_DIGITS = 15;

const [PLAIN, SPECIAL, FOREIGN] = [0, 1, 2];
/** The class of a byte inside a string: plain, a quote or another special byte, or part of a non-ASCII character. */
const IN_STRING = new Uint8Array(256).fill(PLAIN).fill(SPECIAL, 0, 0x20).fill(FOREIGN, 0x80);
IN_STRING[QUOTE] = SPECIAL;
IN_STRING[BACKSLASH] = SPECIAL;

const words = ["null", "true", "false"].map((word) => Buffer.from(word));

/** Reports whether a text is certainly one canonical JSON object. False means that it may still be one. */
export function isPlainlyCanonicalObject(text: string): boolean {
  const bytes = Buffer.from(text);
  return text.isWellFormed() && scan.objectEnd(bytes, 0) === bytes.length;
}

/** Scans one text at a time. Not reentrant. */
export class CanonicalScan {
  #text: Uint8Array = new Uint8Array();
  #foreign = false;

  /** Returns the position after the canonical object that begins at `at`, or {@link UNSURE}. */
  objectEnd(text: Uint8Array, at: number): number {
    this.#foreign = false;
    if (text[at] !== OPEN_BRACE) return UNSURE;
    this.#text = text;
    const end = this.#object(at, 1);
    if (end === UNSURE || !this.#foreign) return end;
    // Well-formed UTF-8 has no lone surrogates.
    return isUtf8(text.subarray(at, end)) ? end : UNSURE;
  }

  /** Begins a text whose values are scanned one by one. */
  begin(text: Uint8Array): void {
    this.#foreign = false;
    this.#text = text;
  }

  /** Returns the position after the string that begins at `at`, or {@link UNSURE}. It may be no well-formed UTF-8. */
  stringEnd(at: number): number {
    return this.#text[at] === QUOTE ? this.#string(at) : UNSURE;
  }

  /** Returns the position after the integer that begins at `at`, or {@link UNSURE}. */
  integerEnd(at: number): number {
    return this.#integer(at);
  }

  /** Whether the last object, or a string since {@link begin}, had non-ASCII characters. */
  get foreign(): boolean {
    return this.#foreign;
  }

  #value(at: number, depth: number): number {
    switch (this.#text[at]) {
      case QUOTE:
        return this.#string(at);
      case OPEN_BRACE:
        return depth > MAX_JSON_DEPTH ? UNSURE : this.#object(at, depth);
      case OPEN_BRACKET:
        return depth > MAX_JSON_DEPTH ? UNSURE : this.#array(at, depth);
    }
    for (const word of words) {
      if (this.#text[at] === word[0] && word.every((byte, index) => this.#text[at + index] === byte)) {
        return at + word.length;
      }
    }
    return this.#integer(at);
  }

  #string(at: number): number {
    const text = this.#text;
    for (let place = at + 1; place < text.length; place++) {
      const kind = IN_STRING[text[place] as number];
      if (kind === PLAIN) continue;
      if (kind === SPECIAL) return text[place] === QUOTE ? place + 1 : UNSURE;
      this.#foreign = true;
    }
    return UNSURE;
  }

  #integer(at: number): number {
    const text = this.#text;
    const first = text[at] === MINUS ? at + 1 : at;
    let place = first;
    while ((text[place] as number) >= ZERO && (text[place] as number) <= NINE) place++;
    const digits = place - first;
    if (digits === 0 || digits > SAFE_DIGITS) return UNSURE;
    return text[first] === ZERO && place - at > 1 ? UNSURE : place;
  }

  #array(at: number, depth: number): number {
    let place = at + 1;
    if (this.#text[place] === CLOSE_BRACKET) return place + 1;
    for (;;) {
      place = this.#value(place, depth + 1);
      if (place === UNSURE) return UNSURE;
      const next = this.#text[place++];
      if (next === CLOSE_BRACKET) return place;
      if (next !== COMMA) return UNSURE;
    }
  }

  #object(at: number, depth: number): number {
    const text = this.#text;
    let place = at + 1;
    if (text[place] === CLOSE_BRACE) return place + 1;
    let [before, beforeEnd] = [-1, -1];
    for (;;) {
      if (text[place] !== QUOTE) return UNSURE;
      const foreign = this.#foreign;
      this.#foreign = false;
      const nameEnd = this.#string(place);
      // Names are sorted by UTF-16 code units. That is the order of the bytes only in ASCII.
      if (nameEnd === UNSURE || this.#foreign || text[nameEnd] !== COLON) return UNSURE;
      this.#foreign = foreign;
      if (before >= 0 && !this.#ascends(before, beforeEnd, place + 1, nameEnd - 1)) return UNSURE;
      [before, beforeEnd] = [place + 1, nameEnd - 1];
      place = this.#value(nameEnd + 1, depth + 1);
      if (place === UNSURE) return UNSURE;
      const next = text[place++];
      if (next === CLOSE_BRACE) return place;
      if (next !== COMMA) return UNSURE;
    }
  }

  /** Reports whether one name sorts before another. */
  #ascends(a: number, aEnd: number, b: number, bEnd: number): boolean {
    const text = this.#text;
    for (let [x, y] = [a, b]; y < bEnd; x++, y++) {
      if (x >= aEnd) return true;
      if (text[x] !== text[y]) return (text[x] as number) < (text[y] as number);
    }
    return false;
  }
}

const scan = new CanonicalScan();

/**
 * A quick look at whether a text is canonical JSON (RFC 8785) without building its value. It says
 * yes only when that is certain; escapes, fractions and whatever else is rare are left to the
 * thorough way in jcs.ts.
 */
import { MAX_JSON_DEPTH } from "./jcs.ts";

const UNSURE = -1;
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
const FIRST_PRINTABLE = 0x20;
const FIRST_SURROGATE = 0xd800;
const LAST_SURROGATE = 0xdfff;
/** Every integer of so many digits is exact in a double and written without an exponent. */
const SAFE_DIGITS = 15;

/** True when `text` is certainly one canonical JSON object; false says nothing. */
export function isPlainlyCanonicalObject(text: string): boolean {
  return text.charCodeAt(0) === OPEN_BRACE && objectEnd(text, 0, 1) === text.length;
}

/** The place behind the value that begins at `at`, or UNSURE. */
function valueEnd(text: string, at: number, depth: number): number {
  const code = text.charCodeAt(at);
  switch (code) {
    case QUOTE:
      return stringEnd(text, at);
    case OPEN_BRACE:
      return depth > MAX_JSON_DEPTH ? UNSURE : objectEnd(text, at, depth);
    case OPEN_BRACKET:
      return depth > MAX_JSON_DEPTH ? UNSURE : arrayEnd(text, at, depth);
  }
  for (const word of ["null", "true", "false"]) if (text.startsWith(word, at)) return at + word.length;
  return integerEnd(text, at);
}

function stringEnd(text: string, at: number): number {
  for (let place = at + 1; place < text.length; place++) {
    const code = text.charCodeAt(place);
    if (code === QUOTE) return place + 1;
    if (code < FIRST_PRINTABLE || code === BACKSLASH) return UNSURE;
    if (code >= FIRST_SURROGATE && code <= LAST_SURROGATE) return UNSURE;
  }
  return UNSURE;
}

function integerEnd(text: string, at: number): number {
  const first = text.charCodeAt(at) === MINUS ? at + 1 : at;
  let place = first;
  while (isDigit(text.charCodeAt(place))) place++;
  const digits = place - first;
  if (digits === 0 || digits > SAFE_DIGITS) return UNSURE;
  // 0 itself, but neither -0 nor 01; a fraction or an exponent shows as what cannot follow a value.
  if (text.charCodeAt(first) === ZERO && place - at > 1) return UNSURE;
  return place;
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE;
}

function arrayEnd(text: string, at: number, depth: number): number {
  let place = at + 1;
  if (text.charCodeAt(place) === CLOSE_BRACKET) return place + 1;
  for (;;) {
    place = valueEnd(text, place, depth + 1);
    if (place === UNSURE) return UNSURE;
    const next = text.charCodeAt(place++);
    if (next === CLOSE_BRACKET) return place;
    if (next !== COMMA) return UNSURE;
  }
}

function objectEnd(text: string, at: number, depth: number): number {
  let place = at + 1;
  if (text.charCodeAt(place) === CLOSE_BRACE) return place + 1;
  let before: string | null = null;
  for (;;) {
    if (text.charCodeAt(place) !== QUOTE) return UNSURE;
    const nameEnd = stringEnd(text, place);
    if (nameEnd === UNSURE || text.charCodeAt(nameEnd) !== COLON) return UNSURE;
    // Without escapes the text of a name is the name: its order is that of UTF-16 code units.
    const name = text.slice(place + 1, nameEnd - 1);
    if (before !== null && before >= name) return UNSURE;
    before = name;
    place = valueEnd(text, nameEnd + 1, depth + 1);
    if (place === UNSURE) return UNSURE;
    const next = text.charCodeAt(place++);
    if (next === CLOSE_BRACE) return place;
    if (next !== COMMA) return UNSURE;
  }
}

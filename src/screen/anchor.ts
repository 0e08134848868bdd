/** An anchor: a word that the automaton finds, and the check to run there. */
import type { Check } from "./check.ts";
import { isDigit, isLetter, isLower, isUpper } from "./text/ascii.ts";
import { isInIdentifier } from "./text/identifier.ts";
import { unitClass } from "./text/units.ts";

export interface Anchor {
  word: string;
  check: Check;
  /** The text must match letter for letter, not folded: a prefix of a token. */
  exact?: boolean;
  /** Where the word cannot stand, so that its check need not run. */
  bounds?: Bounds;
  /** The word is a label: what is found behind it may be an item of a list, of which all belong to it. */
  isLabel?: true;
}

/**
 * What shows at once that a word is a part of a longer one. `end`: a small letter of ASCII follows it, other than the
 * "s" of a plural. `both`: also a letter or digit of ASCII before it.
 */
type Bounds = "end" | "both";

/** Scripts that put no space between words, so that a word has no boundary to check. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Arabic}\p{Script=Hebrew}]/u;
const BEYOND_ASCII = /[^\0-\x7f]/;
/** Words this short are matched whole only: encoded data is full of them. */
const SHORT_WORD = 4;
/** Shorter words have no plural: "wa" is not meant in "was". */
const SHORTEST_PLURAL = 3;
const isUnspaced = unitClass(UNSPACED);
const isOtherLetter = unitClass(/\p{L}/u);
const isOtherAlphanumeric = unitClass(/[\p{L}\p{N}]/u);
/** Letters that have no capital are small ones. */
const isOtherLower = unitClass(
  /(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Arabic}\p{Script=Hebrew}])[\p{Ll}\p{Lo}\p{Lm}]/u,
);

/** Returns the anchor that runs `check` only where `word` stands as a word, or as a part of a name in camel case. */
export function asWord(word: string, check: Check): Anchor {
  const isPart = (text: string, start: number, end: number) =>
    word.length <= SHORT_WORD
      ? isAlphanumeric(text, start - 1) ||
        isPartOfName(text, end) ||
        continues(text, end) ||
        (word.length < SHORTEST_PLURAL && isLowerLetter(text, end))
      : beginsWithin(text, start) || continues(text, end);
  return where(word, word.length <= SHORT_WORD ? "both" : "end", isPart, check);
}

/**
 * Returns the anchor that runs `check` only where `word`, the name of a secret, is not the beginning of a longer word. A
 * short word, and with `whole` any word, must not be the end of a longer one either.
 */
export function asName(word: string, whole: boolean, check: Check): Anchor {
  const isShort = word.length <= SHORT_WORD;
  const isPart = (text: string, start: number, end: number) =>
    continues(text, end) ||
    ((whole || isShort) && beginsWithin(text, start)) ||
    (isShort && isTorn(text, start, end)) ||
    (word.length <= SHORTEST_PART && isBetweenLetters(text, start, end));
  return where(word, "end", isPart, check);
}

/**
 * Returns the anchor that runs `check` except where the word is part of something else. Words of scripts without spaces
 * are exempt. A word inside a random identifier is ignored.
 */
function where(
  word: string,
  bounds: Bounds,
  isPart: (text: string, start: number, end: number) => boolean,
  check: Check,
): Anchor {
  if (BEYOND_ASCII.test(word) && UNSPACED.test(word)) return { word, check };
  const bounded: Check = (text, start, end) => {
    const hit = isPart(text, start, end) ? null : check(text, start, end);
    return hit === null || isInIdentifier(text, start, end) ? null : hit;
  };
  return { word, check: bounded, bounds };
}

/** Scripts that hardly any name in a program is written in. */
const NOT_IN_NAMES =
  /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Devanagari}\p{Script=Thai}]/u;

const PARTED = /[ '.-]/;

/**
 * Returns the spellings of a label. A label of several words is also written as one: "date of birth" and "dateOfBirth".
 */
export function spellings(word: string): string[] {
  if (!PARTED.test(word) || NOT_IN_NAMES.test(word)) return [word];
  const others = [word.replace(/'/g, " "), word.replace(/'/g, ""), word.replace(/[ '.-]/g, "")];
  return [...new Set([word, ...others])];
}

/** Whether a digit, or a capital that begins no part of a name, follows a short word: then it is another word. */
function isPartOfName(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return isDigit(code) || (isUpper(code) && !isLowerLetter(text, at + 1));
}

/** A word of two letters is not a part in the middle of a name. */
const SHORTEST_PART = 2;
const isBetweenLetters = (text: string, start: number, end: number): boolean =>
  isLetter(text.charCodeAt(start - 1)) && isLetter(text.charCodeAt(end));

/** "pW": a capital after a small letter begins another word. */
function isTorn(text: string, start: number, end: number): boolean {
  for (let at = start + 1; at < end; at++)
    if (isUpper(text.charCodeAt(at)) && isLower(text.charCodeAt(at - 1))) return true;
  return false;
}

const isAlphanumeric = (text: string, at: number): boolean => {
  if (at < 0) return false;
  const code = text.charCodeAt(at);
  return code < 0x80 ? isDigit(code) || isLetter(code) : isOtherAlphanumeric(text, at) && !isUnspaced(text, at);
};

/** Whether a lower-case letter after the word makes it a longer word. A plural is still the word. */
export function continues(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  if (Number.isNaN(code)) return false;
  if (code === 115 && !isLowerLetter(text, at + 1)) return false;
  if (code === 83 && !isLetter(text.charCodeAt(at + 1))) return false;
  if (isLowerLetter(text, at)) return true;
  // In a name that is all capitals, a capital continues the word.
  return isUpper(code) && isUpper(text.charCodeAt(at - 1)) && isUpper(text.charCodeAt(at - 2));
}

/** Whether the letter before the word belongs to the same part of a name. */
function beginsWithin(text: string, start: number): boolean {
  if (start === 0) return false;
  const before = text.charCodeAt(start - 1);
  if (before < 0x80 && !isLetter(before)) return false;
  if (before >= 0x80 && (!isOtherLetter(text, start - 1) || isUnspaced(text, start - 1))) return false;
  // "OTCToken", "driverLicense": a capital begins a part of its own.
  if (!isUpper(text.charCodeAt(start))) return true;
  return isUpper(before) && !isLowerLetter(text, start + 1);
}

function isLowerLetter(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  if (code < 0x80) return isLower(code);
  return isOtherLower(text, at);
}

/** An anchor: a word that the automaton finds, and what to do there. */
import type { Hit, ScreeningPolicy } from "./finding.ts";

/** Looks at the text around an anchor that spans `[start, end)`. Bounded. */
export type Check = (text: string, start: number, end: number) => Hit | null;

export interface Anchor {
  word: string;
  policy: ScreeningPolicy;
  check: Check;
}

/** Scripts that put no space between words: there is no boundary to ask for. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Arabic}\p{Script=Hebrew}]/u;
const LETTER = /\p{L}/u;

/** Runs `check` only where `word` stands as a word, or as a part of a name in camel case. */
export function asWord(word: string, check: Check): Check {
  if (UNSPACED.test(word)) return check;
  return (text, start, end) =>
    beginsWithin(text, start) || continues(text, end) ? null : check(text, start, end);
}

/** A letter in lower case after the word goes on with it; a plural is still the word. */
export function continues(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  if (Number.isNaN(code)) return false;
  if (code === 115 && !isLowerLetter(text, at + 1)) return false;
  if (isLowerLetter(text, at)) return true;
  // In a name all in capitals a capital goes on with the word.
  return isUpper(code) && isUpper(text.charCodeAt(at - 1)) && isUpper(text.charCodeAt(at - 2));
}

/** A letter before the word that belongs to the same part of a name. */
export function beginsWithin(text: string, start: number): boolean {
  if (start === 0) return false;
  const before = text.charCodeAt(start - 1);
  if (before < 0x80 && !isUpper(before) && !(before >= 97 && before <= 122)) return false;
  if (!LETTER.test(text[start - 1] as string)) return false;
  // "OTCToken", "driverLicense": a capital begins a part of its own.
  if (!isUpper(text.charCodeAt(start))) return true;
  return isUpper(before) && !isLowerLetter(text, start + 1);
}

function isLowerLetter(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  if (code < 0x80) return code >= 97 && code <= 122;
  const char = text[at];
  return char !== undefined && LETTER.test(char) && char === char.toLowerCase();
}

function isUpper(code: number): boolean {
  return code >= 65 && code <= 90;
}

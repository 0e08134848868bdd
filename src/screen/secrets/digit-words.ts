/** Digits that are said one by one: "four, seven, one, one", 二九零四. */
import { spend } from "../check.ts";
import { isLetter } from "../text/ascii.ts";
import { ALL_DIGITS } from "../words/digits.ts";
import { anyOf } from "../words/lists.ts";

/** The bit that turns an ASCII capital into a lower-case letter. */
const LOWER = 0x20;
const WORD = `(?<!\\p{L})${anyOf(ALL_DIGITS)}`;
const HAN = "〇零一二三四五六七八九";

/** The source of a pattern for such a number of four to eight digits. */
export const SPOKEN_NUMBER = String.raw`${WORD}(?:[ ,-]{1,2}${WORD}){3,7}(?!\p{L})|[${HAN}]{4,8}(?!\p{Script=Han})`;

const ALL: ReadonlySet<string> = new Set(ALL_DIGITS);
/** The first two letters of the words: few others begin so. */
const BEGINNINGS: ReadonlySet<number> = new Set(ALL_DIGITS.map((word) => beginningAt(word, 0)));
const HAN_DIGITS: ReadonlySet<number> = new Set(Array.from(HAN, (sign) => sign.charCodeAt(0)));
const FEWEST_HAN = 4;
const FIRST_OF_LETTERS = 0xc0;
const FIRST_OF_EAST_ASIA = 0x3000;
const APOSTROPHE = 0x27;
const CHECK_UNITS = 50;

function beginningAt(text: string, at: number): number {
  const [first, second] = [text.charCodeAt(at), text.charCodeAt(at + 1)];
  return (first < 128 ? first | LOWER : first) * 0x10000 + (second < 128 ? second | LOWER : second);
}

const isPart = (code: number): boolean => code >= FIRST_OF_LETTERS || isLetter(code) || code === APOSTROPHE;

/**
 * Whether `text[from, to)` has two such words side by side, or four such signs. Most texts are ruled out by two
 * letters.
 */
export function saysDigits(text: string, from: number, to: number): boolean {
  spend(CHECK_UNITS);
  const limit = Math.min(text.length, to);
  let words = 0;
  let signs = 0;
  for (let at = from; at < limit; at++) {
    const code = text.charCodeAt(at);
    signs = code >= FIRST_OF_EAST_ASIA && HAN_DIGITS.has(code) ? signs + 1 : 0;
    if (signs === FEWEST_HAN) return true;
    if (!isPart(code) || (at > from && isPart(text.charCodeAt(at - 1)))) continue;
    let end = at + 1;
    while (end < limit && isPart(text.charCodeAt(end)) && text.charCodeAt(end) < FIRST_OF_EAST_ASIA) end++;
    words = BEGINNINGS.has(beginningAt(text, at)) && ALL.has(text.slice(at, end).toLowerCase()) ? words + 1 : 0;
    if (words === 2) return true;
    at = end - 1;
  }
  return false;
}

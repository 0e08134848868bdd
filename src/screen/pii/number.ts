/** Reads the text after a label: signs and small words without meaning, then a number or document code. */
import { isAlphanumeric, isDigit } from "../text/ascii.ts";
import { isWordUnit, unitClass } from "../text/units.ts";
import glueWords from "../words/glue.txt" with { type: "text" };
import { listsOf } from "../words/lists.ts";

const SIGNS = new Uint8Array(128);
for (const sign of " \t\n\r\"'`\\()[]{}<>*_#.:=|,;?!-") SIGNS[sign.charCodeAt(0)] = 1;
/** Signs outside ASCII that precede numbers. */
const OTHER_SIGNS = /[\u00a0№°º：＝「」『』“”‘’«»→—–]/;
const LONGEST_WORD = 12;
/** More signs or words than this do not connect a label with a value. */
const MOST_STEPS = 32;
const { particles: PARTICLES, ...words } = listsOf(glueWords, ["particles", "words", "birth", "phone"]);
const WORDS: ReadonlySet<string> = new Set(words.words);
export const BIRTH_GLUE: ReadonlySet<string> = new Set(words.birth);
export const PHONE_GLUE: ReadonlySet<string> = new Set(words.phone);

/** Returns the position after signs and small words, `at` itself when there are none. `extra` adds words. */
export function skipGlue(text: string, at: number, extra?: ReadonlySet<string>): number {
  let position = at;
  for (let step = 0; step < MOST_STEPS && position < text.length; step++) {
    const code = text.charCodeAt(position);
    if (code < 128 ? SIGNS[code] === 1 : OTHER_SIGNS.test(text[position] as string)) {
      position++;
      continue;
    }
    const next = skipWord(text, position, code, extra);
    if (next === position) break;
    position = next;
  }
  return position;
}

function skipWord(text: string, at: number, code: number, extra?: ReadonlySet<string>): number {
  if (code >= 0x0e00) {
    const particle = PARTICLES.find((one) => text.startsWith(one, at));
    if (particle) return at + particle.length;
  }
  let end = at;
  while (end < text.length && end - at <= LONGEST_WORD && isWordUnit(text, end)) end++;
  if (end === at || end - at > LONGEST_WORD) return at;
  const word = text.slice(at, end).toLowerCase();
  return WORDS.has(word) || extra?.has(word) ? end : at;
}

/** The most characters of a word that are read: nothing after a longer word belongs to the label before it. */
const LONGEST_READ = 96;

/** The end of the word or number at `at`, or `at` when none begins there. */
export function endOfWord(text: string, at: number): number {
  const limit = Math.min(text.length, at + LONGEST_READ);
  let end = at;
  while (end < limit && isWordUnit(text, end)) end++;
  return end;
}

/** A number that was read. */
export interface Written {
  start: number;
  end: number;
  /** The number without separators, in capitals. */
  compact: string;
  digits: number;
}

const LONGEST_WRITTEN = 48;
const SEPARATOR = /[ .\-/()·]/;
/** A group of letters alone belongs to the number only when it is this short and in capitals. */
const LONGEST_LETTER_GROUP = 4;

/** Reads the number that begins at `at`. Returns null when it has no digit. */
export function readNumber(text: string, at: number): Written | null {
  const limit = Math.min(text.length, at + LONGEST_WRITTEN);
  let end = at;
  let compact = "";
  let digits = 0;
  let position = at;
  while (position < limit) {
    const groupEnd = groupEndAt(text, position, limit);
    if (groupEnd === position) break;
    const group = text.slice(position, groupEnd);
    const groupDigits = countDigits(group);
    if (groupDigits === 0 && !isLetterGroup(group, compact !== "")) break;
    compact += group.toUpperCase();
    digits += groupDigits;
    end = groupEnd;
    position = skipSeparators(text, groupEnd, limit);
    if (position === groupEnd) break;
  }
  return digits > 0 ? { start: at, end, compact, digits } : null;
}

function groupEndAt(text: string, at: number, limit: number): number {
  let end = at;
  while (end < limit && isAlphanumeric(text.charCodeAt(end))) end++;
  return end;
}

/** Up to three separators in a row: "3  91 05", "12 - 34". */
function skipSeparators(text: string, at: number, limit: number): number {
  let position = at;
  while (position < limit && position - at < 3 && SEPARATOR.test(text[position] as string)) position++;
  return position < limit && isAlphanumeric(text.charCodeAt(position)) ? position : at;
}

function isLetterGroup(group: string, inside: boolean): boolean {
  return group.length <= (inside ? 3 : LONGEST_LETTER_GROUP) && group === group.toUpperCase();
}

const JOINS = /\s(?:is|was|es|est|ist|è|é|jest|är|er|on|as|eto|это)\s/u;
const isLetterOrSpace = unitClass(/[\p{L}\p{Cs}\s]/u);

/**
 * Reports whether a value can stand before a label that begins at `end`, with only letters, spaces and joiners between
 * them. Rules most texts out without a pattern.
 */
export function mayBeJoined(text: string, from: number, end: number): boolean {
  let at = end;
  while (at > from && isLetterOrSpace(text, at - 1)) at--;
  if (at > from && "(–—-".includes(text[at - 1] as string)) return true;
  return JOINS.test(text.slice(at, end));
}

export function countDigits(text: string): number {
  let count = 0;
  for (let i = 0; i < text.length; i++) if (isDigit(text.charCodeAt(i))) count++;
  return count;
}

/** Luhn (ISO/IEC 7812-1 annex B) over a string of ASCII digits. */
export function luhn(digits: string): boolean {
  return luhnSum(digits) % 10 === 0;
}

/** The sum that Luhn's check takes, with weights 1, 2 from the right. */
export function luhnSum(digits: string): number {
  let sum = 0;
  for (let i = digits.length - 1, double = false; i >= 0; i--, double = !double) {
    let digit = digits.charCodeAt(i) - 48;
    if (double) {
      digit *= 2;
      if (digit > 9) digit -= 9;
    }
    sum += digit;
  }
  return sum;
}

/** Reads a written number or document code: letters and digits in groups with single separators. */

import { isAlphanumeric, isDigit } from "../text/ascii.ts";

/** What was read. */
export interface Written {
  start: number;
  end: number;
  /** Without separators, in capitals. */
  compact: string;
  digits: number;
}

const LONGEST_WRITTEN = 48;
const SEPARATOR = /[ .\-/()·]/;
/** A group of letters alone belongs to the number only when it is this short and in capitals. */
const LONGEST_LETTER_GROUP = 4;

/** The number that begins at `at`, or null when what stands there has no digit. */
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

export function countDigits(text: string): number {
  let count = 0;
  for (let i = 0; i < text.length; i++) if (isDigit(text.charCodeAt(i))) count++;
  return count;
}

/** Luhn (ISO/IEC 7812-1 annex B) over a string of ASCII digits. */
export function luhn(digits: string): boolean {
  let sum = 0;
  for (let i = digits.length - 1, double = false; i >= 0; i--, double = !double) {
    let digit = digits.charCodeAt(i) - 48;
    if (double) {
      digit *= 2;
      if (digit > 9) digit -= 9;
    }
    sum += digit;
  }
  return sum % 10 === 0;
}

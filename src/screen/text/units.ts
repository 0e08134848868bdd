/**
 * Classes of code units outside ASCII. Each code unit is tested with the pattern once, since that costs more than the
 * lookup.
 */
import { isAlphanumeric } from "./ascii.ts";

const UNKNOWN = 0;
const MEMBER = 1;
const OTHER = 2;

/** A function that tells whether the code unit at a position belongs to the class of a pattern. */
export function unitClass(pattern: RegExp): (text: string, at: number) => boolean {
  const known = new Uint8Array(0x10000);
  return (text, at) => {
    const code = text.charCodeAt(at);
    if (known[code] === UNKNOWN) known[code] = pattern.test(text[at] as string) ? MEMBER : OTHER;
    return known[code] === MEMBER;
  };
}

const isOther = unitClass(/[\p{L}\p{M}\p{N}]/u);

/** Whether the code unit at `at` is part of a word or number. */
export function isWordUnit(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code < 128 ? isAlphanumeric(code) : isOther(text, at);
}

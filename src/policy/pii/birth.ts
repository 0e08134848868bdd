/** Dates of birth: a date after a word for birth. */
import { type Hit, hitOf, spend } from "../check.ts";
import { hasDigit, matchEnd } from "../text/ascii.ts";
import { BIRTH_GLUE, skipGlue } from "./number.ts";

/** What a check costs. */
const CHECK_UNITS = 100;

const MONTH =
  "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mär|mai|okt|dez|janv|févr|fév|mars|avr|juin|juil|août|déc|ene|abr|ago|dic|set|out|gen|mag|giu|lug|ott|jún|júl)[\\p{L}]{0,8}\\.?";
const DATE = new RegExp(
  [
    String.raw`(?:1[89]|20)\d{2}[-/.年 ]{1,2}(?:0?[1-9]|1[0-2])[-/.月 ]{1,2}(?:0?[1-9]|[12]\d|3[01])日?(?!\d)`,
    String.raw`(?:0?[1-9]|[12]\d|3[01])[-/. ]{1,2}(?:0?[1-9]|1[0-2])[-/. ]{1,2}(?:(?:1[89]|20)\d{2}|\d{2})(?!\d)`,
    String.raw`(?:0?[1-9]|1[0-2])[-/.](?:0?[1-9]|[12]\d|3[01])[-/.](?:(?:1[89]|20)\d{2}|\d{2})(?!\d)`,
    String.raw`(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th|\.|º)?(?:\s+(?:of|de))?[\s-]{1,2}${MONTH}(?:\s+(?:de|of))?[\s,-]{1,3}(?:(?:1[89]|20)\d{2}|'?\d{2})(?!\d)`,
    String.raw`${MONTH}\s{1,2}(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?,?\s{1,2}(?:1[89]|20)\d{2}(?!\d)`,
    String.raw`(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?!\d)`,
    String.raw`(?:0[1-9]|[12]\d|3[01])(?:0[1-9]|1[0-2])(?:19|20)\d{2}(?!\d)`,
  ].join("|"),
  "iuy",
);
const PLACE =
  /(?:[^\S\n]?(?:in|at|near|à|a|en)\s\p{Lu}[\p{L}-]{1,24}(?:\s\p{Lu}[\p{L}-]{1,24}){0,2},?\s(?:on|le|el|am|il)\s)/uy;

/** Finds the date after the birth word that ends at `end`. */
export function dateOfBirth(text: string, _start: number, end: number): Hit | null {
  if (!hasDigit(text, end, end + 60)) return null;
  spend(CHECK_UNITS);
  PLACE.lastIndex = end;
  const at = skipGlue(text, PLACE.test(text) ? PLACE.lastIndex : end, BIRTH_GLUE);
  const last = matchEnd(DATE, text, at);
  return last < 0 ? null : hitOf("date_of_birth", at, last);
}

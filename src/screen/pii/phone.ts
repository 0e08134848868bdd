/** Telephone numbers. libphonenumber decides, and only about candidates. */

import { type CountryCode, parsePhoneNumberFromString } from "libphonenumber-js/max";
import { type Hit, hitOf, spend } from "../check.ts";
import { hasDigit, isAlphanumeric, isDigit, matchEnd } from "../text/ascii.ts";
import { countDigits, mayBeJoined, PHONE_GLUE, skipGlue } from "./number.ts";
import { hasForm } from "./numbering-plan.ts";

/** The cost of a check, units. */
const CHECK_UNITS = 120;

const NUMBER =
  /[+(]{0,2}\d(?:[\d]|[ ./()-]{1,3}(?=[\d(])){3,32}(?:\s{0,2}(?:,|;)?\s{0,2}(?:ext\.?|x|extension|durchwahl|#)\s{0,2}\d{1,7})?/iy;
const FEWEST_DIGITS = 5;
const FEWEST_DIGITS_ABROAD = 9;
const MOST_DIGITS_ABROAD = 14;
const FEWEST_DIGITS_AMONG_WORDS = 8;
/** E.164 allows 15; with a trunk prefix or an extension people write a few more. */
const MOST_DIGITS = 17;
const DATE_OR_TIME =
  /^(?:19|20)\d{2}[-/.]\d{1,2}[-/.]\d{1,2}(?!\d)|^\d{1,2}[-/.]\d{1,2}[-/.]\d{4}(?!\d)|^\d{1,2}:\d{2}/;

/** Finds the number after a word for telephone that ends at `end`. With the word, a possible number is enough. */
export function labelledPhone(text: string, start: number, end: number): Hit | null {
  if (!hasDigit(text, end, end + REACH)) return inFront(text, start);
  spend(CHECK_UNITS);
  let at = skipGlue(text, end, PHONE_GLUE);
  // The bracket and the plus belong to the number.
  while (at > end && /[+(]/.test(text[at - 1] as string)) at--;
  const last = numberEnd(text, at);
  if (last >= 0) return hitOf("phone", at, last);
  return isDigit(text.charCodeAt(at)) ? null : amongWords(text, at);
}

/** How far from its word a number may be, with words between. */
const REACH = 44;
const SEARCH_UNITS = 60;
/** The cost of asking the library about one country, units. */
const PARSE_UNITS = 1_500;
const OTHER_NUMBER =
  /(?<![a-z])(?:order|invoice|ticket|version|error|code|port|line|page|ext|room|flight|id|isbn|ref\w*|amount|price|zip|postcode)\b|[$€£%#{}_=]|":/i;

const REACH_BEFORE = 48;
/** "020 7946 0182 is her direct line", "604 829 173 (mobile)". */
const IN_FRONT =
  /(?<![\p{L}\p{N}.,/-])([+(]{0,2}\d[\d ()./-]{6,20}\d)\s?(?:[(–—-]|,?\s(?:is|ist|est|es|è|é|jest|je|är|er|on|to|это|це)\s)[\p{L}\s]{0,20}$/u;

/** A number before its word must be a valid number of a country, too. */
function inFront(text: string, start: number): Hit | null {
  const from = Math.max(0, start - REACH_BEFORE);
  if (!hasDigit(text, from, start)) return null;
  spend(CHECK_UNITS);
  if (!mayBeJoined(text, from, start)) return null;
  const match = IN_FRONT.exec(text.slice(from, start));
  const written = match?.[1];
  if (match === null || written === undefined || countDigits(written) < FEWEST_DIGITS_AMONG_WORDS) return null;
  if (DATE_OR_TIME.test(written)) return null;
  const at = from + match.index;
  return isOfOne(written, COUNTRIES) ? hitOf("phone", at, at + written.length) : null;
}

/** A number with words between must be a valid number of a country. */
function amongWords(text: string, from: number): Hit | null {
  spend(SEARCH_UNITS);
  const limit = Math.min(text.length, from + REACH);
  for (let at = from; at < limit; at++) {
    if (text[at] === "\n" && text[at + 1] === "\n") return null;
    if (!isDigit(text.charCodeAt(at)) || isAlphanumeric(text.charCodeAt(at - 1))) continue;
    let start = at;
    while (start > from && /[+(]/.test(text[start - 1] as string)) start--;
    const end = numberEnd(text, start);
    if (end < 0 || OTHER_NUMBER.test(text.slice(from, start))) return null;
    const written = text.slice(start, end);
    if (countDigits(written) < FEWEST_DIGITS_AMONG_WORDS) return null;
    return isOfOne(written, COUNTRIES) ? hitOf("phone", start, end) : null;
  }
  return null;
}

/** Where the possible number at `at` ends; -1 for none. */
function numberEnd(text: string, at: number): number {
  const last = matchEnd(NUMBER, text, at);
  if (last < 0 || isAlphanumeric(text.charCodeAt(last)) || text[last] === "%") return -1;
  const written = text.slice(at, last);
  const digits = countDigits(written.replace(/(?:ext|x|#).*/i, ""));
  if (digits < FEWEST_DIGITS || digits > MOST_DIGITS || DATE_OR_TIME.test(written)) return -1;
  return isOrdinaryNumber(text, at, last, written) ? -1 : last;
}

/** North American numbers that are reserved for fiction. */
const FICTION = /^(?:\+?1[-. ])?(?:\(?\d{3}\)?[-. ])?555[-. ]01\d{2}$/;

/** "call 10000 times", "mobile 1.25", a run of zeros. */
function isOrdinaryNumber(text: string, at: number, end: number, written: string): boolean {
  if (FICTION.test(written)) return true;
  if (/^\d{1,3}\.\d+$/.test(written) || /^(\d)\1*$/.test(written.replace(/\D/g, ""))) return true;
  if (/^\d{1,4}000$|^1[5-9]\d{8}(?:\d{3})?$/.test(written) && /\s/.test(text[at - 1] ?? "")) return true;
  const before = text[at - 1];
  if (before !== undefined && /[$€£#]/.test(before)) return true;
  return /^\s?(?:times|ms|seconds?|bytes|users|people|items|%|usd|eur|gb|mb|kb|lines|rows|hz|nm)\b/i.test(
    text.slice(end, end + 10),
  );
}

/** An international number whose `+` is at `at`. */
export function internationalPhone(text: string, at: number): Hit | null {
  if (!hasDigit(text, at, at + 4)) return null;
  spend(CHECK_UNITS);
  if (text[at - 1] === "+" || isAlphanumeric(text.charCodeAt(at - 1))) return null;
  const end = matchEnd(NUMBER, text, at);
  if (end < 0 || isAlphanumeric(text.charCodeAt(end))) return null;
  const written = text.slice(at, end);
  // "+482917 -35204": two numbers with signs.
  if (/\d [+-]\d/.test(written)) return null;
  spend(PARSE_UNITS);
  if (parses(written)) return hitOf("phone", at, end);
  const isOne = standsAlone(text, at, end)
    ? isLong(written)
    : isGrouped(written) && isLong(written) && isPossible(written);
  return isOne ? hitOf("phone", at, end) : null;
}

/** Groups as in a telephone number: the country's code, then two groups or more. */
const isGrouped = (written: string): boolean => /^\+\d{1,3}[ .-]\(?\d{1,4}\)?(?:[ .-]\d{2,6}){1,4}$/.test(written);

/** Whether a number is all that stands between two separators, as in a table. */
const standsAlone = (text: string, at: number, end: number): boolean =>
  /(?:^|[|;,\t\n:])[ "']{0,2}$/.test(text.slice(Math.max(0, at - 3), at)) &&
  /^[ "']{0,2}(?:$|[|;,\t\n])/.test(text.slice(end, end + 3));

/** Alone between separators, as long as this is enough: a number that no plan has is a mistyped one. */
function isLong(written: string): boolean {
  const digits = countDigits(written);
  return (
    digits >= FEWEST_DIGITS_ABROAD && digits <= MOST_DIGITS_ABROAD && !/(\d)\1{5}|0{4}/.test(written.replace(/\D/g, ""))
  );
}

function isPossible(written: string): boolean {
  try {
    return parsePhoneNumberFromString(written)?.isPossible() ?? false;
  } catch {
    // The library throws on some malformed input, which is not a number.
    return false;
  }
}

/** Whether one of these countries has the number. */
function isOfOne(written: string, countries: readonly CountryCode[]): boolean {
  const digits = written.replace(/\D/g, "");
  spend(FORM_UNITS * countries.length);
  let tried = 0;
  for (const country of countries) {
    if (!hasForm(digits, country)) continue;
    spend(PARSE_UNITS);
    if (parses(written, country)) return true;
    if (++tried === MOST_TRIED) return false;
  }
  return false;
}

/**
 * The cost of looking at a number's form for one country, units; and the most countries that the library is asked
 * about.
 */
const FORM_UNITS = 40;
const MOST_TRIED = 6;

function parses(written: string, country?: CountryCode): boolean {
  try {
    return parsePhoneNumberFromString(written, country)?.isValid() ?? false;
  } catch {
    // The library throws on some malformed input, which is not a number.
    return false;
  }
}

const NORTH_AMERICAN =
  /\(?[2-9]\d{2}\)?[ ]?[-.]?[2-9]\d{2}[-.]\d{4}(?:\s{0,2}(?:ext\.?|x)\s{0,2}\d{1,6})?(?![\d-])|\([2-9]\d{2}\) ?[2-9]\d{2}[ ]\d{4}(?!\d)/iy;
/** French numbers are written in pairs with dots between them. */
const FRENCH = /0[1-9](?:\.\d{2}){4}(?![.\d])/y;
const NATIONAL = /\(?0\d{1,4}\)?[ /-]\(?\d{2,4}\)?(?:[ -]\d{2,4}){1,4}(?!\d)/y;

/** A number in national form that begins at `at`, with the grouping that only telephone numbers have. */
export function nationalPhone(text: string, at: number): Hit | null {
  const american = matchEnd(NORTH_AMERICAN, text, at);
  if (american >= 0) spend(PARSE_UNITS);
  if (american >= 0 && parses(text.slice(at, american), "US") && !isDigit(text.charCodeAt(american))) {
    return hitOf("phone", at, american);
  }
  const french = matchEnd(FRENCH, text, at);
  if (french >= 0) return hitOf("phone", at, french);
  const mobile = matchEnd(MOBILE, text, at);
  if (mobile >= 0 && !isGroupOfMore(text, at, mobile) && isMobile(text.slice(at, mobile))) {
    return hitOf("phone", at, mobile);
  }
  const end = matchEnd(NATIONAL, text, at);
  if (end < 0 || isGroupOfMore(text, at, end)) return null;
  const written = text.slice(at, end);
  const digits = countDigits(written);
  if (digits < 9 || digits > 12 || DATE_OR_TIME.test(written)) return null;
  return isOfOne(written, HOME_COUNTRIES) ? hitOf("phone", at, end) : null;
}

/** The code of a network, then one group: "0172 4829365". */
const MOBILE = /0\d{2,4}[ /-]\d{6,8}(?![\d-])/y;

function isMobile(written: string): boolean {
  spend(PARSE_UNITS * MOBILE_COUNTRIES.length);
  try {
    return MOBILE_COUNTRIES.some((country) => parsePhoneNumberFromString(written, country)?.getType() === "MOBILE");
  } catch {
    // The library throws on some malformed input, which is not a number.
    return false;
  }
}

/** Where mobile numbers are written so. */
const MOBILE_COUNTRIES = ["GB", "DE", "AT", "CH", "NL", "UA", "RO"] satisfies CountryCode[];

/**
 * Reports whether letters follow directly, or groups before and after show that it is the middle of something, such as
 * a UUID.
 */
function isGroupOfMore(text: string, at: number, end: number): boolean {
  if (isAlphanumeric(text.charCodeAt(end))) return true;
  const isTied = (hyphen: number, next: number) => text[hyphen] === "-" && isAlphanumeric(text.charCodeAt(next));
  return isTied(at - 1, at - 2) && isTied(end, end + 1);
}

/** Countries whose national form begins with a trunk zero. */
const HOME_COUNTRIES = "GB DE FR CH SE AU NL BE AT IT IN JP ZA BR".split(" ") as CountryCode[];

/** Countries whose numbers are looked for after a word for telephone with other words between. */
const COUNTRIES =
  "US GB DE FR ES IT PT BR MX AR CO CL PE NL BE PL CZ SK SE DK NO FI TR GR RU UA CN TW HK JP KR IN PK EG SA AE IL VN ID TH RO HU AT CH IE AU NZ ZA BG HR KE NG PH MY SG".split(
    " ",
  ) as CountryCode[];

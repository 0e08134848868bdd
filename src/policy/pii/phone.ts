/** Telephone numbers. libphonenumber decides, and only about candidates. */

import { type CountryCode, parsePhoneNumberFromString } from "libphonenumber-js/max";
import { type Hit, hitOf, spend } from "../check.ts";
import { hasDigit, isAlphanumeric, isDigit, matchEnd } from "../text/ascii.ts";
import { countDigits, PHONE_GLUE, skipGlue } from "./number.ts";

/** What a check costs. */
const CHECK_UNITS = 100;

const NUMBER =
  /[+(]{0,2}\d(?:[\d]|[ ./()-]{1,3}(?=[\d(])){3,32}(?:\s{0,2}(?:,|;)?\s{0,2}(?:ext\.?|x|extension|durchwahl|#)\s{0,2}\d{1,7})?/iy;
const FEWEST_DIGITS = 5;
/** E.164 allows 15; with a trunk prefix or an extension people write a few more. */
const MOST_DIGITS = 17;
const DATE_OR_TIME =
  /^(?:19|20)\d{2}[-/.]\d{1,2}[-/.]\d{1,2}(?!\d)|^\d{1,2}[-/.]\d{1,2}[-/.]\d{4}(?!\d)|^\d{1,2}:\d{2}/;

/** Finds the number after a word for telephone that ends at `end`. With the word, a possible number is enough. */
export function labelledPhone(text: string, _start: number, end: number): Hit | null {
  if (!hasDigit(text, end, end + 40)) return null;
  spend(CHECK_UNITS);
  let at = skipGlue(text, end, PHONE_GLUE);
  // The bracket and the plus belong to the number.
  while (at > end && /[+(]/.test(text[at - 1] as string)) at--;
  const last = matchEnd(NUMBER, text, at);
  if (last < 0 || isAlphanumeric(text.charCodeAt(last)) || text[last] === "%") return null;
  const written = text.slice(at, last);
  const digits = countDigits(written.replace(/(?:ext|x|#).*/i, ""));
  if (digits < FEWEST_DIGITS || digits > MOST_DIGITS || DATE_OR_TIME.test(written)) return null;
  return isOrdinaryNumber(text, at, last, written) ? null : hitOf("phone", at, last);
}

/** "call 10000 times", "mobile 1.25", a run of zeros. */
function isOrdinaryNumber(text: string, at: number, end: number, written: string): boolean {
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
  return parses(text.slice(at, end)) ? hitOf("phone", at, end) : null;
}

function parses(written: string, country?: CountryCode): boolean {
  try {
    return parsePhoneNumberFromString(written, country)?.isValid() ?? false;
  } catch {
    // The library throws on some malformed input; that is no number.
    return false;
  }
}

const NORTH_AMERICAN =
  /\(?[2-9]\d{2}\)?[ ]?[-.]?[2-9]\d{2}[-.]\d{4}(?:\s{0,2}(?:ext\.?|x)\s{0,2}\d{1,6})?(?![\d-])|\([2-9]\d{2}\) ?[2-9]\d{2}[ ]\d{4}(?!\d)/iy;
const NATIONAL = /\(?0\d{1,4}\)?[ /-]\(?\d{2,4}\)?(?:[ -]\d{2,4}){1,4}(?!\d)/y;

/** A number in national form that begins at `at`, with the grouping that only telephone numbers have. */
export function nationalPhone(text: string, at: number): Hit | null {
  const american = matchEnd(NORTH_AMERICAN, text, at);
  if (american >= 0 && parses(text.slice(at, american), "US") && !isDigit(text.charCodeAt(american))) {
    return hitOf("phone", at, american);
  }
  const end = matchEnd(NATIONAL, text, at);
  if (end < 0 || isGroupOfMore(text, at, end)) return null;
  const written = text.slice(at, end);
  const digits = countDigits(written);
  if (digits < 9 || digits > 12 || DATE_OR_TIME.test(written)) return null;
  return HOME_COUNTRIES.some((country) => parses(written, country)) ? hitOf("phone", at, end) : null;
}

/** Whether letters follow at once, or groups before and behind make it the middle of something: of a UUID. */
function isGroupOfMore(text: string, at: number, end: number): boolean {
  if (isAlphanumeric(text.charCodeAt(end))) return true;
  const isTied = (hyphen: number, next: number) => text[hyphen] === "-" && isAlphanumeric(text.charCodeAt(next));
  return isTied(at - 1, at - 2) && isTied(end, end + 1);
}

/** Countries whose national form begins with a trunk zero. */
const HOME_COUNTRIES = "GB DE FR CH SE AU NL BE AT IT IN JP ZA BR".split(" ") as CountryCode[];

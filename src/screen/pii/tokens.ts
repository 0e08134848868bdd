/** Identifiers of letters and digits in one token, found at a digit that touches a letter. */

import { countrySpecs, isValidIBAN } from "ibantools";
import { type Hit, hitOf, spend } from "../check.ts";
import { isAlphanumeric, isBase64, isDigit, isLetter, isUpper, runAround } from "../text/ascii.ts";
import { type LoneForm, TOKEN_FORMS } from "./formats.ts";
import { countDigits } from "./number.ts";
import { letteredAddress } from "./town.ts";
import { base58Address, ethereumAddress, MONERO_LENGTH, moneroAddress } from "./wallet.ts";

/** The beginning of the source of a pattern that can match at a digit. */
const BEGINS_WITH_DIGIT = /^\[[0-9](?:-[0-9])?\]|^\\d|^\[1-9\]|^\[[^\]]*0-9\]/;
/** Forms that are written in groups with a space. */
const SPACED = TOKEN_FORMS.filter((form) => form.pattern.source.includes(" "));
/** Those and the forms that are written in groups with a hyphen. */
const GROUPED = TOKEN_FORMS.filter(({ pattern }) => /[ -]/.test(pattern.source.replace(/\[[^\]]*\](?!\?)/g, "")));
/** The cost of trying a form, and of looking at a pair of letters, units. */
const FORM_UNITS = 3;
const PAIR_UNITS = 40;
const SHORTEST = 7;
/** AZ1072. */
const LONGEST_POSTCODE = 7;
const GROUP = 4;
const LONGEST_FORM = 18;
const UNDERSCORE = 0x5f;
const AT = 0x40;
const DIGIT_FIRST = TOKEN_FORMS.filter((form) => BEGINS_WITH_DIGIT.test(form.pattern.source));
const LETTER_FIRST = TOKEN_FORMS.filter(
  (form) => !BEGINS_WITH_DIGIT.test(form.pattern.source) || form.countries === "all",
);
/** Wallets are the longest of them; a longer token is a digest or encoded data. */
const LONGEST = 48;

/** The identifier that is, or begins with, the token `[start, end)`. */
export function tokenIdentifier(text: string, start: number, end: number): Hit | null {
  const length = end - start;
  if (length === MONERO_LENGTH) return moneroAddress(text, start);
  if (length > LONGEST) return null;
  const before = start > 0 ? text.charCodeAt(start - 1) : 0;
  if (before === UNDERSCORE || before === AT) return null;
  if (length <= LONGEST_POSTCODE && isUpper(text.charCodeAt(start))) {
    const address = letteredAddress(text, start);
    if (address) return address;
  }
  const hit = identify(text, start, end, length);
  return hit && !isInBlob(text, start, end) ? hit : null;
}

function identify(text: string, start: number, end: number, length: number): Hit | null {
  if (length === 42 && text.startsWith("0x", start)) return ethereumAddress(text, start);
  if (length >= 26 && length <= 36) {
    const wallet = base58Address(text, start);
    if (wallet) return wallet;
  }
  const account = isLetter(text.charCodeAt(start)) && isDigit(text.charCodeAt(start + 2)) ? ibanAt(text, start) : null;
  if (account) return account;
  // A short token can only be the first of several groups.
  if (length === GROUP) return lone(text, start, end, GROUPED);
  return length <= LONGEST_FORM && length >= SHORTEST ? lone(text, start, end) : null;
}

function lone(text: string, start: number, end: number, of?: readonly LoneForm[]): Hit | null {
  if (text[end] === "_" || (text[start - 1] === "-" && isAlphanumeric(text.charCodeAt(start - 2)))) return null;
  const forms = of ?? (isDigit(text.charCodeAt(start)) ? DIGIT_FIRST : LETTER_FIRST);
  spend(FORM_UNITS * forms.length);
  for (const form of forms) {
    form.pattern.lastIndex = start;
    if (!form.pattern.test(text)) continue;
    const last = form.pattern.lastIndex;
    if (last < end || isAlphanumeric(text.charCodeAt(last)) || text[last] === "-" || text[last] === "_") continue;
    if (form.check && !form.check(text.slice(start, last))) continue;
    return hitOf(form.detector, start, last);
  }
  return null;
}

/** Forms that begin with two letters apart: "NO 93 8601 1117 947", "LM 63 06 33 A". */
export function letterPair(text: string, start: number, end: number): Hit | null {
  const pair = text.slice(start, end);
  if (!isDigit(text.charCodeAt(end + 1)) || pair !== pair.toUpperCase()) return null;
  spend(PAIR_UNITS);
  return ibanAt(text, start) ?? lone(text, start, end, SPACED);
}

/** An IBAN (ISO 13616) whose country code begins at `at`, with or without spaces. */
export function ibanAt(text: string, at: number): Hit | null {
  const digitsAt = text[at + 2] === " " ? at + 3 : at + 2;
  if (!isDigit(text.charCodeAt(digitsAt)) || !isDigit(text.charCodeAt(digitsAt + 1))) return null;
  const length = countrySpecs[text.slice(at, at + 2).toUpperCase()]?.chars ?? 0;
  if (length === 0) return null;
  let compact = "";
  for (let i = at; i < text.length && i - at < length * 2; i++) {
    const char = text[i] as string;
    if (isAlphanumeric(char.charCodeAt(0))) compact += char.toUpperCase();
    else if (char !== " " && char !== "-") return null;
    if (compact.length < length) continue;
    if (isAlphanumeric(text.charCodeAt(i + 1))) return null;
    // The last groups of a UUID.
    if (text[at - 1] === "-" && text.slice(at, i).includes("-")) return null;
    if (isMixedIdentifier(text.slice(at, i + 1))) return null;
    return isValidIBAN(compact) ? hitOf("iban", at, i + 1) : null;
  }
  return null;
}

/**
 * Some countries allow letters and digits in any order, so that a random identifier can have a valid check number. A
 * value with lower-case letters and several runs of digits, or with fewer digits than letters, is taken for one: the
 * number of every account has digits for the most part.
 */
const isMixedIdentifier = (written: string): boolean =>
  countDigits(written) * 2 < written.replace(/[ -]/g, "").length ||
  (/[a-z]/.test(written) && (written.match(/\d(?![\d -])/g)?.length ?? 0) >= MANY_DIGIT_RUNS);

const MANY_DIGIT_RUNS = 3;

const BLOB_LENGTH = 40;

/** The token is a piece of encoded data: signs of Base64 tie it to more. */
function isInBlob(text: string, start: number, end: number): boolean {
  if (!/[+/]/.test((text[start - 1] ?? "") + (text[end] ?? ""))) return false;
  const [from, to] = runAround(text, start, end, isBase64, BLOB_LENGTH);
  return to - from >= BLOB_LENGTH;
}

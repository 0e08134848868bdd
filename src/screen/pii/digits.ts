/** Recognizes a run of digits without a label: a card, a formatted identifier, a telephone number. */
import { type Hit, hitOf, spend } from "../check.ts";
import { isAlphanumeric, isDigit, matchAt, matchEnd } from "../text/ascii.ts";
import { formsFor } from "./formats.ts";
import { ipv4 } from "./network.ts";
import { luhn } from "./number.ts";
import { nationalPhone } from "./phone.ts";
import { townAddress } from "./town.ts";

/** The cost of a number of several groups, units. */
const JOINED_UNITS = 30;
const SHORTEST_ALONE = 14;
const LONGEST_ALONE = 18;
const CARD = /\d(?:[ -]?\d){12,18}(?![ -]?\d)/y;
/** Issuer ranges (ISO/IEC 7812): Visa, Mastercard, American Express, Discover, Diners, JCB, UnionPay, Maestro, Bankcard. */
const ISSUER =
  /^(?:4\d{15}|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}|6(?:011|4[4-9]\d|5\d\d)\d{12}|3(?:0[0-5]|[689]\d)\d{11}|35(?:2[89]|[3-8]\d)\d{12}|62\d{14}|6(?:39|04|7)\d{13}|5610\d{12}|(?:5018|5020|5038|6304)\d{12})$/;
const OTHER_NUMBER_BEFORE =
  /(?:order|invoice|tracking|barcode|isbn|issn|ean|upc|sku|ticket|reservation|item|product|article|serial|transaction|reference|ref|trace|span|request|message|post|tweet|status|snowflake|timestamp|epoch|offset|bytes?|size|length|sequence|seq|event|build|job|run|pid|app|client|user|session|chat|channel|guild|group|page|project|commit|doc|_id|\bid|#)["'\s:=#_-]{0,4}$/i;
const CARD_WORD = /card|visa|master|amex|payment|pay|cc\b/i;

/** Checks at a run of digits `[start, end)` that no letter touches. */
export function digitRun(text: string, start: number, end: number): Hit | null {
  const before = text[start - 1];
  if (before === "." || before === "_" || isAlphanumeric(text.charCodeAt(start - 1))) return null;
  // A longer number is checked from its beginning.
  if ((before === " " || before === "-" || before === "/") && isDigit(text.charCodeAt(start - 2))) return null;
  const length = end - start;
  const next = text[end];
  if (length >= 2 && length <= 6) {
    const address = townAddress(text, start);
    if (address) return address;
  }
  if (!isJoiner(text, end)) {
    // A number alone: only a card or one with a date inside, and only of the usual lengths.
    if (length < SHORTEST_ALONE || length > LONGEST_ALONE) return null;
    return card(text, start) ?? lone(text, start, length, 0);
  }
  const found = lone(text, start, length, text.charCodeAt(end));
  if (found) return found;
  spend(JOINED_UNITS);
  if (next === "." && length <= 3) {
    const address = ipv4(text, start);
    if (address) return address;
  }
  if (length >= 4 && next !== ".") return card(text, start) ?? (length <= 5 ? telephone(text, start, length) : null);
  return telephone(text, start, length);
}

/** In a dump of bytes, some groups look like a telephone number. */
const HEX_PAIR_BEFORE = /(?:^|\s)[0-9a-f]{2} $/i;

/** Numbers of goods and parcels. */
const OF_GOODS =
  /(?:\b(?:sku|upc|ean|gtin|isbn|part|item|article|model|art\.?-?nr|tracking|order|invoice)(?:[ _-]?(?:no|nr|num|number|id))?)\b["'\s:=#.-]{0,4}$/i;

/** A North American number begins with three digits, a number of many other countries with a zero. */
function telephone(text: string, start: number, length: number): Hit | null {
  if (HEX_PAIR_BEFORE.test(text.slice(Math.max(0, start - 4), start))) return null;
  if (length !== 3 && (length > 5 || text[start] !== "0")) return null;
  if (OF_GOODS.test(text.slice(Math.max(0, start - 16), start))) return null;
  // The bracket that opens an area code.
  return nationalPhone(text, text[start - 1] === "(" ? start - 1 : start);
}

/** A separator inside a number: more digits follow. */
function isJoiner(text: string, at: number): boolean {
  const sign = text[at];
  if (sign === ")") return true;
  if (sign === undefined || !" .-/+(:".includes(sign)) return false;
  const behind = text.charCodeAt(at + 1);
  return isDigit(behind) || text[at + 1] === "(" || (sign === "-" && isAlphanumeric(behind));
}

function card(text: string, start: number): Hit | null {
  const end = matchEnd(CARD, text, start);
  if (end < 0) return null;
  if (isAlphanumeric(text.charCodeAt(end)) || text[end] === "_") return null;
  const written = text.slice(start, end);
  const digits = written.replace(/[ -]/g, "");
  if (!ISSUER.test(digits) || !luhn(digits) || /^(\d)\1*$/.test(digits)) return null;
  if (written.length !== digits.length && !/^\d{4}([ -])\d{4}\1\d{4}\1\d{4}$|^\d{4}([ -])\d{6}\2\d{4,5}$/.test(written))
    return null;
  const context = text.slice(Math.max(0, start - 24), start);
  if (OTHER_NUMBER_BEFORE.test(context) && !CARD_WORD.test(context)) return null;
  return hitOf("credit_card", start, end);
}

/**
 * The first two tracks of a card's magnetic stripe (ISO/IEC 7813), from the number on: behind the holder's name, behind a
 * sign, or as a chip gives it, a month and a service code.
 */
const TRACK =
  /B?(\d{12,19})(?:\^[^^\n?]{2,26}\^|[=D])(?:\d\d(?:0[1-9]|1[0-2])|[\^=])(?:\d{3}|[\^=])[^\s?"'<]{0,80}(?: {1,32}[\d ]{1,48}\?)?\??/y;
/** The third one (ISO/IEC 4909) has the number behind its format, and then a country. */
const THIRD_TRACK = /0[12](\d{12,19})=(?:\d{3}|=)[^\s?"'<]{0,100}\?/y;
/** The fewest characters of the number of a card. */
export const SHORTEST_TRACK = 12;

/** A track of a magnetic stripe that begins at `at`, behind its sign. */
export function track(text: string, at: number): Hit | null {
  for (const pattern of text[at - 1] === ";" ? [TRACK, THIRD_TRACK] : [TRACK]) {
    const number = matchAt(pattern, text, at)?.[1];
    if (number !== undefined && luhn(number) && !/^(\d)\1*$/.test(number))
      return hitOf("credit_card", at, pattern.lastIndex);
  }
  return null;
}

function lone(text: string, start: number, length: number, separator: number): Hit | null {
  const forms = formsFor(length, separator);
  if (!forms || text[start - 1] === "-" || text[start - 1] === "/") return null;
  for (const form of forms) {
    form.pattern.lastIndex = start;
    if (!form.pattern.test(text)) continue;
    const end = form.pattern.lastIndex;
    if (isAlphanumeric(text.charCodeAt(end)) || (/[-/.]/.test(text[end] ?? "") && isDigit(text.charCodeAt(end + 1))))
      continue;
    if (form.check && !form.check(text.slice(start, end))) continue;
    return hitOf(form.detector, start, end);
  }
  return null;
}

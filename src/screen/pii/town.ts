/**
 * "Masarykova 17/29, 602 00 Brno", "438 Nicol Glen, Polokwane, 0700": a name and a house number beside a postcode and a
 * town, without a word for street.
 */
import { type Hit, hitOf, spend } from "../check.ts";
import { isDigit, matchEnd } from "../text/ascii.ts";
import { anyOf } from "../words/lists.ts";
import { ADDRESS_WORDS } from "./address-parts.ts";

/** The cost of reading the text before a postcode, units. */
const SEARCH_UNITS = 200;
const REACH = 96;

/** The postcodes that are digits and signs. */
const CODE = String.raw`(?:\d{5}(?:-\d{3,4})?|\d{3}[\s-]\d{2,3}|\d{2}-\d{3}|\d{4}-\d{3}|\d{4}\s?[A-Z]{2}|\d{4}|\d{6}|\d{2}\s\d{3})(?![\p{L}\p{N}])`;
/** The postcode from its first digit on, and the town. */
const TOWN = new RegExp(String.raw`${CODE}(?:,?[ \u00a0]{1,2}|,)(?:\p{Lu}\p{L}|[\p{Lo}\p{sc=Geor}])[\p{L}\p{M}]`, "uy");
/** The postcode alone, at the end of the address. */
const LAST_CODE = new RegExp(
  String.raw`${CODE}(?![-/.:]\d)(?=\s{0,2}(?:["'“”’)\]|<.,;!?\n]|$|(?:and|as|at|before|but|by|for|if|is|on|or|to|until|was|when|with)\s))`,
  "uy",
);
/** A name, a number, and perhaps a part of the building; or no number, where Spanish says so. */
const NAME_FIRST = String.raw`[\p{Lu}\p{Lo}\p{sc=Geor}][\p{L}\p{M}.'’-]+(?:[ \u00a0]{1,2}[\p{L}\p{M}.'’-]+){0,4},?[ \u00a0]{1,2}(?:(?:n[°ºr.o]{1,2}\s?|(?:bloc|bl\.|blok|nr\.?|št\.)\s)?\d{1,4}(?:\s?\p{L}(?!\p{L}))?(?:\s?[-/]\s?(?:\d{1,4}\p{L}?|[IVX]{1,4}))?|s\/n\.?)(?:,?\s(?:\d{1,2}[º°ª]\s?\p{L}?|\p{L}{2,12}\s(?:\d{1,4}|\p{L})(?![\p{L}\d])|(?:[\p{Ll}º°ª.][\p{L}º°ª.]{0,11}\s?|\p{L}{1,3}(?!\p{L})\s?|\p{L}{1,11}\.\s?){1,2}\d{0,4}\p{L}?))?`;
/** A number, and a name of two words, or of one in a script without capitals. */
const NUMBER_FIRST = String.raw`\d{1,5}[A-Za-z]?(?:[-/]\d{1,4})?,?[ \u00a0]{1,2}(?:\p{Lu}[\p{L}.'’-]*(?:[ \u00a0]{1,2}(?:\p{Lu}|d[aeiou]s? |van |l['’]\p{Lu})[\p{L}.'’-]*){1,4}|[\p{Lo}\p{sc=Geor}][\p{L}\p{M}\d]+(?:[ \u00a0]{1,2}[\p{L}\p{M}\d]+){0,4})`;
const BEGINS = String.raw`(?:^|[\s:(;>"'])`;
const COUNTRY = "(?:[A-Z]{1,3}-)?";
const STREET = new RegExp(String.raw`${BEGINS}(${NAME_FIRST}),?[\s]{1,3}${COUNTRY}$`, "u");
/** The street has a line of its own, perhaps with floor and flat: "Cornelissenpark 803 3 hoog". */
const STREET_LINE = new RegExp(
  String.raw`(?:^|\n)(${NAME_FIRST}(?:(?:, | |-)[\p{L}\p{M}\dº°ª.'’-]{1,12}){0,4})\n${COUNTRY}$`,
  "u",
);
/** Where a number comes first, a code before the town has five digits or more. */
const NUMBERED = new RegExp(String.raw`${BEGINS}(${NUMBER_FIRST})(?:,[\s]{1,3}|\n)${COUNTRY}$`, "u");
/** Street and town, which may have a district or a state behind it. */
const STREET_AND_TOWN = new RegExp(
  String.raw`${BEGINS}((?:${NAME_FIRST}|${NUMBER_FIRST})(?:[,،]\s{1,2}|\n\s?)[\p{Lu}\p{Lo}\p{sc=Geor}][\p{L}\p{M}'’.-]+(?: [\p{L}\p{M}'’.-]+){0,3}(?:,\s[\p{Lu}\p{Lo}\p{sc=Geor}][\p{L}\p{M}.]{1,20}(?:\s\p{Lu}\p{L}{1,14})?)?)[,،]?\s{1,2}${COUNTRY}$`,
  "u",
);
const OTHER_WORDS = anyOf(ADDRESS_WORDS["other numbers"]);
const OTHER = new RegExp(
  String.raw`(?<!\p{L})${OTHER_WORDS}\.?,?\s{1,2}(?:n[°º.]?\s?)?\d{1,4}\s?\p{L}?(?:[-/]\d+)?(?:,|\s|$)`,
  "iu",
);
const OTHER_BEFORE = new RegExp(String.raw`(?<!\p{L})${OTHER_WORDS}\.?\s$`, "iu");
/** "12 March Sales": a date or a count. */
const COUNTED = new RegExp(
  String.raw`^\d{1,5},?\s{1,2}(?:${OTHER_WORDS}|new|more|free|best|total|of|the)(?!\p{L})`,
  "iu",
);
/** After a comma, a number like this is more often a year than a postcode. */
const YEAR = /(?:1[89]|20)\d{2}(?!\d)/y;
const YEAR_BEFORE_MORE = /(?:1[89]|20)\d{2}(?!\d)[\s,]/y;
const LONG_CODE = /\d{5}|\d{3}[\s-]\d{2}/y;

/** Returns the address whose postcode begins with the digits at `start`. */
export function townAddress(text: string, start: number): Hit | null {
  const sign = text[start - 1];
  if (sign !== " " && sign !== "-" && sign !== "\n") return null;
  const comma = commaBefore(text, start);
  if (comma < 0) return null;
  const withTown = matchEnd(TOWN, text, start);
  if (withTown >= 0 && start - comma <= REACH_OF_STREET && matchEnd(YEAR_BEFORE_MORE, text, start) < 0) {
    const isLine = text[start - 1] === "\n" || text[start - 4] === "\n" || text[start - 3] === "\n";
    const street =
      streetBefore(text, start, STREET) ??
      streetBefore(text, start, NUMBERED) ??
      (isLine ? streetBefore(text, start, STREET_LINE) : null);
    if (street !== null && (!isDigit(text.charCodeAt(street)) || matchEnd(LONG_CODE, text, start) >= 0))
      return hitOf("postal_address", street, endOfName(text, withTown));
  }
  const last = matchEnd(LAST_CODE, text, start);
  if (last < 0 || matchEnd(YEAR, text, start) === last || !isBehindName(text, start)) return null;
  const street = streetBefore(text, start, STREET_AND_TOWN);
  if (street === null || !isClear(text, street, start, last)) return null;
  return hitOf("postal_address", street, last);
}

/**
 * "Turnover 891, costs 5512" has the form of an address, too: without a comma before it, a code must be one that is
 * written in groups, or a long one after a number and a name.
 */
const isClear = (text: string, street: number, start: number, last: number): boolean =>
  /[,،\n]\s{0,2}(?:[A-Z]{1,3}-)?$/.test(text.slice(Math.max(0, start - REACH_OF_COMMA), start)) ||
  /\d[\s-]\d/.test(text.slice(start, last)) ||
  (isDigit(text.charCodeAt(street)) && last - start >= LONG);

/** Whether a letter stands before the code at `start`, with a comma and a space between them at most. */
function isBehindName(text: string, start: number): boolean {
  const before = text[start - 1] === "-" ? start - 3 : start - 1;
  return /[\p{L}\p{M}][,،]?\s{0,2}$/u.test(text.slice(Math.max(0, before - 4), before));
}

const LONG = 5;
/** The same, where the code stands before the town. */
const REACH_OF_STREET = 6;
/** Postcodes that begin with a letter: SW1A 1AA, K9E 7E3, D02 X285, AZ1072, LV1050. */
const LETTERED =
  /(?:[A-Z]{1,2}\d[A-Z\d]?\s\d{1,2}[A-Z]{1,2}|[A-Z]\d[A-Z]\s?\d[A-Z]\d|[A-Z]\d[\dW]\s?[A-Z\d]{4}|(?:AZ|LV|MD|LT|SI)\d{4,5})(?![\p{L}\p{N}-])/uy;
const TOWN_BEHIND = /[\s,]{1,2}\p{Lu}\p{L}/uy;

/** Returns the address whose postcode begins with the capital at `start`. */
export function letteredAddress(text: string, start: number): Hit | null {
  const sign = text[start - 1];
  if (sign !== " " && sign !== "\n") return null;
  if (commaBefore(text, start) < 0) return null;
  spend(LETTERED_UNITS);
  const last = matchEnd(LETTERED, text, start);
  if (last < 0) return null;
  const town = streetBefore(text, start, STREET_AND_TOWN);
  if (town !== null) return hitOf("postal_address", town, last);
  if (matchEnd(TOWN_BEHIND, text, last) < 0) return null;
  const street = streetBefore(text, start, NUMBERED) ?? streetBefore(text, start, STREET);
  return street === null ? null : hitOf("postal_address", street, endOfName(text, TOWN_BEHIND.lastIndex));
}

/** Where the last comma or the last end of a line shortly before `start` is; -1 for none. */
function commaBefore(text: string, start: number): number {
  const from = Math.max(0, start - REACH_OF_COMMA);
  for (let at = start - 1; at >= from; at--) {
    const code = text.charCodeAt(at);
    if (code === COMMA || code === NEWLINE || code === ARABIC_COMMA) return at;
  }
  return -1;
}

const COMMA = 0x2c;
const NEWLINE = 0x0a;
const ARABIC_COMMA = 0x060c;
const LETTERED_UNITS = 20;
/** How far before the postcode a comma is: the name of a town may stand between. */
const REACH_OF_COMMA = 32;

/**
 * Where the street begins that `pattern` finds before the postcode at `start`; null for none. The notice of a licence has
 * the address of a foundation.
 */
function streetBefore(text: string, start: number, pattern: RegExp): number | null {
  const from = Math.max(0, start - REACH);
  let digit = start - 1;
  while (digit > from && !isDigit(text.charCodeAt(digit)) && text[digit] !== "/") digit--;
  if (digit === from && !isDigit(text.charCodeAt(digit))) return null;
  spend(SEARCH_UNITS);
  const before = text.slice(from, start);
  const match = pattern.exec(before);
  if (match === null) return null;
  const street = match[1] as string;
  if (
    OTHER_BEFORE.test(before.slice(0, match.index + 1)) ||
    OTHER.test(street) ||
    COUNTED.test(street) ||
    /Foundation/.test(text.slice(Math.max(0, from - REACH), start))
  )
    return null;
  return from + match.index + match[0].indexOf(street);
}

function endOfName(text: string, at: number): number {
  let end = at;
  while (end < text.length && end - at < REACH && /[\p{L}\p{M}]/u.test(text[end] as string)) end++;
  return end;
}

/**
 * "Masarykova 17/29, 602 00 Brno": a name and a house number before a postcode and a town, without a word for street.
 */
import { type Hit, hitOf, spend } from "../check.ts";
import { isDigit, matchEnd } from "../text/ascii.ts";

/** The cost of reading the text before a postcode, units. */
const SEARCH_UNITS = 200;
const REACH = 96;

/** The postcode from its first digit on, and the town. */
const TOWN =
  /(?:\d{5}(?:-\d{3})?|\d{3}\s\d{2}|\d{2}-\d{3}|\d{4}-\d{3}|\d{4}\s[A-Z]{2}|\d{4}|\d{6})[\s,]{1,2}\p{Lu}\p{L}{2,}/uy;
/** A name, a number, and perhaps a part of the building. */
const STREET =
  /(?:^|[\s:(;>"'])(\p{Lu}[\p{L}.'’-]+(?:\s{1,2}[\p{L}.'’-]+){0,4},?\s{1,2}(?:n[°ºr.o]{1,2}\s?)?\d{1,4}\s?\p{L}?(?:\s?[-/]\s?(?:\d{1,4}\p{L}?|[IVX]{1,4}))?(?:,?\s(?:\d{1,2}[º°ª]\s?\p{L}?|(?:[\p{L}º°ª.]{1,12}\s?){1,2}\d{0,4}\p{L}?))?),?[\s]{1,3}(?:[A-Z]{1,2}-)?$/u;
/** Words before other numbers: a month, a part of a book, a product. */
const OTHER =
  /(?<!\p{L})(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec|januar|februar|märz|mai|juni|juli|august|september|oktober|november|dezember|chapter|section|figure|table|page|article|vol|volume|version|windows|room|level|model|line|type|no|number|part|step|order|invoice|phase|build|release|class|grade|top|gate|flight|python|node|ubuntu|iphone|day|week|year|kapitel|seite|abschnitt|artikel|page|chapitre|capítulo|página)\.?,?\s{1,2}(?:n[°º.]?\s?)?\d{1,4}\s?\p{L}?(?:[-/]\d+)?,?\s*$/iu;
/** After a comma, a number like this is more often a year than a postcode. */
const YEAR = /(?:1[89]|20)\d{2}(?!\d)[\s,]/y;

/** Returns the address whose postcode begins with the digits at `start`. */
export function townAddress(text: string, start: number): Hit | null {
  const sign = text[start - 1];
  if (sign !== " " && sign !== "-" && sign !== "\n") return null;
  const comma = text.slice(Math.max(0, start - 6), start);
  if (!/[,\n]/.test(comma)) return null;
  const end = matchEnd(TOWN, text, start);
  if (end < 0 || matchEnd(YEAR, text, start) >= 0) return null;
  const from = Math.max(0, start - REACH);
  let digit = start - 1;
  while (digit > from && !isDigit(text.charCodeAt(digit))) digit--;
  if (digit === from) return null;
  spend(SEARCH_UNITS);
  const before = text.slice(from, start);
  const match = STREET.exec(before);
  if (match === null || OTHER.test(before.replace(/[\s,]+(?:[A-Z]{1,2}-)?$/, ""))) return null;
  return hitOf("postal_address", from + match.index + match[0].indexOf(match[1] as string), end);
}

/** Parts that the checks for addresses share: towns, house numbers, how far to read. */
import { spend } from "../check.ts";
import { hasDigit } from "../text/ascii.ts";
import addressWords from "../words/addresses.txt" with { type: "text" };
import { anyOf, wordsOf } from "../words/lists.ts";

/** The lists of words/addresses.txt that have anchors. */
export const ADDRESS_LISTS = [
  "streets",
  "weak streets",
  "street prefixes",
  "clear street prefixes",
  "street endings",
  "clear street endings",
  "units",
  "strong units",
  "labels",
  "unclear labels",
  "residences",
  "military",
  "street members",
] as const;

export const ADDRESS_WORDS = wordsOf(addressWords, [...ADDRESS_LISTS, "house numbers", "other numbers"]);

/** Words that stand beside other numbers than those of houses, the months among them. */
export const OTHER_NUMBERS: ReadonlySet<string> = new Set(ADDRESS_WORDS["other numbers"]);

export const BEFORE = 72;
export const AFTER = 120;

/**
 * "Charlotte, NC 28251", "London SW1A 1AA", "Iroquois Falls K9E 7E3", "38411 Röttgerland", "46-460 Wielichowo",
 * "Pricetown 7192".
 */
export const TOWN = new RegExp(
  [
    String.raw`\b(?:A[AEPLKSZR]|C[AOT]|D[CE]|FL|G[AU]|HI|I[ADLN]|K[SY]|LA|M[ADEHINOPST]|N[CDEHJMVY]|O[HKR]|P[ARW]|RI|S[CD]|T[NX]|UT|V[AIT]|W[AIVY]),?\s{1,3}\d{5}(?:-\d{4})?\b`,
    String.raw`\b[A-Z]{1,2}\d[A-Z\d]?\s?\d{1,2}[A-Z]{1,2}\b`,
    String.raw`\b[ABCEGHJ-NPRSTVXY]\d[A-Z]\s?\d[A-Z]\d\b`,
    String.raw`(?<![\p{L}\p{N}.-])(?:[A-Z]{1,2}-)?(?:\d{4,6}|\d{3}\s\d{2}|\d{2}-\d{3}|\d{5}-\d{3}|\d{4}\s?[A-Z]{2})\s{1,3}\p{Lu}\p{L}{2,}`,
    String.raw`\b(?:NSW|VIC|QLD|WA|SA|TAS|ACT|NT)\s{1,2}\d{4}\b`,
    String.raw`\p{Lu}\p{L}{2,}(?:\s\d{1,2})?[\s,]{1,3}\d{3}\s\d{2}(?![\p{L}\p{N}-])`,
    String.raw`\p{Lu}\p{L}{2,}[\s,–-]{1,3}(?:\d{6}|\d{5}(?:-\d{4})?|\d{4}|\d{5}-\d{3}|\d{3}-\d{4})(?![\p{L}\p{N}-])`,
    String.raw`\b(?:USA|U\.S\.A|United States|United Kingdom|England|Scotland|Canada|Australia|Germany|Deutschland|France|Spain|España|Italy|Italia|Netherlands|Poland|Polska|Sweden|Norway|Denmark|Finland|Belgium|Austria|Switzerland|Portugal|Brazil|Brasil|Mexico|India|Japan|Ireland|Hungary|Czech Republic|Slovenia|Iceland|Cyprus|Greece|Turkey|Estonia)\b`,
  ].join("|"),
  "u",
);

/** Words for a house number: with one of them, the name of any street suffices. */
const HOUSE_NUMBERS = ADDRESS_WORDS["house numbers"];
export const isHouseNumber = (mark: string | undefined): boolean =>
  HOUSE_NUMBERS.includes(mark?.trim().toLowerCase().replace(/[.:]$/, "") ?? "");
/** The words and signs before a house number. */
export const MARK = String.raw`(?:${anyOf(HOUSE_NUMBERS)}[.:]?\s{1,2}|(?:[Nn](?:[°ºr.]{0,2}|[oO][.:]{0,2}|úm\.?|úmero|umero|umber)|№|#|д\.|дом|буд\.|будинок|č\.\s?p\.|čp\.|αρ\.|bl\.|Hausnummer|house)\s{0,2})`;
export const NUMBER = String.raw`\d{1,5}\s?\p{L}?(?:\s?[-/]\s?\d{1,4}\p{L}?)?`;

/** The cost of looking for a number near a word, units. */
const NUMBER_UNITS = 40;

/** An address has a number; most places where its words occur have none. */
export function hasNumber(text: string, start: number, end: number): boolean {
  spend(NUMBER_UNITS);
  return hasDigit(text, start - BEFORE, start) || hasDigit(text, end, end + AFTER);
}

/** Returns the end of the town when one is near `end`, else `end`. */
export function townEnd(text: string, end: number, after: string): number {
  const town = TOWN.exec(after);
  if (!town) return end;
  const reach = text.indexOf(town[0], end - 1);
  return reach >= 0 && reach - end < AFTER ? Math.max(end, reach + town[0].length) : end;
}

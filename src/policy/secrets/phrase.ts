/** Secrets of several parts behind a label: the words of a wallet, codes for recovery. */
import { type Check, hitOf, spend } from "../check.ts";
import { hasDigit, matchAt } from "../text/ascii.ts";

/** What a check costs, and what reading what follows costs. */
const CHECK_UNITS = 20;
const READING_UNITS = 300;
const REACH = 320;

/** Twelve words of three to eight letters (BIP 39), with numbers, commas or line breaks between them. */
const WORDS =
  /^[^a-z]{0,16}(?:\p{L}{1,12}[\s:'’"]{1,3}){0,8}?[\s:="'`([.-]{1,8}(?:\d{1,2}[.)]\s?)?((?:[a-z]{3,8}(?:,?\s{1,2}(?:\d{1,2}[.)]\s?)?|"?,\s?")){11,23}[a-z]{3,8})(?![\p{L}\d])/u;
/** Words that none of the lists of BIP 39 has, and every sentence. */
const OF_SENTENCES = /\b(?:the|and|are|was|were|has|had|from|with|for|but|not|this|which|any|their|our)\b/;

/** `seed phrase: ladder orbit velvet …`. */
export const seedPhrase: Check = (text, _start, end) => {
  spend(READING_UNITS);
  const match = WORDS.exec(text.slice(end, end + REACH));
  const words = match?.[1];
  if (match === null || words === undefined || OF_SENTENCES.test(words)) return null;
  const last = end + match[0].length;
  return hitOf("generic_credential", last - words.length, last);
};

/** The first of at least two codes: `8841-2039, 5520-1187`. */
const CODE = String.raw`(?=[\w-]*\d)[A-Za-z0-9]{4,8}(?:[-\s][A-Za-z0-9]{4,8}){1,3}|\d{8}|(?=[a-z]*\d)[a-z0-9]{8,12}|(?=[A-Z]*\d)[A-Z0-9]{8,12}`;
const CODES = new RegExp(
  String.raw`(?:[^\S\n]?\([^)\n]{1,24}\))?[^\S\n]?(?:is|are|sind|lauten|son|sont|sono|são|to|är|er)?[\s:"'\`[(-]{1,8}(?:\d{1,2}[.)]\s?)?((?:${CODE}))(?=["'\`]?(?:[\s,;|/]+(?:\d{1,2}[.)]\s?)?["'\`-]{0,2}\s?)(?:${CODE})(?![\w-]))`,
  "y",
);

/** `backup codes: 8841-2039, 5520-1187`. */
export const recoveryCodes: Check = (text, _start, end) => {
  spend(CHECK_UNITS);
  if (!hasDigit(text, end, end + 48)) return null;
  spend(READING_UNITS);
  const code = matchAt(CODES, text, end)?.[1];
  if (code === undefined || /^(?:19|20)\d{2}-[01]\d|^v?\d+\.\d/.test(code)) return null;
  return hitOf("generic_credential", CODES.lastIndex - code.length, CODES.lastIndex);
};

/** Secrets of several parts after a label: the words of a wallet, codes for recovery. */
import { type Check, hitOf, spend } from "../check.ts";
import { hasDigit, matchAt } from "../text/ascii.ts";
import { isPlaceholder, isUuid } from "./plausible.ts";

/** The cost of a check, and of reading the text after the word, units. */
const CHECK_UNITS = 20;
const READING_UNITS = 300;
const REACH = 320;

/** Twelve words of three to eight letters (BIP 39), with numbers, commas or line breaks between them. */
const WORDS =
  /^[^a-z]{0,16}(?:\p{L}{1,12}[\s:'’"]{1,3}){0,8}?[\s:="'`([.-]{1,8}(?:\d{1,2}[.)]\s?)?((?:\p{Ll}{3,8}(?:,?\s{1,2}(?:\d{1,2}[.)]\s?)?|"?,\s{0,24}")){11,23}\p{Ll}{3,8})(?![\p{L}\d])/u;
/** Words that none of the lists of BIP 39 has, and every sentence. */
const OF_SENTENCES =
  /(?<!\p{L})(?:the|and|are|was|were|has|had|from|with|for|but|not|this|which|any|their|our|der|die|das|und|mit|ist|für|les|des|une|que|pour|est|dans|los|las|por|una|con|para|são|não|uma|com|che|sono|per|della|een|het|van|voor|met|och|att|som|og|det|til|jest|nie|się|что|это|для|или|και|για|ile|için)(?!\p{L})/u;

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
const CODE = String.raw`(?=[\w-]{0,40}\d)[A-Za-z0-9]{4,8}(?:[-\s][A-Za-z0-9]{4,8}){1,3}|\d{8}|(?=[a-z]{0,12}\d)[a-z0-9]{8,12}|(?=[A-Z]{0,12}\d)[A-Z0-9]{8,12}`;
const CODES = new RegExp(
  String.raw`(?:[^\S\n]{1,2}(?:for|from|of|für|von|pour|de|para|per|voor|van|för|til|dla|для)[^\S\n](?:\p{L}[\p{L}\d.-]{0,20}[^\S\n]){0,2}\p{L}[\p{L}\d.-]{0,20})?(?:[^\S\n]?\([^)\n]{1,24}\))?[^\S\n]?(?:is|are|sind|lauten|son|sont|sono|são|to|är|er)?[\s:="'\x60[(-]{1,8}(?:\d{1,2}[.)]\s?)?((?:${CODE}))(?=["'\x60]?(?:[\s,;|/]+(?:\d{1,2}[.)]\s?)?["'\x60-]{0,2}\s?)(?:${CODE})(?![\w-]))`,
  "uy",
);

/** `recovery code: 88F2-9KQ1-T0LM`: one alone has three groups. */
const ALONE =
  /(?:[^\S\n]{1,2}\p{L}{1,12}){0,3}[^\S\n]?[:=–-]?[\s"'`(]{1,3}(?:is|est|es|é|è|ist|jest|je|är|er|on)?\s{0,2}["'`]?((?=[\w-]{0,56}\d)(?=[\w-]{0,56}[A-Za-z])[A-Za-z0-9]{4,8}(?:-[A-Za-z0-9]{4,8}){2,5}|\d{6}(?:-\d{6}){7})(?![\w-])/uy;

/** `backup codes: 8841-2039, 5520-1187`. */
export const recoveryCodes: Check = (text, _start, end) => {
  spend(CHECK_UNITS);
  if (!hasDigit(text, end, end + 48)) return null;
  spend(READING_UNITS);
  const alone = matchAt(ALONE, text, end)?.[1];
  if (alone !== undefined && !isUuid(alone) && !isPlaceholder(alone))
    return hitOf("generic_credential", ALONE.lastIndex - alone.length, ALONE.lastIndex);
  const code = matchAt(CODES, text, end)?.[1];
  if (code === undefined || /^(?:19|20)\d{2}-[01]\d|^v?\d+\.\d/.test(code)) return null;
  return hitOf("generic_credential", CODES.lastIndex - code.length, CODES.lastIndex);
};

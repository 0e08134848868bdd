/** Numbers that are good for one use or printed on one card: a code that a bank sends, the three digits on the back. */
import { type Check, hitOf, spend } from "../check.ts";
import { hasDigit, matchAt } from "../text/ascii.ts";
import { anyOf } from "../words/lists.ts";
import { SECRET_WORDS } from "./secret-words.ts";
import { SENTENCE_WORDS } from "./sentence-words.ts";

/** The cost of a check, and of reading the text after the word, units. */
const CHECK_UNITS = 20;
const READING_UNITS = 500;
const REACH = 64;

const COPULA = anyOf([...SENTENCE_WORDS.copulas, "e", "is:", "are"]);
const WORD = String.raw`[\p{L}\p{M}'’.-]{1,20}`;

/** After its word: up to five words and what ties the number, or up to two words and nothing. */
const behind = (number: string): RegExp =>
  new RegExp(
    String.raw`(?:(?:['’-]\p{L}{1,5}|["'])?(?:[ \t]{1,2}\(?${WORD}\)?){0,5}?(?:[ \t]{0,2}[:=：→][ \t]{0,2}|[ \t]->?[ \t]|,?[ \t]{1,2}(?:${COPULA})[ \t]{1,2}|[ \t]?(?:是|为|為|は|が|은|는|이|가)[ \t]?)|(?:['’-]?\p{L}{1,5})?(?:[ \t]{1,2}${WORD}){0,2}[ \t]{0,2})["'“„«「【\[(*]{0,2}(${number})(?![\p{Script=Latin}\p{Script=Cyrillic}\d%]|[.,:/-]\d|[ \t]?(?:-|${anyOf(SECRET_WORDS["what digits are counted in"])}))`,
    "uy",
  );
const ONE_USE = behind(String.raw`\d{4,8}|\d{3}[ -]\d{3}|\d{3}-\d{2}-\d{3}|\d{2}[ -]\d{2}[ -]\d{2}`);
const ON_CARD = behind(String.raw`\d{3,4}`);

/** A year, and the numbers of examples. */
const OTHER = /^(?:(?:19|20[0-4])\d{1,2}(?<=^\d{4})|(\d)\1+|123(?:4(?:5(?:6(?:78?)?)?)?)?|123[ -]456)$/;

const numberBehind =
  (pattern: RegExp): Check =>
  (text, _start, end) => {
    spend(CHECK_UNITS);
    if (!hasDigit(text, end, end + REACH)) return null;
    spend(READING_UNITS);
    const number = matchAt(pattern, text, end)?.[1];
    if (number === undefined || OTHER.test(number)) return null;
    const at = text.indexOf(number, end);
    return hitOf("generic_credential", at, at + number.length);
  };

const codeBehind = numberBehind(ONE_USE);
const IN_FRONT = new RegExp(
  String.raw`(?<![\p{L}\p{N}.,:/-])(?:[A-Z]{1,2}-)?(\d{4,8}|\d{3}[ -]\d{3})(?:[ \t](?:${COPULA})[ \t]|[ \t]?(?:是|为|為|は)[ \t]?)(?:${WORD}[ \t]?){0,4}$`,
  "u",
);
const REACH_BEFORE = 56;

/** `your verification code is 771 204`, `G-482913 is your verification code`. */
export const oneUseCode: Check = (text, start, end) => {
  const found = codeBehind(text, start, end);
  if (found !== null) return found;
  const from = Math.max(0, start - REACH_BEFORE);
  if (!hasDigit(text, from, start)) return null;
  spend(READING_UNITS);
  const match = IN_FRONT.exec(text.slice(from, start));
  const number = match?.[1];
  if (match === null || number === undefined || OTHER.test(number)) return null;
  const at = from + match[0].indexOf(number) + match.index;
  return hitOf("generic_credential", at, at + number.length);
};

/** `CVV 418`. */
export const cardCode = numberBehind(ON_CARD);

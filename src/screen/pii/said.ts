/**
 * Numbers and addresses that are spelled out, or written so that no program reads them: a number digit by digit, "ann
 * at mailbox dot org".
 */
import { type Check, hitOf, spend } from "../check.ts";
import { matchEnd } from "../text/ascii.ts";
import { CLEAR_DIGITS } from "../words/digits.ts";
import { anyOf } from "../words/lists.ts";

/** The cost of a check, and of reading a number, units. */
const CHECK_UNITS = 30;
const READING_UNITS = 400;
const FEWEST_DIGITS = 7;
/** This many digits are somebody's number, even without a word for it. */
const FEWEST_WITHOUT_WORD = 10;
const REACH_BEFORE = 48;
const LONGEST_WORD = 8;

const DIGIT = `(?:${anyOf([...CLEAR_DIGITS, "oh", "un", "um"])})`;
const NUMBER = new RegExp(
  String.raw`(?<!\p{L})(?:(?:${DIGIT}(?!\p{L})|\d{2,6}(?!\d))[ ,.–-]{1,3}){4,18}(?:${DIGIT}(?!\p{L})|\d{2,6}(?![\d:%]))`,
  "iuy",
);
const NEXT = new RegExp(String.raw`[ ,–-]{1,3}(?:${DIGIT}|\d)`, "iuy");
const BEFORE = new RegExp(String.raw`(?<!\p{L})${DIGIT}[ ,–-]{1,3}$`, "iu");
const OF_TELEPHONE =
  /number|phone|mobile|cell|call|text|reach|ring|dial|nummer|telefon|handy|ruf|numéro|appel|portable|número|teléfono|llama|móvil|numero|telefono|chiama|celular|liga/i;
/** Digits in order, as in counting. */
const COUNTING =
  /^(?:one\W+two\W+three|eins\W+zwei\W+drei|un\W+deux\W+trois|uno\W+dos\W+tres|um\W+dois\W+três|uno\W+due\W+tre)/i;

/** `six one seven, four eight two, nine nine three zero`, at the first of its words. */
export const spokenNumber: Check = (text, start, end) => {
  spend(CHECK_UNITS);
  if (matchEnd(NEXT, text, end) < 0) return null;
  const before = text.slice(Math.max(0, start - REACH_BEFORE), start);
  const from = start - (BEFORE.exec(before.slice(-LONGEST_WORD - 3))?.[0].length ?? 0);
  spend(READING_UNITS);
  const last = matchEnd(NUMBER, text, from);
  if (last < 0) return null;
  const said = text.slice(from, last);
  const count = said.split(/[^\p{L}\d]+/u).reduce((sum, one) => sum + (/\d/.test(one) ? one.length : 1), 0);
  if (count < FEWEST_DIGITS || COUNTING.test(said)) return null;
  return count >= FEWEST_WITHOUT_WORD || OF_TELEPHONE.test(before) ? hitOf("phone", from, last) : null;
};

const NAME = String.raw`[\p{L}\d+_-]{1,40}`;
const LONGEST_ADDRESS = 96;
const DOMAIN_BEFORE = new RegExp(
  String.raw`(?<![\p{L}\d@.])(${NAME}(?:(?: dot |\.)${NAME}){0,3} at ${NAME}(?: dot ${NAME}){0,2})$`,
  "iu",
);
const LETTER = /[\p{L}\d]/u;

/** `jo dot finch at mailbox dot org`, at the last "dot". */
export const spokenAddress: Check = (text, start, end) => {
  spend(CHECK_UNITS);
  if (LETTER.test(text[end] ?? " ")) return null;
  const before = text.slice(Math.max(0, start - LONGEST_ADDRESS), start);
  if (!before.includes(" at ")) return null;
  spend(READING_UNITS);
  const written = DOMAIN_BEFORE.exec(before)?.[1];
  return written === undefined ? null : hitOf("email", start - written.length, end);
};

const LOCAL_BEFORE = new RegExp(String.raw`(?<![\p{L}\d@.])${NAME}(?:(?:\s?[([]dot[)\]]\s?|\.)${NAME}){0,3}\s?$`, "iu");
const DOMAIN_BEHIND = new RegExp(String.raw`\s?${NAME}(?:(?:\s?[([]dot[)\]]\s?|\.| dot )${NAME}){1,4}`, "iuy");

/** `jfinch (at) mailbox (dot) org`, at the "(at)". */
export const bracketedAddress: Check = (text, start, end) => {
  spend(READING_UNITS);
  const last = matchEnd(DOMAIN_BEHIND, text, end);
  if (last < 0) return null;
  const local = LOCAL_BEFORE.exec(text.slice(Math.max(0, start - LONGEST_ADDRESS), start))?.[0];
  return local === undefined ? null : hitOf("email", start - local.length, last);
};

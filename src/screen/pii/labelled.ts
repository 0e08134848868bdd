/**
 * Identifiers that a label announces. words/labels.txt has the labels and the form of each label's value. With its
 * label beside it, a value needs no valid check digit: a mistyped number is still somebody's. A label that is also an
 * ordinary word or abbreviation is marked `ambiguous`, and then the value must have the exact form.
 */
import { type Check, type Hit, hitOf, spend } from "../check.ts";
import type { DetectorName } from "../detectors.ts";
import { hasDigit, isDigit, isLetter, isUpper, matchEnd } from "../text/ascii.ts";
import { isWordlike } from "../text/wordlike.ts";
import labels from "../words/labels.txt" with { type: "text" };
import { type Section, sectionsOf, spelledOut } from "../words/lists.ts";
import { endOfWord, luhn, mayBeJoined, readNumber, skipGlue, type Written } from "./number.ts";
import { ibanAt } from "./tokens.ts";

/** How a labelled value is written. */
interface LabelledForm {
  detector: DetectorName;
  words: readonly string[];
  /** What must follow the words, as in "Icelandic ID"; null for nothing. */
  rest: RegExp | null;
  /** Length without separators. */
  min: number;
  max: number;
  /** The least number of digits among the characters. */
  digits: number;
  /** The exact form of the compact value in capitals, for a label of one country. */
  form: RegExp | undefined;
  /** The words also mean other things: then the form is required, and nothing may stand between label and value. */
  ambiguous: boolean;
}

const HEADING = /^(\w+) length=(\d+)(?:-(\d+))? digits=(\d+)( ambiguous)?(?: form=(\S+))?(?: of=(\w+))?$/;

function formOf({ heading, lines }: Section, sections: readonly Section[]): LabelledForm {
  const match = HEADING.exec(heading);
  if (match === null) throw new Error(`no heading of a label: ${heading}`);
  const [, detector, min, max = min, digits, ambiguous, form, of] = match;
  const fronts = sections.find((section) => section.heading === of)?.lines ?? [];
  const words = lines.flatMap(spelledOut);
  return {
    detector: detector as DetectorName,
    words: of === undefined ? words : fronts,
    rest: of === undefined ? null : anyWord(words),
    min: Number(min),
    max: Number(max),
    digits: Number(digits),
    form: form === undefined ? undefined : new RegExp(form),
    ambiguous: ambiguous !== undefined,
  };
}

const anyWord = (words: readonly string[]): RegExp =>
  new RegExp(`\\s(?:${words.toSorted((a, b) => b.length - a.length).join("|")})(?![a-z])`, "iy");

let forms: readonly LabelledForm[] | undefined;

/** Every section of the file; read when the first table is built. */
export function labelledForms(): readonly LabelledForm[] {
  if (forms === undefined) {
    const sections = sectionsOf(labels);
    forms = sections.filter(({ heading }) => heading.includes("=")).map((section) => formOf(section, sections));
  }
  return forms;
}

/** The words of a section of the file that has no form. */
export const wordsUnder = (heading: "wallets" | "payment handles"): readonly string[] =>
  sectionsOf(labels).find((section) => section.heading === heading)?.lines ?? [];

/** The longest distance between a label and a value with words between them. */
const REACH = 56;
/** Words between label and value that show that the value is something else. */
const OTHER_NUMBER =
  /\b(?:order|invoice|amount|total|price|version|error|code|port|line|page|ending|ends|last|expires?|expiry|valid|age|years?|days?|hours?|minutes?|usd|eur|step|room|section|item|size|length|characters?|digits?|more|less|than|least|most|between|up to)\b|[$€£%]/i;

/** Returns the check for one label: it searches after it, then before it, for a value of the label's form. */
export function labelledValue(form: LabelledForm): Check {
  const search = searchFor(form);
  if (form.detector !== "bank_account") return search;
  return (text, start, wordEnd) => {
    const hit = search(text, start, wordEnd);
    if (hit === null) return null;
    // An IBAN is always found by the detector `iban`, with a label or without, so that it has one name and one mode.
    spend(READ_UNITS);
    return ibanAt(text, hit.start) === null ? hit : null;
  };
}

function searchFor(form: LabelledForm): Check {
  return (text, start, wordEnd) => {
    const end = form.rest === null ? wordEnd : matchEnd(form.rest, text, wordEnd);
    if (end < 0) return null;
    spend(DIGIT_UNITS);
    const behind = hasDigit(text, end, end + REACH);
    if (!behind)
      return form.ambiguous || !hasDigit(text, start - LONGEST_FRONT, start) ? null : inFront(form, text, start);
    spend(LABEL_UNITS);
    const remark = matchEnd(REMARK, text, end);
    const adjacent = skipGlue(text, remark < 0 ? end : remark);
    if (form.detector === "vehicle_id") {
      spend(PLATE_UNITS);
      const plateEnd = matchEnd(OTHER_PLATE, text, adjacent);
      if (plateEnd >= 0) return hitOf("vehicle_id", adjacent, plateEnd);
    }
    const direct =
      fitting(form, text, adjacent) ?? (remark < 0 || form.ambiguous ? null : inRemark(form, text, end, remark));
    if (direct) return hitOf(form.detector, direct.start, direct.end);
    if (form.ambiguous) return null;
    return (
      behindWords(form, text, remark < 0 ? end : remark, adjacent) ??
      (hasDigit(text, start - LONGEST_FRONT, start) ? inFront(form, text, start) : null)
    );
  };
}

/**
 * Plates of other scripts: А123ВС77 and АА1234ВС, 京A48219, 品川 300 あ 48-21, 12가 4821, 1กข 4821, أ ب ج 4821, 48 ب 219,
 * ΙΚΧ-4821.
 */
const OTHER_PLATE = new RegExp(
  [
    String.raw`[АВЕКМНОРСТУХІ]{1,2}\s?\d{3,4}\s?[АВЕКМНОРСТУХІКЛ]{2}(?:\s?\d{2,3})?`,
    String.raw`\p{Script=Han}\s?[A-Z][ ·]?[A-Z\d]{5,6}`,
    String.raw`[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]{1,4}\s?\d{2,3}\s?\p{Script=Hiragana}\s?(?:\d{2}-\d{2}|\d{1,4})`,
    String.raw`(?:\p{Script=Hangul}{2}\s?)?\d{2,3}\s?\p{Script=Hangul}\s?\d{4}`,
    String.raw`\d?[ก-ฮ]{1,3}[ -]?\d{1,4}`,
    String.raw`\p{Script=Arabic}(?:\s\p{Script=Arabic}){1,2}\s?\d{1,4}`,
    String.raw`\d{2}\s?\p{Script=Arabic}\s?\d{3}(?:\s?-?\s?(?:ایران\s?)?\d{2})?`,
    String.raw`[Α-Ω]{3}[ -]?\d{4}`,
  ]
    .map((form) => `${form}(?![\\p{L}\\p{N}])`)
    .join("|"),
  "uy",
);

/** A remark between the label and its value: "passport (expires 2031):", "licence, issued in Ohio last year, is". */
const REMARK = /\s?(?:\([^()\n]{1,48}\)|,[^,\n\d]{1,48},)/y;

/** "passport (US, 548120937)": the value is in the remark. */
function inRemark(form: LabelledForm, text: string, from: number, to: number): Written | null {
  const at = text.slice(from, to).search(/(?<![\p{L}\p{N}.-])[A-Z]{0,2}\d{6}/u);
  const written = at < 0 ? null : fitting(form, text, from + at);
  return written !== null && written.end === to - 1 ? written : null;
}

/** The cost of looking for a digit near a label, of searching after the label, and before it, units. */
const DIGIT_UNITS = 14;
const LABEL_UNITS = 180;
const FRONT_UNITS = 120;
/** The costs of reading a number and a licence plate, units. */
const READ_UNITS = 60;
const PLATE_UNITS = 100;
const IN_FRONT =
  /(?<![\p{L}\p{N}])([A-Za-z0-9][A-Za-z0-9 ./-]{3,28}?)\s{0,2}(?:\s(?:is|was|es|est|ist|è|é|jest|är|er|on|as|eto|это)\s|[(–—-])\s{0,2}(?:(?:my|mi|mon|ma|mein|meine|il mio|la mia|o meu|a minha|mój|moja|his|her|their|your|the|a|el|la|le|min|mitt|an?)\s){0,2}(?:[\p{L}]{2,12}\s){0,2}$/u;
const LONGEST_FRONT = 64;
/** The value before its label: "131052-308T is my hetu", "X1234567L (NIE)". */
function inFront(form: LabelledForm, text: string, start: number): Hit | null {
  spend(FRONT_UNITS);
  const from = Math.max(0, start - LONGEST_FRONT);
  if (!mayBeJoined(text, from, start)) return null;
  const match = IN_FRONT.exec(text.slice(from, start));
  if (!match) return null;
  const value = match[1] as string;
  // The last words of the match are nearest to the label.
  for (const candidate of value.matchAll(/(?<![A-Za-z0-9])[A-Za-z0-9]/g)) {
    const at = from + match.index + candidate.index;
    const written = fitting(form, text, at);
    if (written && written.digits >= 4 && written.end <= start) return hitOf(form.detector, written.start, written.end);
  }
  return null;
}

/** The value among the next words of the sentence. A value with words between must look like an identifier. */
function behindWords(form: LabelledForm, text: string, end: number, from: number): Hit | null {
  const limit = Math.min(text.length, end + REACH);
  let position = from;
  while (position < limit) {
    const wordEnd = endOfWord(text, position);
    if (wordEnd === position) {
      if (text[position] === "\n" && text[position + 1] === "\n") return null;
      position++;
      continue;
    }
    // No number begins with a word in lower case.
    const value = isLowerWord(text, position, wordEnd) ? null : fitting(form, text, position);
    if (value && value.digits >= 4 && value.compact.length >= Math.max(6, form.min)) {
      if (OTHER_NUMBER.test(text.slice(end, position))) return null;
      return hitOf(form.detector, value.start, value.end);
    }
    position = wordEnd;
  }
  return null;
}

function isLowerWord(text: string, at: number, end: number): boolean {
  for (let i = at; i < end; i++) {
    const code = text.charCodeAt(i);
    if (isDigit(code) || isUpper(code)) return false;
  }
  return true;
}

/** The value at `at` when it has the label's form: the longest prefix of its groups that has it. */
function fitting(form: LabelledForm, text: string, at: number): Written | null {
  const code = text.charCodeAt(at);
  if (!isDigit(code) && !isLetter(code)) return null;
  if (at > 0 && isJoined(text, at)) return null;
  spend(READ_UNITS);
  const written = readNumber(text, at);
  // A name in a program or a UUID is not a document number.
  if (written && matchEnd(NO_NUMBER, text, at) >= 0) return null;
  if (!written || matchEnd(AMOUNT, text, at) >= 0 || (form.detector === "vehicle_id" && hasLongWord(text, written)))
    return null;
  if (fits(form, written)) return written;
  if (form.detector === "credit_card" && isMistypedCard(text.slice(at, written.end))) return written;
  // Cutting groups off makes the value only shorter.
  if (written.digits < form.digits || written.compact.length < form.min) return null;
  // "4111111111111111 12/27": the later groups belong to something else.
  for (let cut = lastSeparator(text, at, written.end); cut > at; cut = lastSeparator(text, at, cut)) {
    spend(READ_UNITS);
    const shorter = readNumber(text.slice(at, cut), 0);
    if (!shorter || shorter.digits < form.digits) return null;
    if (fits(form, shorter)) return { ...shorter, start: at, end: at + shorter.end };
  }
  return null;
}

/** "5312 8840 1173 6625": a card whose check digit is wrong is still somebody's when it is written like one. */
const isMistypedCard = (written: string): boolean =>
  /^[2-6]\d{3}([ -])\d{4}\1\d{4}\1\d{4}$/.test(written) && !/^(\d)(?:[ -]?\1)+$/.test(written);

/** Names in programs, constants in hexadecimal, fractions, numbers of standards. */
const NO_NUMBER =
  /[a-z]{1,12}[A-Z][a-z]{2}|0x[0-9a-fA-F]|\d{1,7}\.\d{1,2}(?![\w.-])|(?:rfc|RFC|iso|ISO|[Ee][Dd]|secp|sha|SHA)[ -]?\d{3,5}(?!\d)|[A-Z]{3,5} 0x|[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-/y;

/** Money. */
const AMOUNT =
  /\d{1,3}(?:[.,' ]?\d{3}){0,8}(?:[.,]\d{1,2})?\s?(?:€|\$|£|%|EUR|USD|GBP|CHF|PLN|SEK|NOK|DKK|CZK|HUF|RON|TRY|RUB|UAH|JPY|CNY|INR|BRL|руб|грн|zł|Kč|kr)(?!\p{L})/uy;

function lastSeparator(text: string, from: number, end: number): number {
  let cut = end - 1;
  while (cut > from && (isDigit(text.charCodeAt(cut)) || isLetter(text.charCodeAt(cut)))) cut--;
  while (cut > from && !(isDigit(text.charCodeAt(cut - 1)) || isLetter(text.charCodeAt(cut - 1)))) cut--;
  return cut;
}

/** Whether the value is the tail of a longer token, which continues to its left. */
function isJoined(text: string, at: number): boolean {
  const before = text.charCodeAt(at - 1);
  return isDigit(before) || (isLetter(before) && isLetter(text.charCodeAt(at)));
}

function fits(form: LabelledForm, { compact, digits }: Written): boolean {
  if (compact.length < form.min || compact.length > form.max || digits < form.digits) return false;
  if (form.form?.test(compact) === false) return false;
  if (form.detector === "credit_card") return luhn(compact) && !/^(\d)\1+$/.test(compact);
  if (/^(.)\1+$/.test(compact) || /X{4,}/.test(compact)) return false;
  if (form.detector === "us_ssn") return /^(?!000|666|9)\d{3}(?!00)\d{2}(?!0000)\d{4}$/.test(compact);
  return digits >= 4 || form.detector === "vehicle_id" || !hasWord(compact);
}

/** "v2beta", "section8": a word with a digit is not a document number. */
function hasWord(compact: string): boolean {
  const letters = compact.match(/[A-Z]{4,}/)?.[0];
  return letters !== undefined && isWordlike(letters);
}

/** Plates have letters in threes at most. */
function hasLongWord(text: string, { start, end }: Written): boolean {
  return /[A-Za-z]{4,}/.test(text.slice(start, end)) && /[a-z]/.test(text.slice(start, end));
}

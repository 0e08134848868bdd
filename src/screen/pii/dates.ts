/** Dates as people write them: in figures, with the month's name, in words, in the scripts of East Asia. */
import { spend } from "../check.ts";
import { isDigit, matchEnd } from "../text/ascii.ts";
import dateWords from "../words/dates.txt" with { type: "text" };
import { anyOf, wordsOf } from "../words/lists.ts";

const { months, joints, years, days, tens } = wordsOf(dateWords, ["months", "joints", "years", "days", "tens"]);

const DAY = String.raw`(?:0?[1-9]|[12]\d|3[01])`;
const MONTH_NUMBER = "(?:0?[1-9]|1[0-2])";
/** Of the Gregorian calendar, or of the Thai one. */
const YEAR = String.raw`(?:(?:1[89]|20|2[45])\d{2}(?!\d))`;
const MONTH = String.raw`ב?־?${anyOf(months)}[\p{L}\p{M}]{0,9}\.?`;
const JOINT = String.raw`(?:\s{0,2}${anyOf(joints)}(?:\s{1,2}|(?<=['־])))?`;
const SPELT = String.raw`(?:${anyOf(years)}(?:[\s-]{0,2}\p{L}{3,24}){0,3}|\p{L}{0,12}${anyOf(tens)}\p{L}{0,12}(?:[\s-]\p{L}{1,14}){0,2})`;
const END = String.raw`${JOINT}[\s-]{0,3}${MONTH}${JOINT}[\s,-]{0,3}(?:${YEAR}|'?\d{2}(?![\d:.])|${SPELT})`;
const HAN_DIGIT = "[〇零○一二三四五六七八九]";
const HAN_NUMBER = "[一二三四五六七八九十]";
const YEAR_AND_MONTH = String.raw`\d{4}\s?[年년]\s?\d{1,2}\s?[月월]\s?\d{1,2}`;

const sticky = (...alternatives: string[]): RegExp => new RegExp(alternatives.join("|"), "iuy");
const IN_FIGURES = sticky(
  String.raw`${YEAR}\s?[-/.]\s?${MONTH_NUMBER}\s?[-/.]\s?${DAY}(?!\d)`,
  String.raw`${DAY}\s?[-/.]\s?${MONTH_NUMBER}\s?[-/.]\s?(?:${YEAR}|\d{2}(?![\d:]))`,
  String.raw`${DAY}\s${MONTH_NUMBER}\s${YEAR}`,
  String.raw`${DAY}\s(?:tháng|thg)\s${MONTH_NUMBER}(?:\snăm|,)?\s${YEAR}`,
  String.raw`${MONTH_NUMBER}[-/.]${DAY}[-/.](?:${YEAR}|\d{2}(?!\d))`,
  String.raw`${DAY}(?:\.|st|nd|rd|th|er|º|ª|°|-?an|-?го)?${END}`,
  String.raw`${YEAR}[.,]?\s{1,2}${MONTH}\s{1,2}(?:the\s)?${DAY}(?:st|nd|rd|th)?`,
  YEAR_AND_MONTH,
);
const FROM_DAY_IN_WORDS = sticky(`${anyOf(days)}${END}`);
const FROM_MONTH = sticky(
  String.raw`${MONTH}\s{1,2}(?:the\s)?(?:${DAY}(?:st|nd|rd|th)?|${anyOf(days)}),?\s{1,2}(?:${YEAR}|'\d{2}(?!\d)|${SPELT})`,
);
const IN_EAST_ASIA = sticky(
  YEAR_AND_MONTH,
  `${HAN_DIGIT}{4}年${HAN_NUMBER}{1,2}月${HAN_NUMBER}{1,3}[日号號]`,
  String.raw`(?:明治|大正|昭和|平成|令和|民國|民国)\s?(?:\d{1,3}|元)\s?年\s?\d{1,2}\s?月\s?\d{1,2}`,
);
/** Text before digits that are a part of something longer than a date. */
const CONTINUED = /[\p{L}\p{N}./]$|\d[,:]$|[^\u0590-\u05ff]-$/u;
const LETTER = /\p{L}/u;
/** Chinese digits that are not letters. */
const HAN_SIGN = /[〇○]/;
const FIRST_OF_EAST_ASIA = 0x3000;
/** How many first letters of months and days in words are compared first: few other words begin with them. */
const FIRST_LETTERS = 2;
const beginningsOf = (words: readonly string[]): ReadonlySet<string> =>
  new Set(words.map((word) => word.slice(0, FIRST_LETTERS).toLowerCase()));
const MONTHS_BEGIN = beginningsOf([...months, ...months.map((month) => `ב${month}`), "ב־"]);
const DAYS_BEGIN = beginningsOf(days);

/** The costs of trying the patterns at one position, units. */
const FIGURES_UNITS = 220;
const WORDS_UNITS = 400;

/** A date in a text. */
export interface WrittenDate {
  start: number;
  end: number;
  /** The year in figures; null when it is in words, has two digits or belongs to another calendar. */
  year: number | null;
}

const FULL_YEAR = /(?<!\d)(?:18|19|20)\d{2}(?!\d)/;

/** A year in words has one of these. */
export const TENS = new RegExp(anyOf(tens), "i");

/** The dates in `text[from, to)`, in order. The caller keeps that stretch short. */
export function datesIn(text: string, from: number, to: number): WrittenDate[] {
  const first = Math.max(0, from);
  const stretch = text.slice(first, to);
  const dates: WrittenDate[] = [];
  for (let at = 0; at < stretch.length; ) {
    const end = dateEnd(stretch, at);
    if (end < 0) {
      at++;
      continue;
    }
    const year = FULL_YEAR.exec(stretch.slice(at, end))?.[0];
    dates.push({ start: first + at, end: first + end, year: year === undefined ? null : Number(year) });
    at = end;
  }
  return dates;
}

/** The end of the date that begins at `at`, or -1. */
function dateEnd(text: string, at: number): number {
  const code = text.charCodeAt(at);
  const isFigure = isDigit(code);
  if (!isFigure && !LETTER.test(text[at] as string) && !HAN_SIGN.test(text[at] as string)) return -1;
  if (CONTINUED.test(text.slice(Math.max(0, at - 2), at))) {
    const isInside = isDigit(text.charCodeAt(at - 1)) || !(isFigure || code >= FIRST_OF_EAST_ASIA);
    return isInside ? -1 : tried(IN_EAST_ASIA, text, at);
  }
  if (isFigure) return tried(IN_FIGURES, text, at);
  const beginning = text.slice(at, at + FIRST_LETTERS).toLowerCase();
  if (DAYS_BEGIN.has(beginning)) {
    const end = tried(FROM_DAY_IN_WORDS, text, at, WORDS_UNITS);
    if (end >= 0) return end;
  }
  if (MONTHS_BEGIN.has(beginning)) {
    const end = tried(FROM_MONTH, text, at, WORDS_UNITS);
    if (end >= 0) return end;
  }
  return code >= FIRST_OF_EAST_ASIA || HAN_SIGN.test(text[at] as string) ? tried(IN_EAST_ASIA, text, at) : -1;
}

function tried(pattern: RegExp, text: string, at: number, units = FIGURES_UNITS): number {
  spend(units);
  return matchEnd(pattern, text, at);
}

/** Dates as people write them: in figures, with the month's name, in words, in the scripts of East Asia. */
import dateWords from "../words/dates.txt" with { type: "text" };
import { anyOf, wordsOf } from "../words/lists.ts";

const { months, joints, years, days } = wordsOf(dateWords, ["months", "joints", "years", "days"]);

const DAY = String.raw`(?:0?[1-9]|[12]\d|3[01])`;
const MONTH_NUMBER = "(?:0?[1-9]|1[0-2])";
/** Of the Gregorian calendar, or of the Thai one. */
const YEAR = String.raw`(?:(?:1[89]|20|2[45])\d{2}(?!\d))`;
const MONTH = String.raw`ב?־?${anyOf(months)}[\p{L}\p{M}]{0,9}\.?`;
const JOINT = String.raw`(?:\s{0,2}${anyOf(joints)}(?:\s{1,2}|(?<=['־])))?`;
const SPELT = String.raw`${anyOf(years)}(?:[\s-]{0,2}\p{L}{3,24}){0,3}`;
const HAN_DIGIT = "[〇零○一二三四五六七八九]";
const HAN_NUMBER = "[一二三四五六七八九十]";
const DATE = new RegExp(
  String.raw`(?<![\p{L}\p{N}./]|\d[,:]|[^\u0590-\u05ff]-)(?:${[
    String.raw`${YEAR}\s?[-/.]\s?${MONTH_NUMBER}\s?[-/.]\s?${DAY}(?!\d)`,
    String.raw`${DAY}\s?[-/.]\s?${MONTH_NUMBER}\s?[-/.]\s?(?:${YEAR}|\d{2}(?![\d:]))`,
    String.raw`${DAY}\s${MONTH_NUMBER}\s${YEAR}`,
    String.raw`${DAY}\s(?:tháng|thg)\s${MONTH_NUMBER}(?:\snăm|,)?\s${YEAR}`,
    String.raw`${MONTH_NUMBER}[-/.]${DAY}[-/.](?:${YEAR}|\d{2}(?!\d))`,
    String.raw`(?:${DAY}(?:\.|st|nd|rd|th|er|º|ª|°|-?an|-?го)?|${anyOf(days)})${JOINT}[\s-]{0,3}${MONTH}${JOINT}[\s,-]{0,3}(?:${YEAR}|'?\d{2}(?![\d:.])|${SPELT})`,
    String.raw`${MONTH}\s{1,2}(?:the\s)?(?:${DAY}(?:st|nd|rd|th)?|${anyOf(days)}),?\s{1,2}(?:${YEAR}|'\d{2}(?!\d)|${SPELT})`,
    String.raw`${YEAR}[.,]?\s{1,2}${MONTH}\s{1,2}(?:the\s)?${DAY}(?:st|nd|rd|th)?`,
    String.raw`\d{4}\s?[年년]\s?\d{1,2}\s?[月월]\s?\d{1,2}`,
  ].join(
    "|",
  )})|(?<!\d)\d{4}\s?[年년]\s?\d{1,2}\s?[月월]\s?\d{1,2}|${HAN_DIGIT}{4}年${HAN_NUMBER}{1,2}月${HAN_NUMBER}{1,3}[日号號]|(?:明治|大正|昭和|平成|令和|民國|民国)\s?(?:\d{1,3}|元)\s?年\s?\d{1,2}\s?月\s?\d{1,2}`,
  "giu",
);

/** A date in a text. */
export interface WrittenDate {
  start: number;
  end: number;
  /** The year in figures; null when it is in words, of two digits or of another calendar. */
  year: number | null;
}

const FULL_YEAR = /(?<!\d)(?:18|19|20)\d{2}(?!\d)/;

/** The dates in `text[from, to)`, in order. The caller keeps that stretch short. */
export function datesIn(text: string, from: number, to: number): WrittenDate[] {
  const stretch = text.slice(Math.max(0, from), to);
  return Array.from(stretch.matchAll(DATE), ({ 0: written, index }) => {
    const start = Math.max(0, from) + index;
    const year = FULL_YEAR.exec(written)?.[0];
    return { start, end: start + written.length, year: year === undefined ? null : Number(year) };
  });
}

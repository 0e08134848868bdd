/** Dates of birth: a date near a word for birth. */
import { type Check, type Hit, hitOf, spend } from "../check.ts";
import { hasDigit, matchEnd } from "../text/ascii.ts";
import { cellsBelow } from "../text/table.ts";
import { wordsOf } from "../words/lists.ts";
import personWords from "../words/persons.txt" with { type: "text" };
import { datesIn, TENS, type WrittenDate } from "./dates.ts";
import { BIRTH_GLUE, skipGlue } from "./number.ts";

/** The costs of checks, units. */
const CHECK_UNITS = 60;
const SPELT_UNITS = 300;

/** How far from its word a date is looked for, UTF-16 code units. */
const REACH = 88;
const REACH_BEFORE = 56;
/** The date of a party or a card is that of a coming birthday, so later years are not taken for years of birth. */
const LAST_YEAR_OF_BIRTH = 2019;

/** A date without separators, which counts only right after its word. */
const COMPACT =
  /(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?!\d)|(?:0[1-9]|[12]\d|3[01])(?:0[1-9]|1[0-2])(?:19|20)\d{2}(?!\d)|(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:19|20)\d{2}(?!\d)|(?:0?[1-9]|[12]\d|3[01])[-/.](?:0?[1-9]|[12]\d|3[01])[-/.](?:(?:1[89]|20)\d{2}|\d{2})(?!\d)/y;
/** `date(1984, 7, 19)`, `new Date(1984, 6, 19)`, `LocalDate.of(1984, 7, 19)`; the word may be one that is skipped. */
const CONSTRUCTED =
  /(?:(?:new )?[A-Za-z:.]{0,16}(?:date|time|day)(?:::?|\.)?[a-z_]{0,8}\(\s?)?(?:19|20)\d{2}, ?(?:0?\d|1[0-2]|[A-Za-z.]{3,16}), ?[0-3]?\d\s?[),]/iy;
/** `"dob": {"year": 1988, "month": 4, "day": 12}`, `birth_year=1988&birth_month=04&birth_day=12` */
const MEMBERS =
  /["']?[\s:={(_]{0,6}["']?(?:\w{1,16}_)?(?:year|month|day|y|m|d)["']?\s?[:=]\s?["']?(?:19|20)?\d{1,2}["']?[,&;\s]{1,3}["']?(?:\w{1,16}_)?(?:year|month|day|y|m|d)["']?\s?[:=]\s?["']?\d{1,2}["']?[,&;\s]{1,3}["']?(?:\w{1,16}_)?(?:year|month|day|y|m|d)["']?\s?[:=]\s?["']?(?:19|20)?\d{1,2}(?!\d)/iy;
/** A date that is said to be something else. */
const OTHER_DATE =
  /\b(?:expir\w*|issued?|order\w*|appointment|created|updated|valid\w*|since|visit\w*|flight|meeting|deliver\w*|due|party|released?|published|gültig|ausgestellt|termin|bestellt|expire|délivré\w*|caduca|válid\w*|scad\w*|geldig|ważn\w*|действ\w*)\b/iu;
/** The end of a sentence or of a line, after which the topic may change. */
const BREAK = /[!?;\n]|\.\s+\p{Lu}/u;
const EMPTY = /^[\s\p{P}\p{S}]*$/u;

const { things } = wordsOf(personWords, ["phones", "births", "birthdays", "born", "things"]);
const THING = new RegExp(`(?<![\\p{L}])(?:${things.join("|")})(?![\\p{Ll}])`, "iu");

/** The date after a word for a date of birth that spans `[start, end)`, in the cells below it, or before it. */
export function dateOfBirth(isBirthday: boolean): Check {
  return (text, start, end) => {
    spend(CHECK_UNITS);
    const adjacent = skipGlue(text, end, BIRTH_GLUE);
    const compactEnd = Math.max(matchEnd(COMPACT, text, adjacent), matchEnd(CONSTRUCTED, text, adjacent));
    if (compactEnd >= 0) return hitOf("date_of_birth", adjacent, compactEnd);
    const membersEnd = matchEnd(MEMBERS, text, end);
    if (membersEnd >= 0) return hitOf("date_of_birth", end, membersEnd);
    if (!mayHaveDate(text, end, end + REACH)) return inFront(text, start);
    const date = datesIn(text, end, end + REACH)[0];
    if (date === undefined) return inFront(text, start);
    const between = text.slice(end, date.start);
    const isTable = /[,;|\t]/.test(between) && between.includes("\n");
    if (isTable) return inColumn(text, start, end);
    const near = date.start <= adjacent;
    if (COMPARISON.test(between) || (!near && OTHER_DATE.test(between))) return null;
    if (isBirthday && !near && (date.year ?? 0) > LAST_YEAR_OF_BIRTH) return null;
    // A question is followed by one answer, and then by another topic.
    if ((between.match(/[.!?;\n。？；؟]/g)?.length ?? 0) > MOST_SENTENCE_ENDS) return null;
    return hitOf("date_of_birth", date.start, date.end);
  };
}

const MOST_SENTENCE_ENDS = 3;
/** A rule about dates: `birth_date < '2026-01-01'`. */
const COMPARISON = /\s[<>]=?\s|\b(?:before|after|between|earlier|later|older|younger)\b|\bon or\b/;

function inColumn(text: string, start: number, end: number): Hit | null {
  for (const cell of cellsBelow(text, start, end)) {
    const date = datesIn(text, cell.start, cell.end)[0];
    if (date !== undefined) return hitOf("date_of_birth", date.start, date.end);
  }
  return null;
}

/** "3.4.1980 (date of birth)", "1984-05-06 is my birthday". */
const TIES = /^\s{0,2}(?:[日号]?$|[(–—-]|(?:is|was|ist|est|es|è|é|to|är|er|on|as|это)\s)[^.!?\n]{0,16}$/u;

function inFront(text: string, start: number): Hit | null {
  const date = lastBefore(text, start);
  return date !== undefined && TIES.test(text.slice(date.end, start))
    ? hitOf("date_of_birth", date.start, date.end)
    : null;
}

function lastBefore(text: string, start: number): WrittenDate | undefined {
  if (!mayHaveDate(text, start - REACH_BEFORE, start)) return undefined;
  return datesIn(text, start - REACH_BEFORE, start).at(-1);
}

/** A date beside a word for being born that spans `[start, end)`, in the same sentence. */
export function born(text: string, start: number, end: number, word: string): Hit | null {
  if (word.endsWith(".")) {
    if (text[end - 1] !== ".") return null;
    if (!goesOn(text, end, word)) return word.length <= 2 ? null : onlyBehindDate(text, start, lastBefore(text, start));
  }
  spend(CHECK_UNITS);
  if (NEXT_CELL.test(text.slice(end, end + 2))) {
    const inTable = inColumn(text, start, end);
    if (inTable !== null) return inTable;
  }
  if (mayHaveDate(text, end, end + REACH)) {
    const date = datesIn(text, end, end + REACH)[0];
    // "When were you born? On …"
    const between = date && text.slice(end, date.start).replace(/^[^?;]{0,20}[?;？；؟]/u, "");
    if (date !== undefined && between !== undefined && !BREAK.test(between) && !OTHER_DATE.test(between)) {
      const isShort = word.length <= 3;
      if ((!isShort || EMPTY.test(between)) && !isThing(text, start))
        return hitOf("date_of_birth", date.start, date.end);
    }
  }
  const before = lastBefore(text, start);
  if (before === undefined || word.length <= 3) return onlyBehindDate(text, start, before);
  const between = text.slice(before.end, start);
  return BREAK.test(between) || OTHER_DATE.test(between) || isThing(text, before.start)
    ? null
    : hitOf("date_of_birth", before.start, before.end);
}

/** The word names the column of a table: the separator of cells, or the end of the line, follows. */
const NEXT_CELL = /^\s?[,;|\t\n]/;

/** Reports whether a date or a place follows an abbreviation, whose dot then does not end a sentence. */
function goesOn(text: string, end: number, word: string): boolean {
  if (!/^\s?[\d\p{L}]/u.test(text.slice(end, end + 2))) return false;
  return word.length > 2 || /^\s?(?:\d|\p{Lu}\p{Ll}{2})/u.test(text.slice(end, end + 4));
}

/** A short word right after the date: 생, 생まれ, "г.р.". */
function onlyBehindDate(text: string, start: number, date: WrittenDate | undefined): Hit | null {
  if (
    date === undefined ||
    !/^\s?[日일]?\s?(?:に|で|에|г\.|года|року|n|en|ján|jén)?\s?$/u.test(text.slice(date.end, start))
  )
    return null;
  return hitOf("date_of_birth", date.start, date.end);
}

const REACH_THING = 40;
const isThing = (text: string, at: number): boolean => THING.test(text.slice(Math.max(0, at - REACH_THING), at));

const MONTH_OR_YEAR = /[年十百]/;

/** Reports whether there may be a date: it has a digit, unless it is in words. */
function mayHaveDate(text: string, from: number, to: number): boolean {
  if (hasDigit(text, from, to)) return true;
  spend(SPELT_UNITS);
  return MAY_BE_SPELT.test(text.slice(Math.max(0, from), to));
}

const MAY_BE_SPELT = new RegExp(
  `${MONTH_OR_YEAR.source}|${TENS.source}|nineteen|twenty|two thousand|hundert|tausend|cent|mil|duem|honderd|duizend|tysi|hundr|nitten|tuhat|kaksitu|dokuz|iki bin|tūkst|tusind|tusen|ezer|kétez|χίλια|χιλιάδες|тыся|тися|cet|dva|tisíc`,
  "i",
);

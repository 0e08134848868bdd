/** Addresses in scripts and countries where one word and a number suffice (words/places.txt). */
import { type Anchor, asWord } from "../anchor.ts";
import { type Check, hitOf, spend } from "../check.ts";
import { hasDigit, matchEnd } from "../text/ascii.ts";
import { bounded, columnsOf, listsOf } from "../words/lists.ts";
import placeWords from "../words/places.txt" with { type: "text" };

/** The costs of checks, units. */
const CHECK_UNITS = 30;
const PATTERN_UNITS = 120;
const BEFORE = 40;
const AFTER = 64;
const LONGEST_WORD = 24;
const HAN_NUMBER = /[一二三四五六七八九十]/;

interface PlacePatterns {
  before: RegExp | null;
  after: RegExp | null;
}

function patternOf(written: string | undefined, flag: "y" | ""): RegExp | null {
  if (written === "-") return null;
  const [, source = "", flags = ""] = /^\/(.+)\/(i?)$/.exec(written ?? "") ?? [];
  if (source === "") throw new Error(`not a pattern: ${written}`);
  return new RegExp(bounded(source, LONGEST_WORD), `u${flags}${flag}`);
}

function placeAddress({ before, after }: PlacePatterns): Check {
  return (text, start, end) => {
    spend(CHECK_UNITS);
    if (after !== null ? !mayHaveNumber(text, end, end + AFTER) && before === null : !hasNumber(text, start))
      return null;
    spend(PATTERN_UNITS);
    const last = after === null ? end : matchEnd(after, text, end);
    if (last < 0) return null;
    const match = before?.exec(text.slice(Math.max(0, start - BEFORE), start));
    if (match === null) return null;
    return hitOf("postal_address", start - (match?.[0].length ?? 0), last);
  };
}

const hasNumber = (text: string, start: number): boolean => mayHaveNumber(text, start - BEFORE, start);
const mayHaveNumber = (text: string, from: number, to: number): boolean =>
  hasDigit(text, from, to) || HAN_NUMBER.test(text.slice(Math.max(0, from), to));

/** An anchor for each row of words/places.txt. */
export function placeAnchors(): Anchor[] {
  return listsOf(placeWords, ["places"]).places.map((row) => {
    const [word = "", before, after] = columnsOf(row);
    const check = placeAddress({ before: patternOf(before, ""), after: patternOf(after, "y") });
    // The sign for a postcode is not a word.
    return /^\p{L}/u.test(word) ? asWord(word, check) : { word, check };
  });
}

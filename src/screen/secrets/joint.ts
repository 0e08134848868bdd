/**
 * The words right before a value that tie it to its name: "is", "to", a colon. They are found from their last word,
 * since a pattern of hundreds of alternatives that must match at the end of the text would be tried at every position.
 */
import { isLetter } from "../text/ascii.ts";
import { SENTENCE_WORDS } from "./sentence-words.ts";

const QUOTES = "\"'`“”„«»‘’「『";
const MOST_QUOTES = 2;
const SIGNS = ":=→—–>，,、";
const MOST_BLANKS = 3;
const LETTER = /[\p{L}\p{M}]/u;
const SPACE = /\s/;
/** No phrase is longer. */
const LONGEST = 40;
const LONGEST_WORD = 16;
const MOST_WORDS = 3;

const isWordUnit = (text: string, at: number): boolean => {
  const code = text.charCodeAt(at);
  return code < 128 ? isLetter(code) : LETTER.test(text[at] ?? " ");
};
const isApostrophe = (sign: string | undefined): boolean => sign === "'" || sign === "’";

/** Phrases that are looked for at the end of a text. */
class Endings {
  /** By the letters they end with. */
  readonly #phrases: ReadonlyMap<string, readonly string[]>;

  constructor(phrases: readonly string[]) {
    this.#phrases = Map.groupBy(phrases, (phrase) => phrase.slice(lastWordOf(phrase, phrase.length)));
  }

  /** Whether `text[0, end)`, in small letters, ends with a phrase that is no part of a word. */
  isBefore(text: string, end: number): boolean {
    const phrases = this.#phrases.get(text.slice(lastWordOf(text, end), end));
    return (
      phrases?.some((phrase) => text.startsWith(phrase, end - phrase.length) && stands(text, end - phrase.length)) ??
      false
    );
  }
}

function lastWordOf(text: string, end: number): number {
  let start = end;
  while (start > 0 && end - start < LONGEST && isWordUnit(text, start - 1)) start--;
  return start;
}

const stands = (text: string, start: number): boolean =>
  start >= 0 && !(start > 0 && (isWordUnit(text, start - 1) || isApostrophe(text[start - 1])));

const JOINTS = new Endings(SENTENCE_WORDS.joints);
const COPULAS = new Endings(SENTENCE_WORDS.copulas);
const ATTACHED = SENTENCE_WORDS["attached joints"];

/** Where the quotes at the end of `gap` begin. */
function withoutQuotes(gap: string): number {
  let end = gap.length;
  while (gap.length - end < MOST_QUOTES && end > 0 && QUOTES.includes(gap[end - 1] as string)) end--;
  return end;
}

/** Reports whether the words between a name and a value end with a phrase that ties them. */
export function isJoint(gap: string): boolean {
  const quote = withoutQuotes(gap);
  let end = quote;
  while (quote - end <= MOST_BLANKS && end > 0 && SPACE.test(gap[end - 1] as string)) end--;
  const blanks = quote - end;
  if (end === 0 || blanks > MOST_BLANKS) return false;
  const sign = gap[end - 1] as string;
  if (SIGNS.includes(sign)) return true;
  const said = gap.slice(Math.max(0, end - LONGEST), end).toLowerCase();
  if (blanks <= 1 && ATTACHED.some((joint) => said.endsWith(joint))) return true;
  if (blanks === 1 && sign === "-" && SPACE.test(gap[end - 2] ?? "")) return true;
  return blanks > 0 && JOINTS.isBefore(said, said.length);
}

/** Whether a word for "is" and up to three others stand before a value: "is since yesterday". */
export function isNearCopula(gap: string): boolean {
  let end = withoutQuotes(gap);
  if (end === 0 || !SPACE.test(gap[end - 1] as string)) return false;
  end--;
  if (gap[end - 1] === ",") end--;
  const said = gap.toLowerCase();
  for (let words = 0; words < MOST_WORDS; words++) {
    const start = startOfWord(gap, end);
    if (start === end || start === 0 || !SPACE.test(gap[start - 1] as string)) return false;
    end = start - 1;
    if (COPULAS.isBefore(said, end)) return true;
  }
  return false;
}

function startOfWord(text: string, end: number): number {
  let start = end;
  while (start > 0 && end - start < LONGEST_WORD && isPartOfWord(text, start - 1)) start--;
  return start;
}

const isPartOfWord = (text: string, at: number): boolean =>
  isWordUnit(text, at) || isApostrophe(text[at]) || text[at] === "-";

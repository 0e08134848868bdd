/** The part of two texts that is compared: what is long takes its time to compare, and to show. */

/** Most characters (UTF-16 code units) of each text. */
export const MOST_CHARACTERS = 50_000;
/** Most lines of each text. */
export const MOST_LINES = 1_000;
/** Characters before the first difference, when its line begins farther away. */
const BEFORE = 1_000;

interface ComparedPart {
  before: string;
  after: string;
  /** The number of the line, from 1, with which the part begins; null when it is all of both texts. */
  fromLine: number | null;
}

/** Returns both texts or, when one of them is long, a piece of each from the line in which they begin to differ. */
export function comparedPart(before: string, after: string): ComparedPart {
  if (!isLong(before) && !isLong(after)) return { before, after, fromLine: null };
  const start = startOf(before, after);
  return { before: pieceOf(before, start), after: pieceOf(after, start), fromLine: linesIn(before.slice(0, start)) };
}

const isLong = (text: string): boolean => text.length > MOST_CHARACTERS || linesIn(text) > MOST_LINES;

function linesIn(text: string): number {
  let lines = 1;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines++;
  return lines;
}

/** Returns where the line begins in which the texts first differ; 0 when they are the same. */
function startOf(before: string, after: string): number {
  if (before === after) return 0;
  let first = 0;
  while (first < before.length && before[first] === after[first]) first++;
  const line = first === 0 ? 0 : before.lastIndexOf("\n", first - 1) + 1;
  return Math.max(line, first - BEFORE);
}

const pieceOf = (text: string, start: number): string =>
  text
    .slice(start, start + MOST_CHARACTERS)
    .split("\n", MOST_LINES)
    .join("\n");

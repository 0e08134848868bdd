/** The marks that stand in place of what was replaced. */
import type { Span } from "../near.ts";

const OPENING = "[redacted:";
const MARK = new RegExp(`\\${OPENING}([a-z][a-z0-9_]*)\\]`, "g");
const CONTENT = /[\p{L}\p{N}]/u;

/** The names that marks may have: of the detectors and patterns of some rules. */
export interface Names {
  has(name: string): boolean;
}

/** Returns the text that replaces a match. */
export const markOf = (detector: string): string => `${OPENING}${detector}]`;

/** Reports whether a text may have marks. */
export const mayHaveMarks = (text: string): boolean => text.includes(OPENING);

/** Returns the places of the marks in a text, in order. */
export function marksIn(text: string, names: Names): Span[] {
  if (!mayHaveMarks(text)) return [];
  return [...text.matchAll(MARK)]
    .filter(([, name]) => names.has(name as string))
    .map(({ index, 0: { length } }) => ({ start: index, end: index + length }));
}

/**
 * Returns the text with `x` for each letter of the names in its marks. A name such as `iban` would be a label of what
 * stands behind it.
 */
export function withoutNames(text: string, names: Names): string {
  if (!mayHaveMarks(text)) return text;
  return text.replace(MARK, (whole, name: string) =>
    names.has(name) ? `${OPENING}${"x".repeat(name.length)}]` : whole,
  );
}

/** Returns a place extended to the whole marks at its ends; null when marks are all of its content. */
export function aroundMarks(text: string, marks: readonly Span[], { start, end }: Span): Span | null {
  const around = { start, end };
  let at = start;
  let hasOther = false;
  for (let next = firstEndingAfter(marks, start); next < marks.length; next++) {
    const mark = marks[next] as Span;
    if (mark.start >= end) break;
    around.start = Math.min(around.start, mark.start);
    around.end = Math.max(around.end, mark.end);
    hasOther ||= CONTENT.test(text.slice(at, Math.max(at, mark.start)));
    at = mark.end;
  }
  return at === start || hasOther || CONTENT.test(text.slice(at, Math.max(at, end))) ? around : null;
}

/** Returns the index of the first place that ends after `at`; places are in order and do not overlap. */
export function firstEndingAfter(places: readonly { end: number }[], at: number): number {
  let [low, high] = [0, places.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((places[middle] as { end: number }).end <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

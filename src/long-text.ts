/**
 * Texts of many megabytes. They stay in pieces from where they are made to where they are sent, so that no thread copies
 * or passes on all of one at once.
 */

/** A text, or the pieces that it consists of. */
export type LongText = string | readonly string[];

/** A piece is complete from this length on, UTF-16 units. */
const PIECE = 64 * 1024;

/** Returns the text that begins with `start`, goes on with the items, separated by commas, and ends with `end`. */
export function textOfItems(start: string, items: readonly string[], end: string): LongText {
  const pieces: string[] = [];
  let piece = start;
  for (const [i, item] of items.entries()) {
    piece += i === 0 ? item : `,${item}`;
    if (piece.length < PIECE) continue;
    pieces.push(piece);
    piece = "";
  }
  piece += end;
  return pieces.length === 0 ? piece : [...pieces, piece];
}

/** The length of a text, UTF-16 units. */
export const lengthOf = (text: LongText): number =>
  typeof text === "string" ? text.length : text.reduce((sum, { length }) => sum + length, 0);

/** The start and the end of a text. What belongs between them is on another thread. */
export interface Around {
  start: string;
  end: string;
}

/** Returns a text with a start before it and an end behind it. */
export const putAround = ({ start, end }: Around, text: LongText): LongText =>
  typeof text === "string" ? start + text + end : [start, ...text, end];

/** Returns a text as one string. */
export const wholeText = (text: LongText): string => (typeof text === "string" ? text : text.join(""));

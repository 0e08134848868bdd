/**
 * Texts of many megabytes. They stay in pieces from where they are made to where they are sent, so that no thread
 * copies or passes on a whole text at once.
 */

/** A text, or the pieces that it consists of. */
export type LongText = string | readonly string[];

/** A piece is complete when it has at least this length, UTF-16 code units. */
const PIECE = 64 * 1024;

/** Returns the text of `start`, the items, separated by commas, and `end`. */
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

/** The length of a text, UTF-16 code units. */
export const lengthOf = (text: LongText): number =>
  typeof text === "string" ? text.length : text.reduce((sum, { length }) => sum + length, 0);

/** The start and the end of a text whose middle is on another thread. */
export interface Around {
  start: string;
  end: string;
}

/** Returns a text between a start and an end. */
export const putAround = ({ start, end }: Around, text: LongText): LongText =>
  typeof text === "string" ? start + text + end : [start, ...text, end];

/** Returns a text as one string. */
export const wholeText = (text: LongText): string => (typeof text === "string" ? text : text.join(""));

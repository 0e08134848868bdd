/** Tables in text: lines whose cells are separated by the same sign (CSV, Markdown, text copied from a sheet). */
import { spend } from "../check.ts";

interface Cell {
  start: number;
  end: number;
}

const SEPARATORS = ",;|\t";
const LONGEST_HEADER = 320;
const LONGEST_LINE = 480;
const LONGEST_NAME = 40;
/** The number of rows that are read to know what a column holds. One line more is read: the one below the header. */
const MOST_ROWS = 3;
/** The line below the header of a table in Markdown. */
const RULE = /^[\s|:+=-]+$/;

/**
 * The cells below the name of a column, when the word `[start, end)` is or is part of one: of the next rows, at most
 * `most`, without quotes and spaces around them.
 */
export function cellsBelow(text: string, start: number, end: number, most = MOST_ROWS): Cell[] {
  const separator = separatorAt(text, start, end);
  if (separator === null) return [];
  const lineStart = startOfLine(text, start);
  const headerEnd = endOfLine(text, end, LONGEST_HEADER);
  if (lineStart < 0 || headerEnd < 0 || headerEnd === text.length) return [];
  const header = cells(text, lineStart, headerEnd, separator);
  if (!isHeader(text, header)) return [];
  const column = header.findIndex((cell) => cell.end >= start);
  const found: Cell[] = [];
  for (let at = headerEnd + 1, line = 0; line <= most && found.length < most && at < text.length; line++) {
    const lineEnd = endOfLine(text, at, LONGEST_LINE);
    if (lineEnd <= at) break;
    if (!RULE.test(text.slice(at, lineEnd))) {
      const row = cells(text, at, lineEnd, separator);
      if (row.length !== header.length) break;
      found.push(trimmed(text, row[column] as Cell));
    }
    at = lineEnd + 1;
  }
  return found;
}

/** Returns the end of the line from `at` on; -1 when that is longer than `longest`. */
function endOfLine(text: string, at: number, longest: number): number {
  const next = text.slice(at, at + longest + 1).indexOf("\n");
  if (next >= 0) return at + next;
  return text.length - at <= longest ? text.length : -1;
}

function startOfLine(text: string, at: number): number {
  const from = Math.max(0, at - LONGEST_HEADER);
  const before = text.slice(from, at).lastIndexOf("\n");
  if (before >= 0) return from + before + 1;
  return from === 0 ? 0 : -1;
}

/** The name of a column is short and not a sentence. */
const NAME = /^[^.!?(){}=]{0,40}$/;

const isHeader = (text: string, header: readonly Cell[]): boolean =>
  header.every(({ start, end }, index) => {
    const name = text.slice(start, end).trim();
    return NAME.test(name) && (name !== "" || index === 0 || index === header.length - 1);
  });

/** The separator beside the name of a column; null when the word is in no line of cells. */
function separatorAt(text: string, start: number, end: number): string | null {
  let behind = end;
  while (behind < text.length && behind - end < LONGEST_NAME && !isBoundary(text, behind)) behind++;
  if (SEPARATORS.includes(text[behind] ?? "\n")) return text[behind] as string;
  let before = start;
  while (before > 0 && start - before < LONGEST_NAME && !isBoundary(text, before - 1)) before--;
  const sign = text[before - 1];
  return sign !== undefined && SEPARATORS.includes(sign) && (text[behind] === "\n" || text[behind] === "\r")
    ? sign
    : null;
}

const BOUNDARIES = Uint8Array.from({ length: 128 }, (_, code) =>
  Number(`${SEPARATORS}\n`.includes(String.fromCharCode(code))),
);
const isBoundary = (text: string, at: number): boolean => BOUNDARIES[text.charCodeAt(at)] === 1;

/** The cells of the line `[from, to)`; separators in double quotes belong to the cell. */
function cells(text: string, from: number, to: number, separator: string): Cell[] {
  spend((to - from) >> 1);
  const found: Cell[] = [];
  let start = from;
  let quoted = false;
  for (let at = from; at <= to; at++) {
    if (at < to && text[at] === '"') quoted = !quoted;
    else if (at === to || (text[at] === separator && !quoted)) {
      found.push({ start, end: at });
      start = at + 1;
    }
  }
  return found;
}

function trimmed(text: string, { start, end }: Cell): Cell {
  let from = start;
  let to = end;
  while (from < to && /[\s"'`]/.test(text[from] as string)) from++;
  while (to > from && /[\s"'`]/.test(text[to - 1] as string)) to--;
  return { start: from, end: to };
}

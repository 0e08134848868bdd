/**
 * Bytes in groups of hexadecimal digits, as tools print them: `6d:79:20`, `6d 79 20`, `0x6d, 0x79`, and the dumps of
 * xxd, hexdump and od, which have an offset before and the text after the bytes of a line.
 */
import { hexValue, matchEnd } from "./ascii.ts";
import { textOf } from "./bytes.ts";

/** Where a dump is, and the text of its bytes; null for data. */
interface Dump {
  start: number;
  end: number;
  text: string | null;
}

/** How the groups of a dump are written. */
interface Style {
  /** The beginning of every line but the first. */
  lineStart: RegExp;
  prefix: "" | "0x";
  /** Digits in one group. The last group of a line may be shorter. */
  width: number;
  joiner: string;
  /**
   * The lines are those of `hexdump` or `od`: with a gap in the middle, words of two bytes with the lower one first.
   */
  isListed: boolean;
}

const INDENT = /[ \t]*/y;
/** The offset of xxd. */
const OFFSET = /[ \t]*[0-9a-fA-F]{4,16}:[ \t]+/y;
/** The offset of hexdump and od, before shorter groups. */
const LISTED_OFFSET =
  /[ \t]*(?:[0-9a-fA-F]{6,16} {1,4}|[0-9a-fA-F]{4,16} {2,4})(?=(?:[0-9a-fA-F]{2}){1,2}(?![0-9a-zA-Z]))/y;
const OFFSET_BEFORE = /(?<=^|\n)[0-9a-fA-F]{4,16} {1,4}$/;
const LONGEST_OFFSET = 24;
/** What joins two groups; everywhere the same in one dump. */
const JOINER = /:|-|,[ \t]?|[ \t]/y;
const GAP = / {2}(?=[0-9a-fA-F]{2} )/y;
/** What may follow the bytes of a line: their text, a comma. Bounded, since a line may be as long as the whole text. */
const LINE_END = /(?:(?:[ \t]{2}|[ \t]?\|)[^\r\n]{0,160}|,?[ \t]{0,8})\r?\n/y;
/** What follows groups that are no part of something else, such as a date. */
const GROUPS_END = /[\s,|"'}\])]|$/y;
const WIDEST = 16;
const WORD_WIDTH = 4;

/**
 * Reads the dump whose first group, or the offset before it, is at `at`; null for none. Linear in the dump's length.
 */
export function readDump(text: string, at: number): Dump | null {
  if (!mayBegin(text, at)) return null;
  const before = OFFSET_BEFORE.exec(text.slice(Math.max(0, at - LONGEST_OFFSET), at));
  const start = at - (before?.[0].length ?? 0);
  const [first, lineStart] = firstGroup(text, start);
  const style = styleOf(text, first, lineStart);
  if (style === null) return null;
  const digits: string[] = [];
  let end = readGroups(text, first, style, digits);
  for (;;) {
    const nextLine = matchEnd(LINE_END, text, end);
    const from = nextLine < 0 ? -1 : matchEnd(lineStart, text, nextLine);
    if (from < 0) break;
    const line: string[] = [];
    const lineEnd = readGroups(text, from, style, line);
    if (line.length === 0 || matchEnd(GROUPS_END, text, lineEnd) < 0) break;
    for (const group of line) digits.push(group);
    end = lineEnd;
  }
  return { start, end, text: textOf(bytesOf(digits, style)) };
}

/** A quick check: most numbers are not joined with others, or are parts of identifiers and times. */
function mayBegin(text: string, at: number): boolean {
  const digitsFrom = text.startsWith("0x", at) ? at + 2 : at;
  const width = groupWidth(text, digitsFrom);
  if (width === 0) return false;
  const joiner = text[digitsFrom + width];
  if (joiner === "-") return width === 2;
  if (joiner === ":") return width === 2 || text[digitsFrom + width + 1] === " ";
  return joiner === " " || joiner === "," || joiner === "\t";
}

function firstGroup(text: string, at: number): [first: number, lineStart: RegExp] {
  for (const offset of [OFFSET, LISTED_OFFSET]) {
    const first = matchEnd(offset, text, at);
    if (first >= 0) return [first, offset];
  }
  return [at, INDENT];
}

function styleOf(text: string, first: number, lineStart: RegExp): Style | null {
  const prefix = text.startsWith("0x", first) ? "0x" : "";
  const joined = first + prefix.length + groupWidth(text, first + prefix.length);
  const width = joined - first - prefix.length;
  const joinerEnd = width === 0 ? -1 : matchEnd(JOINER, text, joined);
  if (joinerEnd < 0) return null;
  return { lineStart, prefix, width, joiner: text.slice(joined, joinerEnd), isListed: lineStart === LISTED_OFFSET };
}

/** Adds the groups of one line to `digits`, and returns where they end. */
function readGroups(text: string, from: number, style: Style, digits: string[]): number {
  const { prefix, width, joiner, isListed } = style;
  let end = from;
  for (let at = from; text.startsWith(prefix, at); ) {
    const start = at + prefix.length;
    const length = groupWidth(text, start);
    if (length === 0 || length > width) break;
    end = start + length;
    digits.push(text.slice(start, end));
    if (length < width) break;
    const gapEnd = isListed ? matchEnd(GAP, text, end) : -1;
    if (gapEnd < 0 && !text.startsWith(joiner, end)) break;
    at = gapEnd < 0 ? end + joiner.length : gapEnd;
  }
  return end;
}

function bytesOf(digits: readonly string[], { isListed, width }: Style): Buffer {
  const bytes = Buffer.from(digits.join(""), "hex");
  if (!isListed || width !== WORD_WIDTH || bytes.length % 2 !== 0) return bytes;
  bytes.swap16();
  // A single last byte is printed as a word, too.
  return bytes.at(-1) === 0 ? bytes.subarray(0, -1) : bytes;
}

/** Returns the number of digits of the group at `from`; 0 when there is no group, or not one of whole bytes. */
function groupWidth(text: string, from: number): number {
  let at = from;
  while (at - from <= WIDEST && hexValue(text.charCodeAt(at)) >= 0) at++;
  const next = text.charCodeAt(at) | 0x20;
  const width = at - from;
  return width > WIDEST || width % 2 !== 0 || (next >= 0x61 && next <= 0x7a) ? 0 : width;
}

/** One layer of Base64 or hexadecimal: a run that decodes to text is also read as that text. */
import { hexAt, hexValue, matchEnd } from "./ascii.ts";
import { canBeginUtf16, isTextByte, SHORTEST_BEYOND_ASCII, textOf } from "./bytes.ts";
import { readDump } from "./dump.ts";

const NO_DIGIT = 64;
/** The six bits of each Base64 digit, in either alphabet (RFC 4648 sections 4 and 5). */
const SEXTETS = Uint8Array.from({ length: 128 }, (_, code) => {
  const digit = String.fromCharCode(code);
  const bits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".indexOf(digit);
  return bits >= 0 ? bits : digit === "-" ? 62 : digit === "_" ? 63 : NO_DIGIT;
});
const sextet = (text: string, at: number): number => SEXTETS[text.charCodeAt(at)] ?? NO_DIGIT;

/** A shorter run cannot hide anything worth finding. */
const SHORTEST_ENCODED = 16;

/** An encoded run and its text. */
export interface Decoded {
  start: number;
  end: number;
  text: string;
}

/** A run of digits of Base64 or hexadecimal, or one line of it. */
interface Run {
  start: number;
  end: number;
}

/** Returns the runs around some tokens that encode text. `tokens` are the beginnings of the tokens, ascending. */
export function encodedRuns(text: string, tokens: readonly number[]): Decoded[] {
  const runs: Decoded[] = [];
  let readTo = 0;
  let linesReadTo = 0;
  for (const at of tokens) {
    if (at < readTo) continue;
    const run = runAt(text, at);
    readTo = run.end;
    let decoded: Decoded | null = null;
    if (run.end - run.start >= SHORTEST_ENCODED && beginsEncoded(text, run)) {
      // A line is read together with others at most once, so that the whole stays linear.
      const lines = run.start < linesReadTo ? [run] : linesFrom(text, run);
      linesReadTo = Math.max(linesReadTo, (lines.at(-1) as Run).end);
      decoded = decode(text, lines);
      if (lines.length > 2) decoded ??= decode(text, lines.slice(0, -1));
      if (lines.length > 1) decoded ??= decode(text, [run]);
    }
    // A run is no group of a dump, unless hyphens join the groups.
    if (decoded === null && (run.end - run.start < SHORTEST_ENCODED || text[at + 2] === "-")) {
      const dump = readDump(text, at);
      if (dump === null) continue;
      readTo = Math.max(readTo, dump.end);
      if (dump.text !== null) decoded = { ...dump, text: dump.text };
    }
    if (decoded === null) continue;
    readTo = Math.max(readTo, decoded.end);
    runs.push(decoded);
  }
  return runs;
}

function runAt(text: string, at: number): Run {
  let start = at;
  while (start > 0 && sextet(text, start - 1) !== NO_DIGIT) start--;
  return { start, end: runEnd(text, at) };
}

function runEnd(text: string, from: number): number {
  let end = from;
  while (end < text.length && sextet(text, end) !== NO_DIGIT) end++;
  return end;
}

/** Between two lines: a line break, also where it became a space, and an indent or a mark of quotation. */
const LINE_BREAK = /[ \t]*\r?\n[ \t>|#*]*| /y;
const PADDING = /={0,2}/y;
/** What follows the last line. */
const LINES_END = /={0,2}(?:[\s"'`<)\]}\\,;]|$)/y;

/** The lines that a tool made of one run: all as long as the first or the second one, but the last. */
function linesFrom(text: string, first: Run): Run[] {
  const lines = [first];
  let width = 0;
  for (let end = first.end; ; ) {
    const start = matchEnd(LINE_BREAK, text, end);
    if (start < 0) return lines;
    end = runEnd(text, start);
    const length = end - start;
    if (lines.length === 1) width = Math.max(first.end - first.start, length);
    if (length === 0 || length > width || matchEnd(LINES_END, text, end) < 0) return lines;
    lines.push({ start, end });
    if (length < width) return lines;
  }
}

/** Decodes the lines as one run; null when it is no text. */
function decode(text: string, lines: readonly Run[]): Decoded | null {
  const { start } = lines[0] as Run;
  const { end } = lines.at(-1) as Run;
  const digits =
    lines.length === 1 ? text.slice(start, end) : lines.map((line) => text.slice(line.start, line.end)).join("");
  const decoded = hexText(digits) ?? base64Text(digits);
  return decoded === null ? null : { start, end: matchEnd(PADDING, text, end), text: decoded };
}

/** The most digits that encode less than what may go beyond ASCII. */
const MOST_OF_ASCII = Math.floor(((SHORTEST_BEYOND_ASCII - 1) * 4) / 3);

function base64Text(digits: string): string | null {
  // Most short runs are words, which are told apart without a buffer.
  if (digits.length <= MOST_OF_ASCII && !isBase64OfAscii(digits)) return null;
  return textOf(Buffer.from(digits, "base64url"));
}

function isBase64OfAscii(digits: string): boolean {
  for (let at = 0; at + 4 <= digits.length; at += 4) {
    const [first, second, third] = [sextet(digits, at), sextet(digits, at + 1), sextet(digits, at + 2)];
    // The first bit of each of the three bytes.
    if (first >= 32 || (second & 8) !== 0 || (third & 2) !== 0) return false;
  }
  return true;
}

function hexText(run: string): string | null {
  const from = run.startsWith("0x") ? 2 : 0;
  if (run.length === from || (run.length - from) % 2 !== 0) return null;
  for (let at = from; at < run.length; at++) if (hexValue(run.charCodeAt(at)) < 0) return null;
  return textOf(Buffer.from(run.slice(from), "hex"));
}

/** How far a run is read before it is decoded: data that is not text nearly always shows within a few bytes. */
const TELLING_DIGITS = 24;

/** Whether a run begins like text in Base64 or hexadecimal. Nearly all runs are identifiers, which do not. */
function beginsEncoded(text: string, { start, end }: Run): boolean {
  const most = Math.min(end, start + TELLING_DIGITS);
  return beginsLikeBase64(text, start, most) || beginsLikeHex(text, start, most);
}

function beginsLikeBase64(text: string, start: number, end: number): boolean {
  for (let at = start; at + 4 <= end; at += 4) {
    const second = sextet(text, at + 1);
    const third = sextet(text, at + 2);
    const first = (sextet(text, at) << 2) | (second >> 4);
    const next = ((second & 15) << 4) | (third >> 2);
    if (!isTextByte(first) || !isTextByte(next) || !isTextByte(((third & 3) << 6) | sextet(text, at + 3)))
      return at === start && canBeginUtf16(first, next);
  }
  return true;
}

function beginsLikeHex(text: string, start: number, end: number): boolean {
  const from = text.startsWith("0x", start) ? start + 2 : start;
  for (let at = from; at + 2 <= end; at += 2) {
    const byte = hexAt(text, at, 2);
    if (byte < 0) return false;
    if (!isTextByte(byte)) return at <= from + 2 && canBeginUtf16(hexAt(text, from, 2), hexAt(text, from + 2, 2));
  }
  return true;
}

/** Reads a text that is written with escapes, and finds what was read in its source. */
import type { Span } from "../near.ts";
import { hexAt } from "../text/ascii.ts";
import type { Token } from "./token.ts";

const CONTROLS: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", b: "\b", f: "\f" };

interface Read {
  text: string;
  /** The offset in the source of each code unit of the text, and of the end. */
  starts: Uint32Array;
}

/** Returns the text that `source` stands for, and where its code units stand. */
export function unescaped(source: string, escapes: NonNullable<Token["escapes"]>): Read {
  const sign = escapes === "backslash" ? "\\" : '"';
  const starts = new Uint32Array(source.length + 1);
  const pieces: string[] = [];
  let length = 0;
  for (let at = 0; at < source.length; ) {
    const found = source.indexOf(sign, at);
    const next = found < 0 ? source.length : found;
    pieces.push(source.slice(at, next));
    while (at < next) starts[length++] = at++;
    if (at === source.length) break;
    starts[length++] = at;
    const unit = sign === "\\" && source[at + 1] === "u" ? hexAt(source, at + 2, 4) : -1;
    const second = source[at + 1] ?? "";
    pieces.push(unit >= 0 ? String.fromCharCode(unit) : sign === "\\" ? (CONTROLS[second] ?? second) : sign);
    at += unit >= 0 ? 6 : 2;
  }
  starts[length] = source.length;
  return { text: pieces.join(""), starts: starts.subarray(0, length + 1) };
}

/** Returns `text` as it is written with escapes. */
export function escaped(text: string, escapes: Token["escapes"]): string {
  if (escapes === undefined) return text;
  return escapes === "backslash" ? text.replace(/["\\]/g, "\\$&") : text.replaceAll('"', '""');
}

/** Returns the units of the read text to which `[start, end)` of its source belongs, also those of which it has a part. */
export function unitsBetween(starts: Uint32Array, start: number, end: number): Span {
  const first = firstAtOrAfter(starts, start);
  return { start: starts[first] === start ? first : first - 1, end: firstAtOrAfter(starts, end) };
}

function firstAtOrAfter(starts: Uint32Array, at: number): number {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((starts[middle] as number) < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

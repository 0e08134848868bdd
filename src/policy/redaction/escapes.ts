/** Reads a text that is written with escapes, and finds what was read in its source. */
import type { Place } from "../near.ts";
import { hexAt } from "../text/ascii.ts";
import type { Token } from "./token.ts";

const CONTROLS: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", b: "\b", f: "\f" };

interface Read {
  text: string;
  /** The offset in the source of each code unit of the text, and of the end. */
  starts: readonly number[];
}

/** Returns the text that `source` stands for, and where its code units stand. */
export function unescaped(source: string, escapes: NonNullable<Token["escapes"]>): Read {
  const sign = escapes === "backslash" ? "\\" : '"';
  let text = "";
  const starts: number[] = [];
  for (let at = 0; at < source.length; ) {
    const next = source[at + 1] ?? "";
    const unit = next === "u" ? hexAt(source, at + 2, 4) : -1;
    const length = source[at] !== sign ? 1 : escapes === "backslash" && unit >= 0 ? 6 : 2;
    if (length === 1) text += source[at];
    else if (length === 6) text += String.fromCharCode(unit);
    else text += escapes === "backslash" ? (CONTROLS[next] ?? next) : sign;
    starts.push(at);
    at += length;
  }
  starts.push(source.length);
  return { text, starts };
}

/** Returns `text` as it is written with escapes. */
export function escaped(text: string, escapes: Token["escapes"]): string {
  if (escapes === undefined) return text;
  return escapes === "backslash" ? text.replace(/["\\]/g, "\\$&") : text.replaceAll('"', '""');
}

/** Returns the units of the read text to which `[start, end)` of its source belongs, also those of which it has a part. */
export function unitsBetween(starts: readonly number[], start: number, end: number): Place {
  const first = firstAtOrAfter(starts, start);
  return { start: starts[first] === start ? first : first - 1, end: firstAtOrAfter(starts, end) };
}

function firstAtOrAfter(starts: readonly number[], at: number): number {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((starts[middle] as number) < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

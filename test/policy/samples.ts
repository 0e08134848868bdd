/** Makes tokens for the formats of the table, so that this repository contains no real-looking token. */
import { numbers } from "./random.ts";

const ALPHABETS: Readonly<Record<string, string>> = {
  d: "0123456789",
  h: "0123456789abcdef",
  H: "0123456789abcdefABCDEF",
  l: "abcdefghijklmnopqrstuvwxyz",
  u: "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
  a: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
  t: "abcdefghijklmnopqrstuvwxyz0123456789",
  s: "ABCDEFGHJKLMNPQRSTUVWXYZ234567",
  n: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
  w: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
  b: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
  x: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
};
const ITEM = /'([^']*)'|(U)|([a-zA-Z])(?:\{(\d+)(?:,\d*)?\})?|=\{\d+,\d+\}|([^a-zA-Z'?])|\?/g;

/** A body of the least length that the table asks for. */
export function sampleBody(body: string, seed: number): string {
  const next = numbers(seed);
  const pick = (alphabet: string) => alphabet[next() % alphabet.length] as string;
  const run = (alphabet: string, length: number) => Array.from({ length }, () => pick(alphabet)).join("");
  let sample = "";
  for (const [, quoted, uuid, alphabet, length, literal] of body.matchAll(ITEM)) {
    if (quoted !== undefined) sample += quoted;
    else if (uuid) sample += [8, 4, 4, 4, 12].map((size) => run(ALPHABETS.h as string, size)).join("-");
    else if (alphabet) {
      const made = run(ALPHABETS[alphabet] as string, Number(length ?? 1));
      // A token without a digit is rare, and taken for words when it is short.
      sample += "nwbxtsHh".includes(alphabet) ? `7${made.slice(1)}` : made;
    } else if (literal) sample += literal;
  }
  return sample;
}

/** Documents that are almost genuine. */
import type { Seeded } from "../seeded.ts";

const INTERESTING = [
  "",
  "0",
  "-1",
  "1e400",
  "9007199254740993",
  '"',
  "\\",
  "\\ud800",
  "\u0000",
  "\n",
  "\n\n",
  " ",
  "{",
  "}",
  "[",
  "]",
  ":",
  ",",
  "null",
  "— ",
  "é",
  "\ufeff",
  "__proto__",
  "=",
  "+",
  "%zz",
];

/** A text with a few changes: characters, pieces and lines that are taken away, repeated, exchanged or foreign. */
export function mutateText(random: Seeded, text: string): string {
  let changed = text;
  for (
    let count = random.weighted([
      [6, 1],
      [2, 2],
      [1, 5],
    ]);
    count > 0;
    count--
  )
    changed = mutateOnce(random, changed);
  return changed;
}

function mutateOnce(random: Seeded, text: string): string {
  const at = random.below(text.length + 1);
  const end = Math.min(text.length, at + random.pick([1, 1, 2, 8, 80]));
  const [before, piece, after] = [text.slice(0, at), text.slice(at, end), text.slice(end)];
  switch (random.below(9)) {
    case 0:
      return before + after;
    case 1:
      return before + piece + piece + after;
    case 2:
      return before + random.pick(INTERESTING) + after;
    case 3:
      return before + random.pick(INTERESTING) + piece + after;
    case 4:
      return before + String.fromCharCode(random.below(random.pick([128, 65_536]))) + text.slice(at + 1);
    case 5:
      return before + flipped(piece, random) + after;
    case 6:
      return before;
    case 7:
      return withLines(random, text);
    default: {
      const from = random.below(text.length + 1);
      return before + text.slice(from, from + random.below(40)) + after;
    }
  }
}

/** The first character replaced by another one of its kind, so the surrounding text stays well-formed. */
function flipped(piece: string, random: Seeded): string {
  const kinds = ["0123456789", "abcdef", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "ghijklmnopqrstuvwxyz"];
  const kind = kinds.find((one) => one.includes(piece[0] ?? " "));
  return kind === undefined ? piece.toUpperCase() : random.pick([...kind]) + piece.slice(1);
}

function withLines(random: Seeded, text: string): string {
  const lines = text.split("\n");
  const [one, other] = [random.below(lines.length), random.below(lines.length)];
  const line = lines[one] as string;
  switch (random.below(3)) {
    case 0:
      lines.splice(one, 1);
      break;
    case 1:
      lines.splice(other, 0, line);
      break;
    default:
      lines[one] = lines[other] as string;
      lines[other] = line;
  }
  return lines.join("\n");
}

/** Bytes with a few changes; they may no longer be UTF-8. */
export function mutateBytes(random: Seeded, text: string): Uint8Array {
  const bytes = Buffer.from(random.chance(0.7) ? mutateText(random, text) : text);
  if (random.chance(0.4) && bytes.length > 0) bytes[random.below(bytes.length)] = random.below(256);
  return bytes;
}

/** A text in pieces, cut anywhere. */
export function* pieces<T extends { length: number; slice(from: number, to: number): T }>(
  random: Seeded,
  whole: T,
): Generator<T> {
  for (let at = 0; at < whole.length; ) {
    const end = Math.min(whole.length, at + random.pick([1, 3, 50, 1_000, 100_000]));
    yield whole.slice(at, end);
    at = end;
  }
}

/** The text of a JSON value that may be odd: repeated members, escapes, large numbers, deep nesting. */
export function randomJson(random: Seeded, depth = 0): string {
  const space = () => (random.chance(0.1) ? random.pick([" ", "\n", "\t "]) : "");
  const list = (make: () => string) =>
    Array.from({ length: random.below(4) }, () => space() + make() + space()).join(",");
  const inner = () => randomJson(random, depth + 1);
  const kind = depth > 5 ? random.below(3) : random.below(6);
  switch (kind) {
    case 0:
      return random.pick(["null", "true", "false"]);
    case 1:
      return random.pick([
        "0",
        "-0",
        "1",
        "-1.5",
        "1e3",
        "1E400",
        "0.1",
        "9007199254740991",
        "9007199254740993",
        "1e21",
        "123456789012345678901",
        "1.0",
        "4.5e-7",
      ]);
    case 2:
      return randomString(random);
    case 3:
      return random.chance(0.02) ? "[".repeat(200) + "]".repeat(200) : `[${list(inner)}]`;
    default:
      return `{${list(() => `${randomString(random)}${space()}:${space()}${inner()}`)}}`;
  }
}

const STRINGS = [
  "a",
  "b",
  "",
  "é",
  "🙂",
  "\\n",
  "\\u0061",
  "\\\\",
  '\\"',
  ":",
  "\\ud83d\\ude00",
  "\\ud83d",
  "{",
  "]",
  "__proto__",
  "\\/",
  "constructor",
];

const randomString = (random: Seeded): string =>
  `"${Array.from({ length: random.below(3) }, () => random.pick(STRINGS)).join("")}"`;

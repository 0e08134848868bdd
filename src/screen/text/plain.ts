/** The plain view: compatible Unicode forms become their plain ones, invisible characters go. */
import { readings } from "../words/lists.ts";
import { identity, type View, ViewBuilder } from "./view.ts";

/** Anything outside ASCII. */
export const NOT_ASCII = /\P{ASCII}/u;
/** Zero-width and format characters, soft hyphen, variation selectors, tags: nothing a reader sees. */
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/u;
const ACCENTS_FIRST = 0x300;
const ACCENTS_LAST = 0x36f;
const DIGIT = /\p{Nd}/u;

/** Signs that stand for a plain one and that NFKC leaves alone. */
const PLAIN = readings("signs");

/** 1 for each code unit of the basic plane that is known to stay. */
const stays = new Uint8Array(0x10000);
/** The replacements of other code units, bounded by the number of existing characters and small in practice. */
const replacements = new Map<number, string>();

/** The plain view of `text`; the text itself when it is plain already. */
export function plainView(text: string): View {
  if (!NOT_ASCII.test(text)) return identity(text);
  const builder = new ViewBuilder(text);
  for (let at = 0; at < text.length; ) {
    if (text.charCodeAt(at) < 0x80) {
      at++;
      continue;
    }
    const code = text.codePointAt(at) as number;
    const end = at + (code > 0xffff ? 2 : 1);
    const plain = plainOf(code);
    if (plain !== undefined) builder.replace(at, end, plain);
    at = end;
  }
  return builder.build() ?? identity(text);
}

/** Returns the text that a character is read as; undefined when it stays. */
function plainOf(code: number): string | undefined {
  if (stays[code] === 1) return undefined;
  const replacement = replacements.get(code);
  if (replacement !== undefined) return replacement;
  if (code > 0xffff && !CHANGING_PLANES.some(([first, last]) => code >= first && code <= last)) return undefined;
  const char = String.fromCodePoint(code);
  const plain = compute(code, char);
  if (plain === char) {
    stays[code] = 1;
    return undefined;
  }
  replacements.set(code, plain);
  return plain;
}

/** Beyond the basic plane only these change: styled letters and digits, enclosed letters, invisible characters. */
const CHANGING_PLANES: readonly (readonly [number, number])[] = [
  [0x1d400, 0x1d7ff],
  [0x1f100, 0x1f1ff],
  [0x1fbf0, 0x1fbf9],
  [0xe0000, 0xe0fff],
];

function compute(code: number, char: string): string {
  if (INVISIBLE.test(char) || (code >= ACCENTS_FIRST && code <= ACCENTS_LAST)) return "";
  const mapped = PLAIN.get(char);
  if (mapped !== undefined) return mapped;
  if (DIGIT.test(char)) return String(decimalValue(code));
  const compatible = char.normalize("NFKC");
  // Only ASCII results count: accented and other letters do not change.
  return NOT_ASCII.test(compatible) ? char : compatible;
}

/** The decimal digits of every script are runs of ten (Unicode core specification, 4.6). */
function decimalValue(code: number): number {
  let zero = code;
  while (code - zero < 9 && DIGIT.test(String.fromCodePoint(zero - 1))) zero--;
  // Adjacent runs (the mathematical digits) start at known multiples.
  return code >= 0x1d7ce && code <= 0x1d7ff ? (code - 0x1d7ce) % 10 : (code - zero) % 10;
}

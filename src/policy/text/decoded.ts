/** The decoded view: percent-, HTML- and JSON-escapes undone, one layer of each, in one pass. */
import { type View, ViewBuilder } from "./view.ts";

/** One escape of any kind. Every part is bounded. */
const ESCAPE =
  /%([0-9A-Fa-f]{2})|&(?:#(\d{1,7})|#[xX]([0-9A-Fa-f]{1,6})|([A-Za-z]{2,8}));|\\{1,4}(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|(["'/`])|([nrt]))/g;
/** Quick look: no escape without one of these. */
const HINT = /%[0-9A-Fa-f]{2}|&[#A-Za-z]|\\[ux"'/`nrt]/;

const NAMED: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
  commat: "@",
  colon: ":",
  equals: "=",
  period: ".",
  sol: "/",
  lowbar: "_",
  hyphen: "-",
  dash: "-",
  plus: "+",
  num: "#",
  lpar: "(",
  rpar: ")",
  comma: ",",
  semi: ";",
  dollar: "$",
  excl: "!",
  ast: "*",
  percnt: "%",
  shy: "",
  tab: "\t",
  newline: "\n",
  minus: "-",
};

/** The view with escapes undone, or null when there are none. */
export function decodedView(text: string): View | null {
  if (!HINT.test(text)) return null;
  const builder = new ViewBuilder();
  let kept = 0;
  for (const match of text.matchAll(ESCAPE)) {
    const plain = decode(match);
    if (plain === null) continue;
    builder.copy(text, kept, match.index);
    kept = match.index + match[0].length;
    builder.add(plain, match.index, kept);
  }
  if (kept === 0) return null;
  builder.copy(text, kept, text.length);
  return builder.build();
}

function decode(match: RegExpMatchArray): string | null {
  const [, percent, decimal, hex, named, unicode, byte, quote, control] = match;
  if (quote !== undefined) return quote;
  if (control !== undefined) return control === "t" ? "\t" : "\n";
  if (named !== undefined) return NAMED[named.toLowerCase()] ?? null;
  if (decimal !== undefined) return character(Number(decimal));
  const digits = percent ?? hex ?? unicode ?? byte;
  return digits === undefined ? null : character(Number.parseInt(digits, 16));
}

function character(code: number): string | null {
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : null;
}

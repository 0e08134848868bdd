/** The decoded view: percent-, HTML- and JSON-escapes undone, one layer of each, in one pass. */
import { readings } from "../words/lists.ts";
import { isDigit, matchAt } from "./ascii.ts";
import { type View, ViewBuilder } from "./view.ts";

const PERCENT = 0x25;
const AMPERSAND = 0x26;
const BACKSLASH = 0x5c;
/** Quick look: no escape without one of these. */
const HINT = /[%&\\]/;
const ENTITY = /&(?:#(\d{1,7})|#[xX]([0-9A-Fa-f]{1,6})|([A-Za-z]{2,8}));/y;
/** A backslash may itself be escaped, a few times over. */
const MOST_BACKSLASHES = 4;

/** What the named character references of HTML stand for. */
const NAMED = readings("entities");
const SIMPLE: Readonly<Record<string, string>> = { '"': '"', "'": "'", "/": "/", "`": "`", n: "\n", r: "\n", t: "\t" };

/** An escape that was undone. */
interface Escape {
  plain: string;
  end: number;
}

/** The view with escapes undone, or null when there are none. */
export function decodedView(text: string): View | null {
  if (!HINT.test(text)) return null;
  const builder = new ViewBuilder(text);
  for (let at = 0; at < text.length; ) {
    const found = escapeAt(text, at);
    if (found === null) {
      at++;
    } else {
      builder.replace(at, found.end, found.plain);
      at = found.end;
    }
  }
  return builder.build();
}

function escapeAt(text: string, at: number): Escape | null {
  const code = text.charCodeAt(at);
  if (code === PERCENT) return byHex(text, at + 1, 2);
  if (code === BACKSLASH) return backslashEscape(text, at);
  return code === AMPERSAND ? entityEscape(text, at) : null;
}

function backslashEscape(text: string, at: number): Escape | null {
  let end = at + 1;
  while (end - at < MOST_BACKSLASHES && text.charCodeAt(end) === BACKSLASH) end++;
  const kind = text[end];
  if (kind === undefined) return null;
  if (kind === "u" || kind === "x") return byHex(text, end + 1, kind === "u" ? 4 : 2);
  const plain = SIMPLE[kind];
  return plain === undefined ? null : { plain, end: end + 1 };
}

function entityEscape(text: string, at: number): Escape | null {
  const match = matchAt(ENTITY, text, at);
  if (!match) return null;
  const [, decimal, hexadecimal, named] = match;
  const plain =
    named !== undefined
      ? NAMED.get(named.toLowerCase())
      : character(decimal ? Number(decimal) : Number.parseInt(hexadecimal as string, 16));
  return plain === undefined ? null : { plain, end: ENTITY.lastIndex };
}

function character(code: number): string | undefined {
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : undefined;
}

/** The escape that ends with exactly `count` hex digits, which are at `at`. */
function byHex(text: string, at: number, count: number): Escape | null {
  let value = 0;
  for (let i = at; i < at + count; i++) {
    const code = text.charCodeAt(i);
    const letter = code | 0x20;
    const digit = isDigit(code) ? code - 0x30 : letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
    if (digit < 0) return null;
    value = value * 16 + digit;
  }
  return value > 0 ? { plain: String.fromCharCode(value), end: at + count } : null;
}

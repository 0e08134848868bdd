/** The decoded view: percent-, HTML- and JSON-escapes undone, one layer of each, in one pass. */
import { readings } from "../words/lists.ts";
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
  const builder = new ViewBuilder();
  let kept = 0;
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at);
    const found = escapeAt(text, at, code);
    if (found === null) {
      at++;
      continue;
    }
    builder.copy(text, kept, at);
    builder.add(found.plain, at, found.end);
    kept = at = found.end;
  }
  if (kept === 0) return null;
  builder.copy(text, kept, text.length);
  return builder.build();
}

function escapeAt(text: string, at: number, code: number): Escape | null {
  if (code === PERCENT) return percentEscape(text, at);
  if (code === BACKSLASH) return backslashEscape(text, at);
  return code === AMPERSAND ? entityEscape(text, at) : null;
}

function percentEscape(text: string, at: number): Escape | null {
  const value = hex(text, at + 1, 2);
  return value > 0 ? { plain: String.fromCharCode(value), end: at + 3 } : null;
}

function backslashEscape(text: string, at: number): Escape | null {
  let end = at + 1;
  while (end - at < MOST_BACKSLASHES && text.charCodeAt(end) === BACKSLASH) end++;
  const kind = text[end];
  if (kind === undefined) return null;
  if (kind === "u" || kind === "x") {
    const digits = kind === "u" ? 4 : 2;
    const value = hex(text, end + 1, digits);
    return value > 0 ? { plain: String.fromCharCode(value), end: end + 1 + digits } : null;
  }
  const plain = SIMPLE[kind];
  return plain === undefined ? null : { plain, end: end + 1 };
}

function entityEscape(text: string, at: number): Escape | null {
  ENTITY.lastIndex = at;
  const match = ENTITY.exec(text);
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

/** The value of exactly `count` hex digits, or -1. */
function hex(text: string, at: number, count: number): number {
  let value = 0;
  for (let i = at; i < at + count; i++) {
    const code = text.charCodeAt(i) | 0x20;
    const digit = code >= 0x30 && code <= 0x39 ? code - 0x30 : code >= 0x61 && code <= 0x66 ? code - 0x57 : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

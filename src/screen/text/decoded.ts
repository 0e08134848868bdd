/** The decoded view: percent-, HTML-, program- and quoted-printable escapes undone, one layer of each, in one pass. */
import { readings } from "../words/lists.ts";
import { hexAt, matchAt, matchEnd } from "./ascii.ts";
import { type View, ViewBuilder } from "./view.ts";

const PERCENT = 0x25;
const AMPERSAND = 0x26;
const EQUALS = 0x3d;
const SPACE = 0x20;
const ZERO = 0x30;
const THREE = 0x33;
const FOUR = 0x34;
const LETTER_D = 0x64;
const BACKSLASH = 0x5c;
/** A quick check: only quoted-printable text has escapes without one of these. */
const HINT = /[%&\\]/;
const ENTITY = /&(?:#(\d{1,7});?|#[xX]([0-9A-Fa-f]{1,6});?|([A-Za-z]{2,8});)/y;
/** A backslash may itself be escaped, a few times over. */
const MOST_BACKSLASHES = 4;
/** A code point in braces (JavaScript, Rust, Perl), in eight digits (Python, C), or a byte in octal. */
const CODE_POINT = /[ux]\{([0-9A-Fa-f]{1,6})\}|U([0-9A-Fa-f]{8})|([0-3][0-7]{2})/y;

/**
 * Sequences that only quoted-printable text has (RFC 2045 section 6.7): a soft line break, an escaped `=` or `@`, two
 * bytes.
 */
const QUOTED_PRINTABLE = /=(?:\r?\n|\\r\\n|\\n|3[Dd]|(?<=[A-Za-z0-9]=)40[A-Za-z]|[0-9A-Fa-f]{2}=[0-9A-Fa-f]{2})/y;
const SOFT_BREAK = /=(?:\r?\n|\\r\\n|\\n)/y;

/** What the named character references of HTML stand for. */
const NAMED = readings("entities");
const SIMPLE: Readonly<Record<string, string>> = { '"': '"', "'": "'", "/": "/", "`": "`", n: "\n", r: "\n", t: "\t" };

/** An escape that was undone. */
interface Escape {
  plain: string;
  end: number;
}

/** Whether a text is quoted-printable. */
export function isQuotedPrintable(text: string): boolean {
  for (let at = text.indexOf("="); at >= 0; at = text.indexOf("=", at + 1)) {
    // Assignments are frequent, and nearly all of them are ruled out here.
    if (isMark(text.charCodeAt(at + 1), text.charCodeAt(at + 2)) || text.charCodeAt(at + 3) === EQUALS) {
      if (matchEnd(QUOTED_PRINTABLE, text, at) >= 0) return true;
    }
  }
  return false;
}

/** Whether `=` and two code units may be a soft line break, `=3D` or `=40`. */
function isMark(first: number, second: number): boolean {
  if (first === THREE) return (second | 32) === LETTER_D;
  return first === FOUR ? second === ZERO : first < SPACE || first === BACKSLASH;
}

/** The view with escapes undone, or null when there are none. */
export function decodedView(text: string): View | null {
  const quotes = isQuotedPrintable(text);
  if (!quotes && !HINT.test(text)) return null;
  const builder = new ViewBuilder(text);
  for (let at = 0; at < text.length; ) {
    const found = escapeAt(text, at, quotes);
    if (found === null) {
      at++;
    } else {
      builder.replace(at, found.end, found.plain);
      at = found.end;
    }
  }
  return builder.build();
}

function escapeAt(text: string, at: number, quotes: boolean): Escape | null {
  const code = text.charCodeAt(at);
  if (code === PERCENT) return bytesAt(text, at, "%");
  if (code === EQUALS && quotes) return quotedAt(text, at);
  if (code === BACKSLASH) return backslashEscape(text, at);
  return code === AMPERSAND ? entityEscape(text, at) : null;
}

function quotedAt(text: string, at: number): Escape | null {
  const end = matchEnd(SOFT_BREAK, text, at);
  return end < 0 ? bytesAt(text, at, "=") : { plain: "", end };
}

function backslashEscape(text: string, at: number): Escape | null {
  let end = at + 1;
  while (end - at < MOST_BACKSLASHES && text.charCodeAt(end) === BACKSLASH) end++;
  const kind = text[end];
  if (kind === undefined) return null;
  const simple = SIMPLE[kind];
  if (simple !== undefined) return { plain: simple, end: end + 1 };
  const match = matchAt(CODE_POINT, text, end);
  if (match !== null) {
    const [, braced, long, octal] = match;
    const plain = character(Number.parseInt(octal ?? braced ?? (long as string), octal === undefined ? 16 : 8));
    return plain === undefined ? null : { plain, end: CODE_POINT.lastIndex };
  }
  if (kind === "x") return bytesAt(text, at, text.slice(at, end + 1));
  const unit = kind === "u" ? hexAt(text, end + 1, 4) : 0;
  return unit > 0 ? { plain: String.fromCharCode(unit), end: end + 5 } : null;
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

const character = (code: number): string | undefined =>
  code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : undefined;

/** The escaped byte at `at`, or the escaped bytes of one character in UTF-8; `mark` is what each begins with. */
function bytesAt(text: string, at: number, mark: string): Escape | null {
  const size = mark.length + 2;
  const first = hexAt(text, at + mark.length, 2);
  if (first <= 0) return null;
  const one = { plain: String.fromCharCode(first), end: at + size };
  const count = first < 0xc2 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (count === 1) return one;
  const bytes = [first];
  for (let next = at + size; bytes.length < count && text.startsWith(mark, next); next += size) {
    bytes.push(Math.max(0, hexAt(text, next + mark.length, 2)));
  }
  const plain = Buffer.from(bytes).toString("utf8");
  return bytes.length < count || plain.includes("\ufffd") ? one : { plain, end: at + count * size };
}

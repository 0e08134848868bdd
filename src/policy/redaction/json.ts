/** The tokens of JSON (RFC 8259): a whole text, the lines of a text, and JSON inside other text. */
import type { Token } from "./token.ts";

const TOKEN = /"((?:[^"\\]|\\.)*)"(\s*:)?|-?\d[\d.eE+-]*/gs;
const BEGINS = /^\ufeff?\s*[[{"\-\d]/;
const BYTE_ORDER_MARK = "\ufeff";

/** Returns the tokens of JSON that begins at `offset` of another text. */
function tokensOf(json: string, offset: number): Token[] {
  const tokens: Token[] = [];
  for (const { index, 0: whole, 1: said, 2: colon } of json.matchAll(TOKEN)) {
    const start = offset + index;
    if (said === undefined) tokens.push({ start, end: start + whole.length, kind: "number" });
    else if (colon !== undefined)
      tokens.push({ start: start + 1, end: start + 1 + said.length, kind: "name", escapes: "backslash" });
    else tokens.push({ start: start + 1, end: start + 1 + said.length, kind: "text", escapes: "backslash" });
  }
  return tokens;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Returns the tokens of a text that is JSON or has JSON in each line; null for another text. */
export function jsonTokens(text: string): Token[] | null {
  if (!BEGINS.test(text)) return null;
  const json = text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
  if (isJson(json)) return tokensOf(json, text.length - json.length);
  if (!json.includes("\n")) return null;
  const lines = json.split("\n").filter((line) => line.trim() !== "");
  return lines.every((line) => /^\s*[[{]/.test(line) && isJson(line))
    ? tokensOf(json, text.length - json.length)
    : null;
}

/** A line that ends with JSON, or lines of which the first begins with a bracket and the last with one that closes it. */
const EMBEDDED = /^[ \t]*[[{][^\n]*\n(?:[^\n]*\n)*?[ \t]*[\]}][,;]?[ \t]*\r?$|[[{][^\n]*[\]}]/gm;

/** Returns the tokens of JSON inside a text, and what is around it; null when there is none. */
export function embeddedTokens(text: string): Token[] | null {
  const tokens: Token[] = [];
  let at = 0;
  for (const { index, 0: candidate } of text.matchAll(EMBEDDED)) {
    const json = candidate.replace(/[,;]?[ \t\r]*$/, "");
    if (!isJson(json)) continue;
    if (index > at) tokens.push({ start: at, end: index, kind: "text" });
    tokens.push(...tokensOf(json, index));
    at = index + json.length;
  }
  if (at === 0) return null;
  if (at < text.length) tokens.push({ start: at, end: text.length, kind: "text" });
  return tokens;
}

/** The tokens of JSON (RFC 8259): a whole text, the lines of a text, and JSON inside other text. */
import { isDigit } from "../text/ascii.ts";
import type { Token } from "./token.ts";

const BYTE_ORDER_MARK = "\ufeff";
const BEGINS = /^\s*[[{"\-\d]/;
const MEMBER_SIGN = /\s*:/y;
const NUMBER = /-?\d[\d.eE+-]*/y;
const QUOTE = 0x22;
const MINUS = 0x2d;
const BACKSLASH = 0x5c;

/** Adds the tokens of valid JSON, which begins at `offset` of another text. */
function addTokens(tokens: Token[], json: string, offset: number): void {
  for (let at = 0; at < json.length; ) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) {
      const end = endOfString(json, at + 1);
      MEMBER_SIGN.lastIndex = end + 1;
      const kind = MEMBER_SIGN.test(json) ? "name" : "text";
      tokens.push({ start: offset + at + 1, end: offset + end, kind, escapes: "backslash" });
      at = end + 1;
    } else if (code === MINUS || isDigit(code)) {
      NUMBER.lastIndex = at;
      NUMBER.test(json);
      tokens.push({ start: offset + at, end: offset + NUMBER.lastIndex, kind: "number" });
      at = NUMBER.lastIndex;
    } else at++;
  }
}

function endOfString(json: string, from: number): number {
  let end = json.indexOf('"', from);
  while (isEscaped(json, end)) end = json.indexOf('"', end + 1);
  return end;
}

function isEscaped(json: string, at: number): boolean {
  let before = at;
  while (json.charCodeAt(before - 1) === BACKSLASH) before--;
  return (at - before) % 2 === 1;
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
  const json = text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
  if (!BEGINS.test(json)) return null;
  const isLine = (line: string) => /^\s*(?:[[{]|$)/.test(line) && (line.trim() === "" || isJson(line));
  if (!isJson(json) && !(json.includes("\n") && json.split("\n").every(isLine))) return null;
  const tokens: Token[] = [];
  addTokens(tokens, json, text.length - json.length);
  return tokens;
}

/** The lines of a text that are searched for JSON. */
const MOST_LINES = 20_000;

/** Returns the tokens of JSON inside a text, and what is around it; null when there is none. */
export function embeddedTokens(text: string): Token[] | null {
  const tokens: Token[] = [];
  let last = 0;
  let start = 0;
  for (let lines = 0; start < text.length && lines < MOST_LINES; lines++) {
    const found = jsonAt(text, start);
    start = found.next;
    if (found.json === null) continue;
    const { at, json } = found;
    if (at > last) tokens.push({ start: last, end: at, kind: "text" });
    addTokens(tokens, json, at);
    last = at + json.length;
  }
  if (last === 0) return null;
  if (last < text.length) tokens.push({ start: last, end: text.length, kind: "text" });
  return tokens;
}

type JsonSpan = { json: string; at: number; next: number } | { json: null; next: number };

/** A line that closes what a line before it opened. */
const CLOSING = /^[\]}]/m;

/** The JSON in the line that begins at `start`, or in the lines from there to the next one that begins with a bracket. */
function jsonAt(text: string, start: number): JsonSpan {
  const newline = text.indexOf("\n", start);
  const end = newline < 0 ? text.length : newline;
  const line = text.slice(start, end);
  const close = Math.max(line.lastIndexOf("}"), line.lastIndexOf("]")) + 1;
  const opens = [line.search(/[[{]/), line.indexOf("{")].filter(
    (open, index, all) => open >= 0 && all.indexOf(open) === index,
  );
  for (const open of opens) {
    const json = line.slice(open, close);
    if (open < close && isJson(json)) return { json, at: start + open, next: end + 1 };
  }
  if (opens[0] !== 0) return { json: null, next: end + 1 };
  const rest = text.slice(end + 1).search(CLOSING);
  if (rest < 0) return { json: null, next: text.length };
  const last = end + 1 + rest + 1;
  const json = text.slice(start, last);
  return isJson(json) ? { json, at: start, next: last } : { json: null, next: last };
}

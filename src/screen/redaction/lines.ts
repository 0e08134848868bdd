/** The tokens of texts in lines: tables (CSV, RFC 4180), and members (environment files, INI, YAML). */
import type { Token } from "./token.ts";

const SEPARATORS = [",", ";", "\t", "|"] as const;
const FEWEST_ROWS = 2;

/** Returns the cells of a text that is a table, with the first line as names; null for another text. */
export function tableTokens(text: string): Token[] | null {
  const header = text.slice(0, text.indexOf("\n") + 1);
  for (const separator of SEPARATORS) {
    const rows = header.includes(separator) ? rowsOf(text, separator) : null;
    if (rows === null) continue;
    const names = (rows[0] as Token[]).map((cell): Token => ({ ...cell, kind: "name" }));
    return [...names, ...rows.slice(1).flat()];
  }
  return null;
}

const NEWLINE = 0x0a;
const QUOTED = /"((?:[^"]|"")*)"[ \t]*(?=[,;\t|\r\n]|$)/y;

/** Returns the cells of each line, without spaces around them; null when the lines have not the same number. */
function rowsOf(text: string, separator: string): Token[][] | null {
  const rows: Token[][] = [];
  let row: Token[] = [];
  let at = 0;
  while (at <= text.length) {
    const { cell, end } = cellAt(text, at, separator);
    row.push(cell);
    at = end + 1;
    if (rows[0] !== undefined && row.length > rows[0].length) return null;
    if (text[end] === separator) continue;
    const isBlank = row.length === 1 && cell.start === cell.end;
    if (!isBlank && row.length !== (rows[0] ?? row).length) return null;
    if (!isBlank) rows.push(row);
    row = [];
  }
  return rows.length >= FEWEST_ROWS && (rows[0] as Token[]).length > 1 ? rows : null;
}

/** The cell at `at`, and where the sign or the line's end behind it is. A cell in quotes may have several lines. */
function cellAt(text: string, at: number, separator: string): { cell: Token; end: number } {
  let start = at;
  while (text[start] === " " || (text[start] === "\t" && separator !== "\t")) start++;
  QUOTED.lastIndex = start;
  const quoted = text[start] === '"' ? QUOTED.exec(text)?.[1] : undefined;
  if (quoted !== undefined) {
    const cell: Token = { start: start + 1, end: start + 1 + quoted.length, kind: "text", escapes: "doubled" };
    return { cell, end: text[QUOTED.lastIndex] === "\r" ? QUOTED.lastIndex + 1 : QUOTED.lastIndex };
  }
  const code = separator.charCodeAt(0);
  let end = start;
  for (let at = start; at <= text.length; at++) {
    const next = text.charCodeAt(at);
    end = at;
    if (next === code || next === NEWLINE) break;
  }
  return { cell: { start, end: start + text.slice(start, end).trimEnd().length, kind: "text" }, end };
}

/** Lines that are no members: comments, the marks and headings of files. */
const NO_MEMBER = /^(?:$|[#;]|\/\/|(?:---|\.\.\.)$|\[[^\]]*\]$)/;
const NAME =
  /^([ \t]*(?:- +)*(?:export |set |\$env:)?["']?)([\p{L}_$][\p{L}\p{M}\d_.$ -]{0,60}?)(["']?[ \t]{0,8}(?:=[ \t]{0,8}|:[ \t]{1,8}|:$))/u;
const ITEM = /^[ \t]*(?:- +)+/;
const QUOTED_VALUE = /"((?:[^"\\]|\\[\s\S])*)"|'([^'\n]*)'/y;
/** No settings file has more names and values; of other texts with more, a few milliseconds are read. */
const MOST_MEMBERS = 20_000;
const COMMENT = /^[ \t]*(?:#.*)?$/;

/** Returns names and values of a text whose lines are members; null for another text, and for one line with a colon. */
export function memberTokens(text: string): Token[] | null {
  const tokens: Token[] = [];
  let names = 0;
  for (let at = 0; at < text.length; ) {
    const end = endOfLine(text, at);
    const line = text.slice(at, end);
    if (NO_MEMBER.test(line.trim())) {
      at = end + 1;
      continue;
    }
    const [whole, before = "", name] = NAME.exec(line) ?? ITEM.exec(line) ?? [];
    if (whole === undefined || tokens.length > MOST_MEMBERS) return null;
    if (name !== undefined) {
      names += whole.trimEnd().endsWith("=") ? 2 : 1;
      const start = at + before.length;
      tokens.push({ start, end: start + name.length, kind: "name" });
    }
    const value = valueAt(text, at + whole.length, end);
    if (value.token.end > value.token.start) tokens.push(value.token);
    at = value.next;
  }
  return names > 1 ? tokens : null;
}

function endOfLine(text: string, at: number): number {
  const newline = text.indexOf("\n", at);
  return newline < 0 ? text.length : newline;
}

/** The value from `at` on, and where the next line begins. A value in double quotes may have several lines. */
function valueAt(text: string, at: number, end: number): { token: Token; next: number } {
  QUOTED_VALUE.lastIndex = at;
  const quoted = QUOTED_VALUE.exec(text);
  const last = QUOTED_VALUE.lastIndex;
  const lineEnd = quoted === null ? end : endOfLine(text, last);
  if (quoted !== null && COMMENT.test(text.slice(last, lineEnd).trimEnd())) {
    const token: Token = { start: at + 1, end: last - 1, kind: "text" };
    return { token: quoted[1] === undefined ? token : { ...token, escapes: "backslash" }, next: lineEnd + 1 };
  }
  const line = text.slice(at, end);
  const comment = line.indexOf(" #");
  const value = (comment < 0 ? line : line.slice(0, comment)).trimEnd();
  return { token: { start: at, end: at + value.length, kind: "text" }, next: end + 1 };
}

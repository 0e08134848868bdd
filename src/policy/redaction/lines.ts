/** The tokens of texts in lines: tables (CSV, RFC 4180; Markdown), and members (environment files, INI, YAML). */
import type { Token } from "./token.ts";

const SEPARATORS = [",", ";", "\t", "|"] as const;
const FEWEST_ROWS = 2;

/** Returns the cells of a text that is a table, with the first line as names; null for another text. */
export function tableTokens(text: string): Token[] | null {
  if (!text.includes("\n")) return null;
  const header = text.slice(0, text.indexOf("\n"));
  for (const separator of SEPARATORS) {
    if (!header.includes(separator)) continue;
    const rows = rowsOf(text, separator);
    const columns = rows?.[0]?.length ?? 0;
    if (rows !== null && rows.length >= FEWEST_ROWS && columns > 1 && rows.every((row) => row.length === columns)) {
      const names = (rows[0] as Token[]).map((cell): Token => ({ ...cell, kind: "name" }));
      return [...names, ...rows.slice(1).flat()];
    }
  }
  return null;
}

const CELLS = {
  ",": /[ \t]*(?:"((?:[^"]|"")*)"[ \t]*(?=[,\r\n]|$)|([^,\n]*))(,|\r?\n|$)/gy,
  ";": /[ \t]*(?:"((?:[^"]|"")*)"[ \t]*(?=[;\r\n]|$)|([^;\n]*))(;|\r?\n|$)/gy,
  "\t": / *(?:"((?:[^"]|"")*)" *(?=[\t\r\n]|$)|([^\t\n]*))(\t|\r?\n|$)/gy,
  "|": /[ \t]*(?:"((?:[^"]|"")*)"[ \t]*(?=[|\r\n]|$)|([^|\n]*))(\||\r?\n|$)/gy,
} as const;

/** Returns the cells of each line, without spaces around them; a cell in quotes may have several lines. */
function rowsOf(text: string, separator: (typeof SEPARATORS)[number]): Token[][] | null {
  const rows: Token[][] = [];
  let row: Token[] = [];
  const cells = new RegExp(CELLS[separator]);
  while (cells.lastIndex < text.length) {
    const from = cells.lastIndex;
    const match = cells.exec(text);
    if (match === null) return null;
    const [whole, quoted, bare = "", sign = ""] = match;
    const inside = quoted ?? bare.trimEnd();
    const start = from + (quoted === undefined ? whole.length - sign.length - bare.length : whole.indexOf('"') + 1);
    const cell: Token = { start, end: start + inside.length, kind: "text" };
    row.push(quoted === undefined ? cell : { ...cell, escapes: "doubled" });
    if (sign === separator) continue;
    if (row.length > 1 || inside !== "") rows.push(row);
    row = [];
  }
  // The last cell is empty.
  if (row.length > 0) rows.push([...row, { start: text.length, end: text.length, kind: "text" }]);
  return rows;
}

const NOTHING = /[ \t]*(?:[#;][^\n]*|\/\/[^\n]*|---|\.\.\.|\[[^\]\n]*\])?[ \t]*(?:\r?\n|$)/y;
const NAME =
  /([ \t]*(?:- +)*(?:export |set |\$env:)?["']?)([\p{L}_$][\p{L}\p{M}\d_.$ -]{0,60}?)(["']?[ \t]*(?:=[ \t]*|:[ \t]+|:(?=\r?\n|$)))/uy;
const VALUE = /(?:"((?:[^"\\]|\\[\s\S])*)"|'([^'\n]*)'|([^\n]*?))[ \t]*(?:[ \t]#[^\n]*)?(?:\r?\n|$)/y;
const ITEM = /([ \t]*(?:- +)+)/y;

/** Returns names and values of a text whose lines are members; null for another text, and for one line with a colon. */
export function memberTokens(text: string): Token[] | null {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    NOTHING.lastIndex = at;
    if (NOTHING.test(text)) {
      at = NOTHING.lastIndex;
      continue;
    }
    NAME.lastIndex = at;
    const name = NAME.exec(text);
    if (name !== null) {
      const start = at + (name[1] as string).length;
      tokens.push({ start, end: start + (name[2] as string).length, kind: "name" });
    }
    ITEM.lastIndex = at;
    const item = name === null ? ITEM.exec(text) : null;
    if (name === null && item === null) return null;
    const from = name === null ? ITEM.lastIndex : NAME.lastIndex;
    VALUE.lastIndex = from;
    const value = VALUE.exec(text);
    if (value === null) return null;
    const said = value[1] ?? value[2] ?? value[3] ?? "";
    const start = from + (value[3] === undefined ? 1 : 0);
    const token: Token = { start, end: start + said.length, kind: "text" };
    if (said !== "") tokens.push(value[1] === undefined ? token : { ...token, escapes: "backslash" });
    at = VALUE.lastIndex;
  }
  const names = tokens.filter(({ kind }) => kind === "name");
  const isAlone = names.length === 1 && !/^["']?[ \t]*=/.test(text.slice((names[0] as Token).end));
  return names.length === 0 || isAlone ? null : tokens;
}

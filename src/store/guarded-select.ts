/**
 * Queries whose text is decoded here and not by the driver, which ends the whole process when a damaged file
 * holds text that is not UTF-8. A value's type stands in the row, not in the schema, so any column of a damaged
 * file may hold such a text: every text leaves SQLite as bytes. That costs nothing that could be measured.
 */

/** The file holds a text that is not UTF-8, or a text where there can be none. */
export class DamagedText extends Error {
  override readonly name = "DamagedText";
  /** As SQLite itself says of a damaged file. */
  readonly code = "SQLITE_CORRUPT";

  constructor() {
    super("the database holds a text that is damaged");
  }
}

/** What the schema says of a column of the result; null when it is computed. */
type DeclaredType = string | null;

/** What is done with a value that comes as bytes. */
type Rule = "text" | "bytes" | "neither" | { flag: number };

/** A query that can be prepared in place of the original one. */
export interface GuardedSelect {
  sql: string;
  /** Turns a row of it into one of the original. @throws {DamagedText} */
  decode(row: unknown[]): unknown[];
}

/** Whether a statement can be guarded; the others return numbers, or texts that SQLite makes itself. */
export const isSelect = (sql: string): boolean => /^\s*(SELECT|WITH)\b/i.test(sql);

/** The guarded form of a query, whose columns have these types. */
export function guardedSelect(sql: string, types: readonly DeclaredType[]): GuardedSelect {
  const names = types.map((_, index) => `c${index}`);
  const values = names.map(
    (name) => `CASE typeof(${name}) WHEN 'text' THEN CAST(${name} AS BLOB) ELSE ${name} END`,
  );
  const flags: string[] = [];
  const rules = types.map((type, index): Rule => {
    if (type === "TEXT") return "text";
    if (type === "BLOB") return "bytes";
    if (type !== null) return "neither";
    // Of what is computed, only the value itself says what it was.
    flags.push(`typeof(c${index}) = 'text'`);
    return { flag: types.length + flags.length - 1 };
  });
  return {
    sql: `WITH guarded(${names.join(", ")}) AS (${sql}) SELECT ${[...values, ...flags].join(", ")} FROM guarded`,
    decode: (row) => decodeRow(row, rules),
  };
}

function decodeRow(row: unknown[], rules: readonly Rule[]): unknown[] {
  for (let index = 0; index < rules.length; index++) {
    const value = row[index];
    if (!(value instanceof Uint8Array)) continue;
    const rule = rules[index] as Rule;
    if (rule === "neither") throw new DamagedText();
    if (rule === "text" || (typeof rule === "object" && row[rule.flag] === 1)) row[index] = decode(value);
  }
  row.length = rules.length;
  return row;
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decode(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new DamagedText();
  }
}

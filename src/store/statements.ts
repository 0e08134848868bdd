/**
 * The statements of a connection. Text is decoded here and not by the driver, which aborts the process when a damaged
 * file has text that is not UTF-8. SQLite stores the type with each value, so any column of a damaged file may have
 * such a text. So every text leaves SQLite as bytes, at no measurable cost.
 */
import { isUtf8 } from "node:buffer";
import type Database from "libsql";

export type Driver = InstanceType<typeof Database>;
type Statement = ReturnType<Driver["prepare"]>;

/** The most distinct statements of a connection. All SQL is governd's own, so more would be a defect. */
const MAX_STATEMENTS = 256;

/** The file has text that is not UTF-8, or text in a column that cannot have text. */
class DamagedText extends Error {
  override readonly name = "DamagedText";
  /** SQLite's code for a damaged file. */
  readonly code = "SQLITE_CORRUPT";

  constructor() {
    super("the database holds a text that is damaged");
  }
}

/** The declared type of a column of the result; null when it is computed. */
type DeclaredType = string | null;

/** How to decode a value that arrives as bytes. */
type Rule = "text" | "bytes" | "neither" | { flag: number };

/** A query that replaces the original one. */
interface GuardedSelect {
  sql: string;
  /** Converts a row into a row of the original query, in place. @throws {DamagedText} */
  decode(row: unknown[]): unknown[];
}

/** Reports whether a statement can be guarded. Other statements return numbers, or text that SQLite makes. */
const isSelect = (sql: string): boolean => /^\s*(SELECT|WITH)\b/i.test(sql);

/** Returns the guarded form of a query whose columns have these types. */
function guardedSelect(sql: string, types: readonly DeclaredType[]): GuardedSelect {
  const names = types.map((_, index) => `c${index}`);
  const values = names.map((name) => `CASE typeof(${name}) WHEN 'text' THEN CAST(${name} AS BLOB) ELSE ${name} END`);
  const flags: string[] = [];
  const rules = types.map((type, index): Rule => {
    if (type === "TEXT") return "text";
    if (type === "BLOB") return "bytes";
    if (type !== null) return "neither";
    // The type of a computed column is known only from its value.
    flags.push(`typeof(c${index}) = 'text'`);
    return { flag: types.length + flags.length - 1 };
  });
  return {
    sql: `WITH guarded(${names.join(", ")}) AS (${sql}) SELECT ${[...values, ...flags].join(", ")} FROM guarded`,
    decode: (row) => decodeRow(row, rules),
  };
}

/**
 * The guarded form of each query, shared by all connections, since making it takes another preparation of the query.
 */
const made = new Map<string, GuardedSelect>();
/** The cache is cleared at this size, since filters make many different queries. */
const MAX_MADE = 2_048;

/** As {@link guardedSelect}, cached. @param typesOf returns the types of the query's columns */
function guardedOnce(sql: string, typesOf: () => readonly DeclaredType[]): GuardedSelect {
  const known = made.get(sql);
  if (known !== undefined) return known;
  const guard = guardedSelect(sql, typesOf());
  if (made.size >= MAX_MADE) made.clear();
  made.set(sql, guard);
  return guard;
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

/** A statement, and how to decode its rows. */
interface Prepared {
  statement: Statement;
  decode: GuardedSelect["decode"] | null;
}

/**
 * The prepared statements of a connection. They are kept while it is open, since preparing costs more than running, and
 * since they must not be garbage-collected before.
 */
export class Statements {
  readonly #prepared = new Map<string, Prepared>();

  constructor(private readonly driver: Driver) {}

  prepared(sql: string): Prepared {
    const known = this.#prepared.get(sql);
    if (known !== undefined) return known;
    if (this.#prepared.size >= MAX_STATEMENTS) throw new Error("too many distinct SQL statements");
    const typesOf = () => {
      const columns = this.driver.prepare(sql).columns();
      return columns.map(({ type }) => type);
    };
    const guard = isSelect(sql) ? guardedOnce(sql, typesOf) : null;
    const statement = this.driver.prepare(guard?.sql ?? sql);
    // Rows are tuples, since the driver adds a timing object to every row with names.
    if (statement.reader) statement.raw();
    const prepared = { statement, decode: guard?.decode ?? null };
    this.#prepared.set(sql, prepared);
    return prepared;
  }

  /** Removes all statements, and returns them. */
  takeAll(): Statement[] {
    const all = Array.from(this.#prepared.values(), ({ statement }) => statement);
    this.#prepared.clear();
    return all;
  }
}

/** Returns bytes that are UTF-8. @throws {DamagedText} when they are not */
export function requireText(bytes: Uint8Array): Uint8Array {
  if (!isUtf8(bytes)) throw new DamagedText();
  return bytes;
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decode(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new DamagedText();
  }
}

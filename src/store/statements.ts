/**
 * The statements of a connection. Text is decoded here and not by the driver, which aborts the process when a damaged
 * file has text that is not UTF-8. SQLite stores the type with each value, so any column of a damaged file may have
 * such a text. So every text leaves SQLite as bytes, at no measurable cost.
 */
import { isUtf8 } from "node:buffer";
import type Database from "libsql";
import { bindable, type SqlValue } from "./values.ts";

export type Driver = InstanceType<typeof Database>;
type Statement = ReturnType<Driver["prepare"]>;

/** The most distinct statements of a connection for `get`, and for other calls. All SQL is governd's own, so more would be a defect. */
const MAX_STATEMENTS = 256;

/** The file has text that is not UTF-8, or a value of another type than its column's. */
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

/** Begins a query whose columns are bytes already. Guarding it would copy them three times, which may be megabytes. */
export const OF_BYTES = "/* of bytes */ ";

/**
 * Reports whether a statement must be guarded. Others return numbers, text that SQLite makes, or begin with
 * {@link OF_BYTES}.
 */
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

/** A statement, the number of its parameters, and how to decode its rows. */
interface Prepared {
  statement: Statement;
  parameters: number;
  decode: GuardedSelect["decode"] | null;
}

/** What may contain a question mark that is no parameter, and parameters, with their number if it is stated. */
const PARAMETERS = /'[^']*'|"[^"]*"|--.*|\?(\d*)/g;

/** Returns the number of a statement's parameters (SQLite, "SQL Language Expressions", section 3). */
function parametersOf(sql: string): number {
  let most = 0;
  for (const [token, number] of sql.matchAll(PARAMETERS))
    if (token.startsWith("?")) most = number ? Math.max(most, Number(number)) : most + 1;
  return most;
}

type Parameters = readonly SqlValue[];

/**
 * The prepared statements of a connection. They are kept while it is open, since preparing costs more than running.
 *
 * A statement that was not reset ignores the parameters that are bound to it, and the driver does not notice: the
 * statement runs with those of the call before, and returns another row than the one that was asked for. The driver
 * resets a statement before `run` and `all`, and after a `get` that succeeds. So a statement for `get` is used for nothing
 * else, and is prepared again when it has failed. Parameters that are not given also keep their last values, so
 * their number is checked.
 */
export class Statements {
  readonly #prepared = new Map<string, Prepared>();
  /** The statements for `get`. */
  readonly #single = new Map<string, Prepared>();

  constructor(private readonly driver: Driver) {}

  /** Returns the first row, or undefined. */
  get(sql: string, parameters: Parameters): unknown[] | undefined {
    const prepared = this.#preparedIn(this.#single, sql);
    const bound = bindable(parameters, prepared.parameters);
    const { statement, decode } = prepared;
    let row: unknown[] | undefined;
    try {
      row = (statement.get(bound) ?? undefined) as unknown[] | undefined;
    } catch (error) {
      this.#single.delete(sql);
      throw error;
    }
    return row && decode ? decode(row) : row;
  }

  /** Returns all rows. */
  all(sql: string, parameters: Parameters): unknown[][] {
    const prepared = this.#preparedIn(this.#prepared, sql);
    const { statement, decode } = prepared;
    const rows = statement.all(bindable(parameters, prepared.parameters)) as unknown[][];
    if (decode !== null) for (const row of rows) decode(row);
    return rows;
  }

  /** Runs a writing statement. Returns the number of rows that it changed. */
  change(sql: string, parameters: Parameters): number {
    const prepared = this.#preparedIn(this.#prepared, sql);
    return prepared.statement.run(bindable(parameters, prepared.parameters)).changes;
  }

  #preparedIn(cache: Map<string, Prepared>, sql: string): Prepared {
    const known = cache.get(sql);
    if (known !== undefined) return known;
    if (cache.size >= MAX_STATEMENTS) throw new Error("too many distinct SQL statements");
    const prepared = this.#prepare(sql);
    cache.set(sql, prepared);
    return prepared;
  }

  #prepare(sql: string): Prepared {
    const typesOf = () => {
      const columns = this.driver.prepare(sql).columns();
      return columns.map(({ type }) => type);
    };
    const guard = isSelect(sql) ? guardedOnce(sql, typesOf) : null;
    const statement = this.driver.prepare(guard?.sql ?? sql);
    // Rows are tuples, since the driver adds a timing object to every row with names.
    if (statement.reader) statement.raw();
    return { statement, parameters: parametersOf(sql), decode: guard?.decode ?? null };
  }

  /** Removes all statements, and returns them. */
  takeAll(): Statement[] {
    const caches = [this.#prepared, this.#single];
    const all = caches.flatMap((cache) => Array.from(cache.values(), ({ statement }) => statement));
    for (const cache of caches) cache.clear();
    return all;
  }
}

/** Returns bytes that are UTF-8. @throws {DamagedText} when they are not */
export function requireText(bytes: Uint8Array): Uint8Array {
  if (!isUtf8(bytes)) throw new DamagedText();
  return bytes;
}

/** Returns a value that was found in a packed row. @throws {DamagedText} when it is null: it has not its column's type */
export function sound<T>(value: T | null): T {
  if (value === null) throw new DamagedText();
  return value;
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decode(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new DamagedText();
  }
}

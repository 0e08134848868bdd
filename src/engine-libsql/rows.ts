/** Reads rows of a namespace in answers that stay below the server's limit of size. */

import { COMMITS_TABLE } from "./commits.ts";
import type { Reads } from "./replicas.ts";
import { query, type Statement, StatementFailed } from "./server.ts";
import { type Key, keysJson, type ReplicatedTable } from "./tables.ts";

/** The most rows that are read at once; fewer while they are too large for one answer. */
const ROWS_AT_ONCE = 2_000;
/** The length of the pieces in which a row is read that is too large for one answer, characters of up to 4 bytes. */
const PIECE_LENGTH = 2_000_000;
/** How long the server may take for a page of rows, ms. */
const PAGE_DEADLINE_MS = 30_000;

/** Yields pages of the rows of a table after the key `after`, in the order of their keys. */
export async function* pages(reads: Reads, table: ReplicatedTable, after: Key | null = null): AsyncGenerator<string[]> {
  let last = after;
  let most = ROWS_AT_ONCE;
  for (;;) {
    const where = last === null ? "" : `WHERE ${table.isBehind("?1")}`;
    const args = last === null ? [] : [last];
    const selected = (columns: string, limit: number) =>
      query(`SELECT ${columns} FROM ${table.name} ${where} ORDER BY ${table.keyColumns} LIMIT ${limit}`, ...args);
    const found = await unlessTooLarge(reads, selected(`${table.keyOf()}, ${table.rowJson}`, most));
    if (found !== null) {
      if (found.length > 0) yield found.map(([, row]) => row as string);
      if (found.length < most) return;
      last = found.at(-1)?.[0] as Key;
      most = Math.min(ROWS_AT_ONCE, most * 2);
    } else if (most > 1) {
      most = Math.ceil(most / 8);
    } else {
      const [[[key] = []] = []] = await reads.read([selected(table.keyOf(), 1)], PAGE_DEADLINE_MS);
      yield [await longRow(reads, table, key as Key)];
      last = key as Key;
    }
  }
}

/** Returns the rows that have these keys, by key. */
export async function rowsWith(reads: Reads, table: ReplicatedTable, keys: readonly Key[]): Promise<Map<Key, string>> {
  const sql = `SELECT ${table.keyOf()}, ${table.rowJson} FROM (SELECT value AS noted FROM json_each(?)) CROSS JOIN ${table.name} ON ${table.hasKey("noted")}`;
  const found = await unlessTooLarge(reads, query(sql, keysJson(table, keys)));
  if (found !== null) return new Map(found as [Key, string][]);
  if (keys.length === 1) return new Map([[keys[0] as Key, await longRow(reads, table, keys[0] as Key)]]);
  const middle = Math.ceil(keys.length / 2);
  const halves = [keys.slice(0, middle), keys.slice(middle)];
  const rows = new Map<Key, string>();
  for (const half of halves) for (const [key, row] of await rowsWith(reads, table, half)) rows.set(key, row);
  return rows;
}

/** The statement that reads which tables the commits behind `number` changed; NULL stands for all of them. */
export const changedTables = (number: number): Statement =>
  query(`SELECT DISTINCT key FROM ${COMMITS_TABLE}, json_each(changed) WHERE number > ?`, number);

/**
 * The statement that reads the keys that the commits behind `number` changed in a table, and the row of each; NULL for
 * a row that is gone.
 */
export function changedRows(table: ReplicatedTable, number: number): Statement {
  const noted = `SELECT DISTINCT value AS noted FROM ${COMMITS_TABLE}, json_each(changed, '$."${table.name}"') WHERE number > ?`;
  const row = `CASE WHEN NOT (${table.isMissing("")}) THEN ${table.rowJson} END`;
  return query(`SELECT noted, ${row} FROM (${noted}) LEFT JOIN ${table.name} ON ${table.hasKey("noted")}`, number);
}

/** The statement that reads the rows of a table behind the key `after`, in the order of their keys. */
export const rowsBehind = (table: ReplicatedTable, after: Key): Statement =>
  query(`SELECT ${table.rowJson} FROM ${table.name} WHERE ${table.isBehind("?1")} ORDER BY ${table.keyColumns}`, after);

/** Returns the rows of a query; null when they are too large for one answer. */
async function unlessTooLarge(reads: Reads, statement: ReturnType<typeof query>) {
  try {
    const [rows = []] = await reads.read([statement], PAGE_DEADLINE_MS);
    return rows;
  } catch (error) {
    if (error instanceof StatementFailed && error.isTooLarge) return null;
    throw error;
  }
}

async function longRow(reads: Reads, table: ReplicatedTable, key: Key): Promise<string> {
  let row = "";
  for (;;) {
    const sql = `SELECT substr(${table.rowJson}, ?2, ${PIECE_LENGTH}) FROM ${table.name} WHERE ${table.hasKey("?1")}`;
    const [[[piece] = []] = []] = await reads.read([query(sql, key, [...row].length + 1)], PAGE_DEADLINE_MS);
    if (typeof piece !== "string" || piece === "") return row;
    row += piece;
  }
}

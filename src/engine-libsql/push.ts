/** Copies a file into an empty namespace. */
import type { Connection } from "../store/connection.ts";
import { CREATE_COMMITS } from "./commits.ts";
import { type Namespace, ServerUnavailable } from "./namespace.ts";
import type { Statement } from "./server.ts";
import { type ReplicatedTable, readTables } from "./tables.ts";

/** Most text in one request, UTF-16 units, unless a single row has more. */
const MOST_IN_REQUEST = 4 * 1024 * 1024;
/** How long the server may take for one request, ms. */
const REQUEST_DEADLINE_MS = 60_000;
/** Rows that are read from the file at once. */
const ROWS_AT_ONCE = 1_000;

/** The first commit of a namespace. */
export const FIRST_COMMIT = 1;

interface PushOptions {
  /** The version of the schema. */
  format: number;
  /** Called with the number of rows that have been sent. */
  onRows?(rows: number): void;
}

/**
 * Makes the tables of a file in a namespace and fills them. The last request also makes the first commit, without which
 * nobody uses the namespace, so the next push replaces what an interrupted one left.
 * @throws {ServerUnavailable}; {NamespaceUsed} when the namespace has a commit already
 */
export async function pushInto(
  namespace: Namespace,
  connection: Connection,
  { format, onRows = () => {} }: PushOptions,
): Promise<void> {
  if ((await namespace.state()) !== null) throw new NamespaceUsed(`the namespace ${namespace.name} has data already`);
  const tables = readTables(connection);
  let batch: Statement[] = [...tables.values()].flatMap(({ name, definition }) => [
    { sql: `DROP TABLE IF EXISTS ${name}` },
    { sql: definition },
  ]);
  let [length, rows] = [0, 0];
  for (const table of tables.values()) {
    for (const some of rowsOf(connection, table)) {
      if (length > 0 && length + some.length > MOST_IN_REQUEST) {
        await namespace.write(batch, REQUEST_DEADLINE_MS);
        onRows(rows);
        [batch, length] = [[], 0];
      }
      batch.push({ sql: table.putRows, args: [some.json] });
      length += some.length;
      rows += some.count;
    }
  }
  const first = { number: FIRST_COMMIT, format, changed: "{}", guards: [{ sql: CREATE_COMMITS }] };
  const outcome = await namespace.commit(first, batch);
  if (outcome === "unknown") {
    await namespace.settled();
    if ((await namespace.state()) === null) throw new ServerUnavailable("the libSQL server gave no definite answer");
  }
  if (outcome === "stale") throw new NamespaceUsed(`another node has used the namespace ${namespace.name} meanwhile`);
  onRows(rows);
}

/** The namespace has a commit already. */
class NamespaceUsed extends Error {
  override readonly name = "NamespaceUsed";
}

function* rowsOf(connection: Connection, table: ReplicatedTable) {
  let last: string | number | null = null;
  for (;;) {
    const where: string = last === null ? "" : `WHERE ${table.isBehind("?1")}`;
    const sql = `SELECT ${table.keyOf()}, ${table.rowJson} FROM ${table.name} ${where} ORDER BY ${table.keyColumns} LIMIT ${ROWS_AT_ONCE}`;
    const found: [string | number, string][] = connection.all(sql, last === null ? [] : [last]);
    const texts: string[] = [];
    let length = 0;
    for (const [, row] of found) {
      texts.push(row);
      length += row.length;
      if (length < MOST_IN_REQUEST) continue;
      yield { json: `[${texts.join(",")}]`, length, count: texts.length };
      texts.length = 0;
      length = 0;
    }
    if (texts.length > 0) yield { json: `[${texts.join(",")}]`, length, count: texts.length };
    if (found.length < ROWS_AT_ONCE) return;
    last = found.at(-1)?.[0] ?? null;
  }
}

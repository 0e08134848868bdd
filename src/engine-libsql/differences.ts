/** Compares the rows of a table between two states of a database. */
import type { Connection } from "../store/connection.ts";
import type { Key, ReplicatedTable, TableChanges } from "./tables.ts";

/**
 * Returns the changes that lead from a table in the attached database `base`, an earlier state, to the present table.
 * @param isOther SQL: whether the row `now` differs from `before`, the row with the same key; by default, in any column
 */
export function changesOf(
  connection: Connection,
  table: ReplicatedTable,
  isOther = table.differsFrom("now.", "before."),
): TableChanges {
  const [now, before] = [`main.${table.name} AS now`, `base.${table.name} AS before`];
  const byKey = table.isSameKey("now.", "before.");
  const changed = `SELECT ${table.rowOf("now.")} FROM ${now} LEFT JOIN ${before} ON ${byKey} WHERE ${isOther}`;
  const gone = `SELECT ${table.keyOf("before.")} FROM ${before} LEFT JOIN ${now} ON ${byKey} WHERE ${table.isMissing("now.")}`;
  return {
    rows: connection.all<[string]>(changed).map(([row]) => row),
    gone: connection.all<[Key]>(gone).map(([key]) => key),
  };
}

/** Runs `work` with the database in another file attached as `base`. */
export function withBase<T>(connection: Connection, path: string, work: () => T): T {
  connection.exec(`ATTACH '${path.replaceAll("'", "''")}' AS base`);
  try {
    return work();
  } finally {
    connection.exec("DETACH base");
  }
}

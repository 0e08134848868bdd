/** Compares what databases hold, however their pages are arranged. */

import { openConnection } from "../../src/store/connection.ts";
import { columnsOf } from "./databases.ts";

/**
 * Returns a digest of the schema and the rows of a workspace's file; null when it cannot be read to its end. Seals,
 * stored answers, search indexes, SQLite's own tables and bytes that no row uses are not in it.
 */
export function contentOf(path: string): string | null {
  try {
    using connection = openConnection(path);
    const schema = connection.all("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY 1, 2");
    const version = connection.get("PRAGMA user_version");
    const encoding = connection.get("PRAGMA encoding");
    // Without one of its seals, a log says the same.
    const tables = [...columnsOf(connection)].filter(([table]) => table !== "seals");
    const rows = tables.map(([table, columns]) => {
      const all = columns.map((name) => `typeof(${name}), hex(CAST(${name} AS BLOB))`);
      return connection.all(`SELECT rowid, ${all.join()} FROM ${table} NOT INDEXED ORDER BY rowid`);
    });
    return Bun.SHA256.hash(JSON.stringify([schema, version, encoding, rows]), "hex");
  } catch {
    return null;
  }
}

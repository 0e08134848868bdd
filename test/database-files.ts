/** A database as its files: the database, and its write-ahead log. */
import { copyFileSync, existsSync } from "node:fs";

/** Copies a database that nothing writes to. Copies no log where its last connection has removed it. */
export function copyDatabase(source: string, copy: string): void {
  copyFileSync(source, copy);
  if (existsSync(`${source}-wal`)) copyFileSync(`${source}-wal`, `${copy}-wal`);
}

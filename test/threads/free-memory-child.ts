/** Reads a database of twenty megabytes, and prints the anonymous memory of the process before and after it lets go, bytes. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { forgetPages, returnFreeMemory } from "../../src/serve/threads/idle-collection.ts";
import { openConnection } from "../../src/store/connection.ts";
import { transact } from "../../src/store/transaction.ts";

const ROWS = 40_000;

function anonymousBytes(): number {
  Bun.gc(true);
  return Number(/RssAnon:\s+(\d+) kB/.exec(readFileSync("/proc/self/status", "utf8"))?.[1]) * 1024;
}

using connection = openConnection(join(process.argv[2] as string, "rows.db"));
connection.exec("CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT)");
const numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)";
transact(connection, () => {
  connection.run(`INSERT INTO rows ${numbers} SELECT i, hex(zeroblob(250)) FROM n`, [ROWS]);
});
connection.value("SELECT sum(length(text)) FROM rows");
const kept = anonymousBytes();
forgetPages(connection);
returnFreeMemory();
console.log(JSON.stringify([kept, anonymousBytes()]));

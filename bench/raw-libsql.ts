/** libSQL alone: the two rows of a governed write, 64 writes in a durable transaction. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openConnection } from "../src/store/connection.ts";

const WRITES = 64_000;
const GROUP = 64;
const EVENT = "e".repeat(560);
const VALUE = "v".repeat(200);

/** Returns the number of writes per second. */
export function rawInserts(): number {
  const directory = mkdtempSync(join(tmpdir(), "governd-raw-"));
  const connection = openConnection(join(directory, "raw.db"));
  connection.exec("CREATE TABLE events (seq INTEGER PRIMARY KEY, body TEXT)");
  connection.exec("CREATE TABLE entries (id INTEGER PRIMARY KEY, key TEXT UNIQUE, value TEXT)");
  const started = performance.now();
  for (let i = 0; i < WRITES; i += GROUP) {
    connection.exec("BEGIN IMMEDIATE");
    for (let j = i; j < i + GROUP; j++) {
      connection.run("INSERT INTO events (seq, body) VALUES (?, ?)", [j, EVENT]);
      connection.run("INSERT INTO entries (key, value) VALUES (?, ?)", [`note/${j}`, VALUE]);
    }
    connection.exec("COMMIT");
  }
  const seconds = (performance.now() - started) / 1_000;
  connection.close();
  rmSync(directory, { recursive: true });
  return WRITES / seconds;
}

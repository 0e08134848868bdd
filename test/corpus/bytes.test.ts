/**
 * Every byte of the events of a small workspace is changed in turn, and every change is found. `npm test` changes a
 * part of the bytes.
 */
import { expect, test } from "bun:test";
import type { SqlValue } from "../../src/store/values.ts";
import { verifyWorkspace } from "../../src/verify/workspace.ts";
import { effort } from "../effort.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { HASHED } from "../support/event-rows.ts";
import { temporaryDirectory } from "../temporary.ts";
import { Driver } from "../verify/sample-workspace.ts";

const COLUMNS = [...HASHED, "hash", "details", "details_salt"] as const;
/** The lowest bit: digits stay digits, and almost all letters stay letters. */
const FLIP = 1;
/** One byte in this many is changed, others in each event. It is not the length of a part that all events share. */
const EVERY = effort({ usual: 5, long: 1 });

test(
  "every byte of the events table",
  async () => {
    using directory = temporaryDirectory();
    const driver = await Driver.create(directory.join("w.db"));
    await driver.write("alpha", "k", "v");
    await driver.perform("config.update", { agentId: "alpha", config: { policies: { block_pii: true } } });
    await driver.write("alpha", "mail", "someone@gmail.com");
    const { connection } = driver;
    expect((await verifyWorkspace(connection, { scope: "workspace" })).valid).toBe(true);
    let flips = 0;
    for (const column of COLUMNS) {
      const rows = connection.all<[number, SqlValue]>(`SELECT seq, ${column} FROM events`);
      for (const [seq, value] of rows) {
        for (const [at, flipped] of flipsOf(value, seq)) {
          connection.exec("BEGIN");
          const change = `UPDATE events SET ${column} = ? WHERE seq = ?`;
          // A change that SQLite itself refuses needs no verifier.
          const written = tryRun(() => connection.run(change, [flipped, seq]));
          const found = written && (await verifyWorkspace(connection, { scope: "workspace" }));
          connection.exec("ROLLBACK");
          if (found) expect([column, seq, at, found.valid]).toEqual([column, seq, at, false]);
          flips += 1;
        }
      }
    }
    expect(flips).toBeGreaterThan(700 / EVERY);
    driver.close();
  },
  PROCESS_TEST_MS,
);

/** Yields the values in which one byte, or the lowest bit of a number, is another. */
function* flipsOf(value: SqlValue, seq: number): Generator<[at: number, flipped: SqlValue]> {
  if (typeof value === "number") yield [0, value % 2 === 0 ? value + FLIP : value - FLIP];
  if (typeof value !== "string" && !(value instanceof Uint8Array)) return;
  for (let at = seq % EVERY; at < value.length; at += EVERY) {
    const bytes = Buffer.from(value as string);
    bytes[at] = (bytes[at] as number) ^ FLIP;
    yield [at, typeof value === "string" ? bytes.toString() : bytes];
  }
}

function tryRun(work: () => void): boolean {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}

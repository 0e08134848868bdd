/**
 * Every byte of the events of a small workspace is changed in turn, and every change is found. `npm test` changes a
 * part of the bytes.
 */
import { expect, test } from "bun:test";
import { verifyWorkspace } from "../../src/verify/workspace.ts";
import { effort } from "../effort.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { temporaryDirectory } from "../temporary.ts";
import { Driver } from "../verify/sample-workspace.ts";

const COLUMNS = ["body", "hash", "details", "details_salt"] as const;
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
      const rows = connection.all<[number, string]>(`SELECT seq, ${column} FROM events`);
      for (const [seq, text] of rows) {
        for (let at = seq % EVERY; at < text.length; at += EVERY) {
          const flipped = text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ FLIP) + text.slice(at + 1);
          connection.exec("BEGIN");
          const change = `UPDATE events SET ${column} = ? WHERE seq = ?`;
          // A change that SQLite itself refuses (an id that exists already, a body that is not JSON) needs no verifier.
          const written = tryRun(() => connection.run(change, [flipped, seq]));
          const found = written && (await verifyWorkspace(connection, { scope: "workspace" }));
          connection.exec("ROLLBACK");
          if (found) expect([column, seq, at, found.valid]).toEqual([column, seq, at, false]);
          flips += 1;
        }
      }
    }
    expect(flips).toBeGreaterThan(1_500 / EVERY);
    driver.close();
  },
  PROCESS_TEST_MS,
);

function tryRun(work: () => void): boolean {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}

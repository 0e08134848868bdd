/** The control database while another process has a transaction on it, which may wait for a libSQL server. */
import { expect, test } from "bun:test";
import { ensureDataDirectory } from "../../src/core/datadir/open.ts";
import { ControlDatabase } from "../../src/ops/directory/database.ts";
import { temporaryDirectory } from "../temporary.ts";

test("a change waits for the other one, and lets the event loop run; nothing counts as replaced meanwhile", async () => {
  using temporary = temporaryDirectory();
  const directory = ensureDataDirectory(temporary.path);
  using control = ControlDatabase.open(directory);
  using other = ControlDatabase.open(directory);
  const { connection } = other;
  for (let round = 0; round < 3; round++) {
    // The file has changed since it was last looked at.
    await other.change(() => {});
    connection.exec("BEGIN IMMEDIATE");
    let isDone = false;
    const change = control.change(() => {
      isDone = true;
    });
    expect(control.isReplaced).toBe(false);
    await Bun.sleep(20);
    expect(isDone).toBe(false);
    connection.exec("COMMIT");
    await change;
    expect([isDone, control.isReplaced, control.connection.inTransaction]).toEqual([true, false, false]);
  }
});

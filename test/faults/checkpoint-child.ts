/** Writes to a database while its disk fails, and prints what was acknowledged: see checkpoint.system.test.ts. */
import { openSync, writeSync } from "node:fs";
import { openConnection } from "../../src/store/connection.ts";
import { isDriverError } from "../../src/store/damage.ts";
import { DiskSpace } from "../../src/store/disk-space.ts";
import { EncryptionKey } from "../../src/store/encryption.ts";

const [path = "", kind = "", rounds = "", keyText = ""] = process.argv.slice(2);
const key = keyText === "" ? null : EncryptionKey.ofText(keyText);
const control = openSync(process.env.FAILING_DISK as string, "r+");

/** Read errors from now on, one in `oneIn` reads of the log; 0 ends them. */
function failReads(oneIn: number): void {
  const bytes = Buffer.alloc(96);
  bytes.writeInt32LE(oneIn === 0 ? 0 : 5, 8);
  bytes.writeInt32LE(oneIn, 16);
  bytes.write("-wal\0", 64);
  writeSync(control, bytes, 0, bytes.length, 0);
}

function reopen() {
  for (;;) {
    try {
      return openConnection(path, { encryptionKey: key });
    } catch {
      failReads(0);
    }
  }
}

const smallDisk = DiskSpace.ample();
smallDisk.free = 0;
let connection = reopen();
connection.exec("CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT); CREATE INDEX by_text ON t (text)");
connection.limitLog(smallDisk, () => {});
let acknowledged = 0;
let errors = 0;
for (let round = 0; round < Number(rounds); round++) {
  if (round % 7 === 3) failReads(kind === "all" ? 1 : 1 + (round % 40));
  if (round % 7 === 5) failReads(0);
  try {
    connection.exec("BEGIN IMMEDIATE");
    for (let i = 0; i < 40; i++) {
      const id = ((round * 40 + i) * 7919) % 1_000_003;
      connection.run("INSERT INTO t (id, text) VALUES (?, ?)", [id, `${id} `.repeat(20)]);
    }
    connection.exec("COMMIT");
    acknowledged += 40;
    connection.checkpointIfDue();
  } catch (error) {
    errors += 1;
    if (!isDriverError(error)) throw error;
    if (connection.inTransaction) {
      try {
        connection.exec("ROLLBACK");
      } catch {}
    }
    connection.close();
    connection = reopen();
    connection.limitLog(smallDisk, () => {});
  }
}
failReads(0);
if (kind !== "killed") {
  reopen().close();
  connection.close();
}
console.log(JSON.stringify({ acknowledged, errors }));
if (kind === "killed") process.kill(process.pid, "SIGKILL");

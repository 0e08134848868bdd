/** A disk that fails while the write-ahead log is copied back destroys nothing. */
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { openConnection } from "../../src/store/connection.ts";
import { EncryptionKey } from "../../src/store/encryption.ts";
import { temporaryDirectory } from "../temporary.ts";
import { CAN_FAIL, FailingLibrary } from "./failing-disk.ts";

const CHILD = join(import.meta.dir, "checkpoint-child.ts");
const KEY = "5a".repeat(32);
const ROUNDS = Number(process.env.TEST_CHECKPOINT_ROUNDS ?? 60);

const CASES = [
  ["every read of the log", "all", ""],
  ["some reads of the log", "some", ""],
  ["some reads of the log of an encrypted file", "some", KEY],
  ["some reads of the log, of a process that is killed then", "killed", ""],
] as const;

const library = new FailingLibrary();
afterAll(() => library[Symbol.dispose]());

test.skipIf(!CAN_FAIL).each(CASES)("%s fails: the database is whole", async (_name, kind, key) => {
  using directory = temporaryDirectory();
  const disk = library.disk(directory.join("failing-disk.control"));
  const path = directory.join("test.db");
  const child = Bun.spawn([process.execPath, CHILD, path, kind, `${ROUNDS}`, key], {
    env: { ...process.env, ...disk.env },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, complaints] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  await child.exited;
  expect(complaints).toBe("");
  const { acknowledged, errors } = JSON.parse(out) as { acknowledged: number; errors: number };
  expect(errors).toBeGreaterThan(0);
  using connection = openConnection(path, { encryptionKey: key === "" ? null : EncryptionKey.ofText(key) });
  expect(connection.all<[string]>("PRAGMA integrity_check")).toEqual([["ok"]]);
  // A commit that failed may have reached the disk, as SQLite says; one that was acknowledged must be there.
  expect(connection.get<[number]>("SELECT count(*) FROM t")?.[0]).toBeGreaterThanOrEqual(acknowledged);
});

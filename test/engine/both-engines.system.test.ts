/**
 * The scenarios again, with a daemon on a libSQL server: the same files, so that there is one list. A part of them in every
 * run, and all of them in a long one.
 */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { ended } from "../ended.ts";
import { LIBSQL_SERVER } from "../support/libsql-server.ts";

const ROOT = join(import.meta.dir, "../..");
/** What changes rows in each way that there is. */
const SOME = ["data", "checkpoints", "retries", "retention"].map((name) => `test/scenarios/${name}.system.test.ts`);
const ALL = ["test/scenarios", "test/http/daemon.system.test.ts", "test/mcp"];

test.skipIf(LIBSQL_SERVER === null)("scenarios have the same outcomes on a libSQL server", async () => {
  const files = process.env.TEST_LONG === "1" ? ALL : SOME;
  const child = Bun.spawn([process.execPath, "test", "--timeout", "120000", ...files], {
    cwd: ROOT,
    env: { ...process.env, TEST_ENGINE: "libsql-server" },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const { code, err } = await ended(child);
  const failed = err.split("\n").filter((line) => line.startsWith("(fail)"));
  expect({ failed, code }).toEqual({ failed: [], code: 0 });
  expect(err).toMatch(/\b[1-9]\d+ pass\b/);
});

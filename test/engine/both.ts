/**
 * What must have the same outcome on both engines: the one list. `npm test` and `npm run test:all` run it on the embedded
 * engine, and {@link IN_EVERY_RUN} on a libSQL server; `npm run test:server` runs all of it there.
 */
import { join } from "node:path";
import { PROCESS_TEST_MS } from "../patience.ts";

const ROOT = join(import.meta.dir, "../..");

/**
 * Scenarios, accounts, the conformance of the API, and the corpus of the verifier, over files that were pulled from the
 * server.
 */
export const ON_BOTH = [
  "test/scenarios",
  "test/account",
  "test/http/daemon.system.test.ts",
  "test/http/head.all.system.test.ts",
  "test/http/hostile-paths.system.test.ts",
  "test/http/pipelining.system.test.ts",
  "test/mcp",
  "test/clients",
  "test/integrations",
  "test/sinks",
  "test/corpus",
];

/** What changes rows in each way that there is. */
export const IN_EVERY_RUN = ["data", "checkpoints", "retries", "retention"].map(
  (name) => `test/scenarios/${name}.system.test.ts`,
);

/** Starts the tests in these files, each daemon on a libSQL server of its own. */
export function onServer(files: readonly string[], output: "pipe" | "inherit") {
  return Bun.spawn([process.execPath, "test", "--timeout", String(PROCESS_TEST_MS), ...files], {
    cwd: ROOT,
    env: { ...process.env, TEST_ENGINE: "libsql-server" },
    stdin: "ignore",
    stdout: output,
    stderr: output,
  });
}

/** Signals that must not end the daemon, and the line that says that it is ready. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { IGNORED_SIGNALS } from "../../src/cli/commands/serve.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { startGovernd } from "./governd-process.ts";

setDefaultTimeout(PROCESS_TEST_MS);

/** Also signals without an effect on a process that does not handle them. */
const HARMLESS = [...IGNORED_SIGNALS, "SIGHUP", "SIGWINCH", "SIGCHLD", "SIGURG", "SIGCONT"] as const;

test("signals that mean nothing do not end the daemon", async () => {
  using temporary = temporaryDirectory();
  await using daemon = await startGovernd(temporary.join("data"));
  for (const signal of HARMLESS) {
    daemon.signal(signal);
    await Bun.sleep(50);
    expect((await daemon.ask("/healthz")).status, signal).toBe(200);
  }
  expect(daemon.ready).toMatchObject({ level: "info", time: expect.stringMatching(/^\d{4}-.*Z$/) });
  expect((await daemon.stop("SIGTERM")).code).toBe(0);
});

/** The readiness of the daemon, when requests for it come faster than the disk answers. */
import { expect, test } from "bun:test";
import { ReadinessProbe } from "../../src/serve/daemon/readiness.ts";
import { temporaryDirectory } from "../temporary.ts";

const ROUNDS = 50;

test("a request during a running check of the disk does not report a failure", async () => {
  using directory = temporaryDirectory();
  let nowMs = 0;
  const probe = new ReadinessProbe({
    root: directory.path,
    threadsRunning: () => true,
    installationFails: () => false,
    takesWrites: () => true,
    down: new Map(),
    monotonicMs: () => nowMs,
  });
  for (let round = 0; round < ROUNDS; round++) {
    const answers = Array.from({ length: 4 }, () => {
      // Longer than any disk takes to answer.
      nowMs += 10_000;
      return probe.brief();
    });
    expect((await Promise.all(answers)).map(({ ready }) => ready)).toEqual([true, true, true, true]);
  }
});

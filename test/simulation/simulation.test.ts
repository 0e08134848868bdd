/**
 * A few runs of the simulator with a fixed number of steps: of one seed twice, and of others that differ in each run of
 * the tests. A failure names the command that repeats it; `npm run simulate` does any number of runs.
 */
import { expect, test } from "bun:test";
import { effort } from "../effort.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { SEED } from "../seed.ts";
import { simulate } from "./simulation.ts";

const STEPS = 150;

test(
  "the same seed gives the same run",
  async () => {
    const [one, two] = [await simulate({ seed: 134, steps: STEPS }), await simulate({ seed: 134, steps: STEPS })];
    expect(two).toEqual(one);
    expect(one.acknowledged).toBeGreaterThan(100);
    expect(one.stops).toBeGreaterThan(1);
    expect(one.failures).toBeGreaterThan(1);
  },
  PROCESS_TEST_MS,
);

test(
  "whatever fails, what was acknowledged is in the log and in effect, and nothing else is",
  async () => {
    for (let run = 0; run < effort({ usual: 3, long: 40 }); run++) await simulate({ seed: SEED + run, steps: STEPS });
  },
  PROCESS_TEST_MS,
);

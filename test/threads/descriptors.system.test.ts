/** What the daemon keeps open, by the limit of file descriptors. */
import { describe, expect, test } from "bun:test";
import { AMPLE, allowedDescriptors, planDescriptors, tooFewDescriptors } from "../../src/serve/threads/descriptors.ts";

const THREADS = [1, 2, 7, 63];
const LIMITS = [64, 256, 1_024, 4_096, 20_000, 524_288, Number.POSITIVE_INFINITY];

describe.each(THREADS)("with %i threads", (threads) => {
  test("enough descriptors restrict nothing", () => {
    const { needed, least } = planDescriptors(0, { threads, maxConnections: 10_000 });
    expect(planDescriptors(needed, { threads, maxConnections: 10_000 })).toEqual({
      needed,
      least,
      isLow: false,
      open: AMPLE,
      connections: 10_000,
    });
    expect(planDescriptors(needed - 1, { threads, maxConnections: 10_000 }).isLow).toBe(true);
  });

  test("the fewest descriptors are enough for each kind of database and some connections", () => {
    for (const maxConnections of [0, 10_000]) {
      const { least } = planDescriptors(0, { threads, maxConnections });
      const plan = planDescriptors(least, { threads, maxConnections });
      expect(new Set(Object.values(plan.open))).toEqual(new Set([1]));
      expect(plan.connections).toBe(32);
      expect(tooFewDescriptors(64, threads, plan)).toContain(`needs at least ${least} with ${threads} thread`);
    }
  });

  test("more descriptors never allow less, and something always works", () => {
    for (const maxConnections of [0, 100, 10_000]) {
      let before = planDescriptors(0, { threads, maxConnections });
      for (const limit of LIMITS) {
        const plan = planDescriptors(limit, { threads, maxConnections });
        for (const of of Object.keys(AMPLE) as (keyof typeof AMPLE)[]) {
          expect(plan.open[of]).toBeGreaterThanOrEqual(Math.max(1, before.open[of]));
          expect(plan.open[of]).toBeLessThanOrEqual(AMPLE[of]);
        }
        expect(plan.connections).toBeGreaterThanOrEqual(Math.max(1, before.connections));
        before = plan;
      }
      expect(before.connections).toBe(maxConnections === 0 ? Number.POSITIVE_INFINITY : maxConnections);
    }
  });
});

test("few connections leave the descriptors to the databases", () => {
  const few = planDescriptors(4_096, { threads: 1, maxConnections: 100 });
  expect([few.isLow, few.open, few.connections]).toEqual([false, AMPLE, 100]);
  expect(planDescriptors(20_000, { threads: 1, maxConnections: 0 })).toMatchObject({ isLow: false, open: AMPLE });
});

test("the limit is the system's", () => {
  const shell = Bun.spawnSync(["/bin/sh", "-c", "ulimit -n"]).stdout.toString().trim();
  const expected = process.platform !== "linux" || shell === "unlimited" ? Number.POSITIVE_INFINITY : Number(shell);
  expect(allowedDescriptors()).toBe(expected);
});

/** The follower that has state roots recorded, under a clock and a timer of the test's own. */
import { expect, test } from "bun:test";
import { type ComputedRoot, type RootPeriod, StateRoots } from "../../src/follow/state-roots.ts";
import { RandomPool } from "../../src/ids.ts";
import { nextTurn } from "../../src/timer.ts";

const HOUR_MS = 3_600_000;
const ROOT = { is: "root", seq: 7, root: "ab".repeat(32), count: 2 } as const;
const W = "ws_w";

/** A follower of which each computation finds the next of a list. */
function following(period: RootPeriod, found: (ComputedRoot | Error)[], refused: Error[] = []) {
  const computed: [string, number, number][] = [];
  const recorded: string[] = [];
  const failures: number[] = [];
  let nowMs = 0;
  let due: (() => void) | null = null;
  const timer = (_: number, work: () => void) => {
    due = work;
    return () => {
      due = null;
    };
  };
  const roots = new StateRoots(
    {
      async compute(workspaceId, { periodMs, unchangedThrough }) {
        computed.push([workspaceId, periodMs, unchangedThrough]);
        const next = found.shift();
        if (next === undefined || next instanceof Error) throw next ?? new Error("nothing is to be computed");
        return next;
      },
      async record(workspaceId, { seq }) {
        const failed = refused.shift();
        if (failed !== undefined) throw failed;
        recorded.push(`${workspaceId} ${seq}`);
      },
      clock: () => nowMs,
      failed: (_, inARow) => void failures.push(inARow),
    },
    period,
    { timer, random: new RandomPool((bytes) => bytes.fill(0)) },
  );
  const settled = async () => {
    for (let turns = 0; turns < 5; turns++) await nextTurn();
  };
  const sealed = async (workspaceId = W) => {
    roots.sealed(workspaceId);
    await settled();
  };
  const passPause = async () => {
    const work = due;
    due = null;
    work?.();
    await settled();
  };
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { roots, computed, recorded, failures, sealed, passPause, pass };
}

test("the first seal of a period has a root recorded, and later ones ask for nothing", async () => {
  const { sealed, computed, recorded, pass } = following("hourly", [ROOT, { ...ROOT, seq: 9 }]);
  await sealed();
  await sealed();
  pass(HOUR_MS - 1);
  await sealed();
  expect(recorded).toEqual([`${W} 7`]);
  pass(1);
  await sealed();
  expect(recorded).toEqual([`${W} 7`, `${W} 9`]);
  expect(computed).toEqual([
    [W, HOUR_MS, -1],
    [W, HOUR_MS, -1],
  ]);
});

test("a period that has a root already, as after a restart, gets no second one", async () => {
  const { sealed, computed, recorded } = following("daily", [{ is: "recorded" }]);
  await sealed();
  await sealed();
  expect([recorded, computed]).toEqual([[], [[W, 24 * HOUR_MS, -1]]]);
});

test("while nothing has changed, each seal asks behind the events that were looked at, and records nothing", async () => {
  const { sealed, computed, recorded } = following("hourly", [
    { is: "unchanged", through: 20 },
    { is: "unchanged", through: 25 },
    ROOT,
  ]);
  for (let seals = 0; seals < 4; seals++) await sealed();
  expect(computed.map(([, , through]) => through)).toEqual([-1, 20, 25]);
  expect(recorded).toEqual([`${W} 7`]);
});

test("off records none, and a change applies from the next seal on", async () => {
  const { roots, sealed, computed, recorded } = following("off", [ROOT]);
  await sealed();
  expect(computed).toEqual([]);
  roots.usePeriod("hourly");
  await sealed();
  roots.usePeriod("off");
  await sealed();
  expect(recorded).toEqual([`${W} 7`]);
});

test("what failed is tried again after a pause, behind other workspaces", async () => {
  const full = new Error("the disk is full");
  const { sealed, recorded, failures, passPause } = following("hourly", [ROOT, ROOT, { ...ROOT, seq: 8 }], [full]);
  await sealed();
  expect([recorded, failures]).toEqual([[], [1]]);
  await sealed("ws_other");
  await passPause();
  expect(recorded).toEqual(["ws_w 7", "ws_other 8"]);
});

test("a workspace that always fails, since it was deleted, is left alone until its next seal", async () => {
  const { sealed, computed, failures, passPause } = following("hourly", Array(50).fill(new Error("it is gone")));
  await sealed();
  for (let tries = 0; tries < 40; tries++) await passPause();
  expect([computed.length, failures.length]).toEqual([11, 11]);
});

/** A clock that is set back puts nothing off. */
import { expect, test } from "bun:test";
import { SealSchedule } from "../../src/core/seals/schedule.ts";
import { Troubles, WorkspacePaused } from "../../src/serve/threads/circuit-breaker.ts";

const NOW_MS = Date.UTC(2026, 0, 2);
const DAY_MS = 86_400_000;

test("a workspace whose disk failed is tried again, and not only when the clock is where it was", () => {
  const health = new Troubles(() => {});
  health.failed("w", { code: "SQLITE_IOERR_WRITE" }, NOW_MS);
  expect(() => health.require("w", NOW_MS + 1)).toThrow(WorkspacePaused);
  expect(() => health.require("w", NOW_MS - DAY_MS)).not.toThrow();
  expect(health.toProbe(NOW_MS - DAY_MS, 1)).toEqual(["w"]);
});

test("a workspace that waits to be sealed is sealed at once", () => {
  const waits: number[] = [];
  const schedule = new SealSchedule(
    1_000,
    () => {},
    (ms) => {
      waits.push(ms);
      return () => {};
    },
  );
  schedule.note("one", NOW_MS);
  expect(schedule.takeDue(NOW_MS + 999)).toEqual([]);
  schedule.note("two", NOW_MS - DAY_MS);
  expect(schedule.takeDue(NOW_MS - DAY_MS)).toEqual(["one"]);
  expect(schedule.takeDue(NOW_MS - DAY_MS + 1_000)).toEqual(["two"]);
  expect(waits).toEqual([1_000, 1, 0, 1_000]);
});

test("the timer follows the workspace that is due first", () => {
  const waits: number[] = [];
  const schedule = new SealSchedule(
    1_000,
    () => {},
    (ms) => {
      waits.push(ms);
      return () => {};
    },
  );
  schedule.note("late", NOW_MS, 60_000);
  schedule.note("early", NOW_MS);
  expect(waits).toEqual([60_000, 1_000]);
});

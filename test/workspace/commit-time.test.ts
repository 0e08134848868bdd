/** Which commits are left to another thread. */
import { expect, test } from "bun:test";
import { CommitTime } from "../../src/core/writer/commit-time.ts";

/** Commits transactions of `workMs` whose commits take `commitMs`. Returns how many were left to another thread. */
function commits(time: CommitTime, count: number, workMs: number, commitMs: number): number {
  let left = 0;
  for (let i = 0; i < count; i++) {
    if (time.isLong(workMs)) {
      left++;
      time.left();
    } else time.waited(commitMs, workMs);
  }
  return left;
}

test("short commits are waited for, and those of long work are not", () => {
  const time = new CommitTime();
  commits(time, 20, 1, 0.3);
  expect(commits(time, 20, 10, 1.5)).toBe(0);
  expect(time.isLong(100)).toBe(true);
});

test("on a slow disk most commits are left to another thread, and on one that has become fast again none", () => {
  const time = new CommitTime();
  const left = commits(time, 100, 1, 20);
  expect(left).toBeGreaterThan(60);
  expect(left).toBeLessThan(100);
  commits(time, 60, 1, 0.2);
  expect(commits(time, 100, 1, 0.2)).toBe(0);
});

test("work that took no time changes nothing", () => {
  const time = new CommitTime();
  time.waited(3, 0);
  expect([time.isLong(0), time.isLong(4.9), time.isLong(5)]).toEqual([false, false, true]);
});

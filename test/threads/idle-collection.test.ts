/** When an idle thread collects its garbage. */
import { expect, test } from "bun:test";
import { IdleWatch } from "../../src/serve/threads/idle-collection.ts";

/** Looks at these times, ms, when the process has used so much of the processor. Returns when it would collect. */
function collections(looks: readonly (readonly [nowMs: number, usedMs: number])[]): number[] {
  const watch = new IdleWatch(0, 0);
  return looks.flatMap(([nowMs, usedMs]) => {
    if (!watch.look(nowMs, usedMs)) return [];
    watch.collected(nowMs, usedMs);
    return [nowMs];
  });
}

test("after a burst, once", () => {
  const looks = [
    [250, 200],
    [500, 400],
    [750, 410],
    [1_000, 411],
    [1_250, 412],
  ] as const;
  expect(collections(looks)).toEqual([750]);
});

test("not after little work", () => {
  const looks = Array.from({ length: 20 }, (_, i) => [250 * (i + 1), 5 * i] as const);
  expect(collections(looks)).toEqual([]);
});

test("not while other programs have the processor, which the process would use", () => {
  const looks = [
    [250, 300],
    [900, 310],
    [1_500, 320],
    [1_750, 325],
  ] as const;
  expect(collections(looks)).toEqual([1_750]);
});

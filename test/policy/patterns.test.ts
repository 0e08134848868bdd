/** What a pattern finds in a text depends on the text, not on the machine. */
import { expect, test } from "bun:test";
import { PatternSet } from "../../src/policy/patterns.ts";

const PATTERNS = [{ name: "code", regex: "[A-Z]{3}-[0-9]+", mode: "redact", layer: 0 }] as const;
const TEXT = "ABC-1 ".repeat(100);

function find(workedMs: number) {
  let [elapsed, worked] = [0, 0];
  const clock = {
    elapsed: () => {
      elapsed += 1_000;
      return elapsed;
    },
    worked: () => {
      worked += workedMs;
      return worked;
    },
  };
  const { matches, isComplete } = new PatternSet(PATTERNS, clock).find(TEXT, () => true, 500);
  return [matches.length, isComplete];
}

test("a thread that had to wait for the processor finds every match", () => {
  expect(find(0)).toEqual([100, true]);
});

test("a text on which a thread works too long has more matches than those that it found", () => {
  expect(find(20)).toEqual([3, false]);
});

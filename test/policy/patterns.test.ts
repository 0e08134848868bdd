/** What a pattern finds in a text depends on the text, not on the machine; and no pattern takes long. */
import { describe, expect, test } from "bun:test";
import { MOST_STEPS, PatternSet, regexProblem } from "../../src/screen/patterns/pattern-set.ts";
import { regexSize } from "../../src/screen/patterns/size.ts";
import { effort } from "../effort.ts";
import { SEED } from "../seed.ts";
import { Seeded } from "../seeded.ts";

const PATTERNS = [{ name: "code", regex: "[A-Z]{3}-[0-9]+", mode: "redact", layer: 0 }] as const;
const TEXT = "ABC-1 ".repeat(100);

/** A clock that shows a second more at each look, of which the thread has worked `stepMs`. */
class Clock {
  #elapsedMs = 0;
  workedMs = 0;

  constructor(private readonly stepMs: number) {}

  elapsed(): number {
    this.#elapsedMs += 1_000;
    return this.#elapsedMs;
  }

  worked(): number {
    this.workedMs += this.stepMs;
    return this.workedMs;
  }
}

function find(workedMs: number) {
  const { matches, isComplete } = new PatternSet(PATTERNS, new Clock(workedMs)).find(TEXT, () => true, 500);
  return [matches.length, isComplete];
}

test("a thread that had to wait for the processor finds every match", () => {
  expect(find(0)).toEqual([100, true]);
});

test("a text on which a thread works too long has more matches than those that it found", () => {
  expect(find(20)).toEqual([3, false]);
});

test("a text for which a pattern takes long is given up before all of it was read", () => {
  const costly = [{ name: "costly", regex: "[a-z ]{1,300}X", mode: "audit", layer: 0 }] as const;
  const clock = new Clock(1_000);
  const found = new PatternSet(costly, clock).find("a".repeat(1 << 20), () => true, 500);
  expect(found).toEqual({ matches: [], isComplete: false });
  // The beginning, and no more of it.
  expect(clock.workedMs).toBe(2_000);
});

describe("the size of an expression", () => {
  const ATOMS = "a|[a-z]|\\d|\\p{L}|[^]x]|[[:alpha:]_]|\\Qab.c\\E|.|\\x{41}|é|\\(|\\pL|[\\]a]|[a\\-z]".split("|");
  const TIMES = ["", "", "*", "+?", "?", "{3}", "{2,}", "{1,9}", "{0,4}?", "{1}"];
  const OPENINGS = ["(", "(?:", "(?i:", "(?P<name>", "(?<other>"];

  /** Draws an expression with groups of at most this depth. */
  const draw = (random: Seeded, depth: number): string => {
    const part = (): string => {
      const kind = random.below(10);
      if (depth === 0 || kind < 7) return random.pick(ATOMS) + random.pick(TIMES);
      if (kind === 7) return `${draw(random, depth - 1)}|${draw(random, depth - 1)}`;
      return `${random.pick(OPENINGS)}${draw(random, depth - 1)})${random.pick(TIMES)}`;
    };
    return Array.from({ length: 1 + random.below(4) }, part).join("");
  };

  test("is estimated without compiling it, and never too small", () => {
    const random = new Seeded(SEED);
    let compiled = 0;
    for (let i = 0; i < effort({ usual: 3_000, long: 100_000 }); i++) {
      const regex = draw(random, 3);
      const size = regexSize(regex);
      if (size > MOST_STEPS || regexProblem(regex) !== null) continue;
      compiled++;
      const { steps } = new PatternSet([{ name: "drawn", regex, mode: "audit", layer: 0 }]);
      if (steps > size) expect([regex, steps]).toEqual([regex, size]);
    }
    expect(compiled).toBeGreaterThan(1_000);
  });

  test.each([
    ["[a-z]{1,1000}".repeat(39)],
    [`(?:${"a".repeat(480)}){1000}`],
    [`(?:${"\\p{L}".repeat(90)}){1,1000}`],
    [`((((a{9}){9}){9}){9})`],
  ])("is limited: %s", (regex) => {
    expect(regexProblem(regex)).toContain(`may have ${MOST_STEPS}`);
  });

  test.each([
    ["x".repeat(500), 502],
    ["card ", 7],
    ["é漢", 4],
    ["[0-9a-f]", 3],
    ["a{200}", 202],
    ["\\d\\d-\\d\\d", 7],
    ["ab|cd", 7],
  ])("a character is one step: %s", (regex, size) => {
    expect(regexSize(regex)).toBeWithin(size, size + 2);
    const { steps } = new PatternSet([{ name: "plain", regex, mode: "audit", layer: 0 }]);
    expect(steps).toBeWithin(size - 1, size + 1);
  });

  test("four patterns of 490 characters are within the limit, and a fifth is not", () => {
    const literal = "customer ".repeat(55).slice(0, 490);
    let left = MOST_STEPS;
    for (let i = 0; i < 4; i++) {
      expect(regexProblem(literal, left)).toBeNull();
      left -= regexSize(literal);
    }
    expect(regexProblem(literal, left)).toBe(
      `it has about 492 steps, one for each character and again for each repetition, and all patterns together may have 2000, of which ${left} are left`,
    );
  });

  test("is limited for all patterns together", () => {
    expect(regexProblem("[a-z]{900}")).toBeNull();
    expect(regexProblem("[a-z]{900}", 500)).toContain("500 are left");
  });
});

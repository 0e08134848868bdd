/** What would make a test fail now and then, and what would keep its failure from being repeated. */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const FILES = readdirSync(import.meta.dir, { recursive: true, encoding: "utf8" })
  .filter((path) => /\.tsx?$/.test(path) && path !== "steady.test.ts")
  .map((path) => ({ path, text: readFileSync(join(import.meta.dir, path), "utf8") }));

/** Reads a page as it is at this moment, without waiting for anything. */
const READS =
  /\.(allInnerTexts|allTextContents|boundingBox|content|count|evaluate|getAttribute|innerText|inputValue|isChecked|isDisabled|isEnabled|isVisible|textContent|title|url)\(/;

/** Asserts what must hold at every moment, not only shortly after. */
const AT_EVERY_MOMENT = "web/kept.system.test.ts";

/** Each assertion of a file, with what stands right before it. */
const assertions = (text: string) =>
  Array.from(text.matchAll(/([^;{}]*)\bexpect\(([^;]*?)\)\s*\.(?:not\.)?to[A-Z]/g), ([, before, asserted]) => ({
    before: before as string,
    asserted: asserted as string,
  }));

test("what a page shows is asserted by soon(), since it shows it shortly after an act", () => {
  const files = FILES.filter(({ path }) => /^web\/.*\.system\.test\.ts$/.test(path) && path !== AT_EVERY_MOMENT);
  const early = files.flatMap(({ path, text }) =>
    assertions(text)
      .filter(({ before, asserted }) => READS.test(asserted) && !/\bsoon\(async \(\) =>\s*$/.test(before))
      .map(({ asserted }) => `${path}: ${asserted}`),
  );
  expect(early).toEqual([]);
});

test("a process of governd gets no variable of the tests, which is no setting", () => {
  const started = FILES.flatMap(({ path, text }) =>
    Array.from(text.matchAll(/\bspawn(?:Sync)?\(\[\.\.\.(?:GOVERND|program)\b[^;]*;/g), ([code]) => ({ path, code })),
  );
  expect(started.length).toBeGreaterThan(8);
  expect(started.filter(({ code }) => !/\benv\b/.test(code))).toEqual([]);
});

test("what is another choice in each run follows from the seed of the run", () => {
  // On demand, where the seed is a word of the command, and printed.
  const onDemand = ["fuzz/main.ts", "seeded.ts", "simulation/main.ts"];
  const drawing = FILES.filter(({ text }) => /\bMath\.random\(|\banySeed\b|new Seeded\(Date\b/.test(text));
  expect(drawing.map(({ path }) => path).filter((path) => !onDemand.includes(path))).toEqual([]);
});

/** Identifiers: well formed, unique, and in the order in which they were made. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { IdSource, isId, RandomPool } from "../../src/ids.ts";

const MAX_MS = 2 ** 48 - 2 ** 20;

test("sort in the order made, whatever the clock and the randomness do", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: MAX_MS }), { minLength: 1, maxLength: 20 }),
      fc.integer({ min: 1, max: 600 }),
      fc.integer({ min: 0, max: 255 }),
      (clock, each, byte) => {
        let now = 0;
        const ids = new IdSource(() => now, new RandomPool((bytes) => void bytes.fill(byte)));
        const made = clock.flatMap((ms) => {
          now = ms;
          return Array.from({ length: each }, () => ids.next("aud"));
        });
        expect(made.every((id) => isId("aud", id))).toBe(true);
        expect(new Set(made).size).toBe(made.length);
        expect([...made].sort()).toEqual(made);
      },
    ),
    { numRuns: 30 },
  );
});

test("only what has the form is an id", () => {
  const id = new IdSource().next("cp");
  expect(isId("cp", id)).toBe(true);
  for (const other of [
    "",
    "cp_",
    id.toUpperCase(),
    `${id}0`,
    id.slice(0, -1),
    id.replace("cp_", "aud_"),
    `cp_8${id.slice(4)}`,
  ]) {
    expect(isId("cp", other)).toBe(false);
  }
  fc.assert(fc.property(fc.string(), (text) => !isId("ws", text)));
});

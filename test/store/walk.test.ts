/** Walks through rows end, whatever the rows contain. */
import { expect, test } from "bun:test";
import { isDamage } from "../../src/store/damage.ts";
import { goOn, OutOfOrder } from "../../src/store/walk.ts";

test("a walk continues at a place after the previous one", () => {
  expect(goOn(1, 2)).toBe(2);
  expect(goOn(-(2 ** 53), 0)).toBe(0);
  expect(goOn([1, 9], [2, 0])).toEqual([2, 0]);
  expect(goOn([1, 9], [1, 10])).toEqual([1, 10]);
  expect(goOn("", "a")).toBe("a");
  // By UTF-8: in UTF-16 the halves of a surrogate pair would stand before U+FFFD.
  expect(goOn("\ufffd", "\u{10000}")).toBe("\u{10000}");
});

test("any other is damage", () => {
  const circles: (() => unknown)[] = [
    () => goOn(2, 2),
    () => goOn(2, 1),
    () => goOn([2, 0], [1, 9]),
    () => goOn([1, 9], [1, 9]),
    () => goOn("b", "a"),
    () => goOn("\u{10000}", "\ufffd"),
    // Beyond 2^53 two numbers may be read as one.
    () => goOn(2 ** 53, 2 ** 53 + 1),
    () => goOn(1, Number.NaN),
  ];
  for (const circle of circles) {
    expect(circle).toThrow(OutOfOrder);
    try {
      circle();
    } catch (error) {
      expect(isDamage(error)).toBe(true);
    }
  }
});

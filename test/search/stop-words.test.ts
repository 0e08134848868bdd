import { expect, test } from "bun:test";
import { STOP_WORDS } from "../../src/search/words/stop-words.ts";
import words from "../../src/search/words/stop-words.txt" with { type: "text" };

test("stop words are sorted, in small letters, each once", () => {
  const lines = words.trimEnd().split("\n");
  expect(lines.filter((word) => !/^[a-z]+$/.test(word))).toEqual([]);
  expect([...new Set(lines)].toSorted()).toEqual(lines);
  expect(STOP_WORDS.size).toBe(lines.length);
});

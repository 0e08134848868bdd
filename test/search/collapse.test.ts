/** Which results of a search become one. */
import { expect, test } from "bun:test";
import { collapse } from "../../src/ops/data/collapse.ts";

/** Whether a text is collapsed into a better one. */
const isLike = async (text: string, better: string) => (await collapse([better, text], (one) => one, 2)).length === 1;

const WORDS = Array.from({ length: 42 }, (_, at) => `word${at}`);
const text = (...changed: [at: number, word: string][]) =>
  changed.reduce((words, [at, word]) => words.with(at, word), WORDS).join(" ");

test.each<[what: string, text: string, better: string, isLike: boolean]>([
  ["case, spaces and punctuation", "the  Customer:likes TEA!", "The customer likes tea", true],
  ["spaces within a word", "day time", "daytime", true],
  ["forms of one character", "ﬁve", "five", true],
  ["another word of few", "the customer likes tea", "the customer likes coffee", false],
  ["another number", "it costs 10.5", "it costs 105", false],
  ["nothing but punctuation", "!!!", "...", true],
  ["five of forty triples", text([0, "x"], [1, "x"], [2, "x"], [3, "x"], [41, "x"]), text(), false],
  ["four of forty triples", text([0, "x"], [1, "x"], [2, "x"], [41, "x"]), text(), true],
  ["three of forty triples", text([20, "x"]), text(), true],
  ["what the better one has, and more of it", WORDS.slice(0, 10).join(" "), text(), true],
  ["the better one, and much more", text(), WORDS.slice(0, 10).join(" "), false],
  ["long texts", `${"a ".repeat(20_000)}b`, `${"a ".repeat(20_000)}b.`, false],
  ["long texts that are equal", "a ".repeat(20_000), "a ".repeat(20_000), true],
  ["other letters", "Клиент любит чай, без сахара", "клиент любит чай без сахара", true],
  ["nothing in common", "", "a", false],
])("%s", async (_, one, better, expected) => {
  expect(await isLike(one, better)).toBe(expected);
});

test("results keep their order, and those beyond the limit still show what is like them", async () => {
  const found = await collapse(["b", "c", "B", "a", "c.", "d"], (one) => one, 2);
  expect(found.map(({ best, others }) => [best, ...others])).toEqual([
    ["b", "B"],
    ["c", "c."],
  ]);
});

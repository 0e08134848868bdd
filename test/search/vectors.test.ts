import { describe, expect, test } from "bun:test";
import { encodeWordVectors } from "../../scripts/model/word-vector-file.ts";
import { editDistance } from "../../src/search/index/repair.ts";
import { loadModel } from "../../src/search/model.ts";
import { VectorRows } from "../../src/search/vectors/vector-rows.ts";
import { tokenize } from "../../src/search/words/tokenize.ts";
import { WordVectors } from "../../src/search/words/word-vectors.ts";

describe("vector rows", () => {
  /** A fixed sequence of numbers between -1 and 1. */
  function numbers(seed: number): () => number {
    let state = seed;
    return () => {
      state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
      return state / 0x3fffffff - 1;
    };
  }

  function cosine(a: Float32Array, b: Float32Array): number {
    const dot = (x: Float32Array, y: Float32Array) => x.reduce((sum, v, i) => sum + v * (y[i] as number), 0);
    return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
  }

  for (const dimensions of [1, 15, 96, 384, 4096]) {
    test(`the kernel's cosines are right to a hundredth at ${dimensions} dimensions`, () => {
      const next = numbers(dimensions);
      const vector = () => Float32Array.from({ length: dimensions }, next);
      const rows = new VectorRows(loadModel().arena, dimensions);
      const vectors = Array.from({ length: 300 }, vector);
      vectors.forEach((v, i) => {
        rows.add(v, i >> 1);
      });
      const query = vector();
      expect(rows.setQuery(query)).toBe(true);
      const best = new Float32Array(150);
      rows.scan(best);
      for (let i = 0; i < 150; i++) {
        const pair = [vectors[2 * i], vectors[2 * i + 1]] as [Float32Array, Float32Array];
        const expected = Math.max(0, cosine(pair[0], query), cosine(pair[1], query));
        expect(Math.abs((best[i] as number) - expected)).toBeLessThan(0.01);
      }
      rows.close();
    });
  }

  test("rows that lie in many chunks, taken out of order, are all compared", () => {
    const { arena } = loadModel();
    const other = new VectorRows(arena, 96);
    const rows = new VectorRows(arena, 96);
    const vector = new Float32Array(96);
    for (let i = 0; i < 10_000; i++) {
      vector.fill(0).fill(1, i % 96, (i % 96) + 1);
      rows.add(vector, i);
      if (i % 300 === 0) for (let k = 0; k < 150; k++) other.add(vector, 0);
    }
    other.close();
    rows.setQuery(vector.fill(0).fill(1, 7, 8));
    const best = new Float32Array(10_000);
    rows.scan(best);
    expect([...best.keys()].filter((i) => (best[i] as number) > 0.99 !== (i % 96 === 7))).toEqual([]);
    rows.close();
  });

  test("opposite extremes do not overflow", () => {
    const rows = new VectorRows(loadModel().arena, 4096);
    rows.add(new Float32Array(4096).fill(5), 0);
    rows.setQuery(new Float32Array(4096).fill(3));
    const best = new Float32Array(1);
    rows.scan(best);
    expect(best[0]).toBeCloseTo(1, 3);
    rows.close();
  });

  test("a zero vector resembles nothing", () => {
    const rows = new VectorRows(loadModel().arena, 4);
    rows.add(new Float32Array(4), 0);
    expect(rows.setQuery(new Float32Array(4))).toBe(false);
    expect(rows.setQuery(new Float32Array(4).fill(1))).toBe(true);
    const best = new Float32Array(1);
    rows.scan(best);
    expect(best[0]).toBe(0);
    rows.close();
  });

  test("dimensions out of range are refused", () => {
    for (const dimensions of [0, 1.5, 4097]) {
      expect(() => new VectorRows(loadModel().arena, dimensions)).toThrow(RangeError);
    }
  });
});

describe("word vectors", () => {
  const words = ["the", "apple", "pear"];
  const file = encodeWordVectors(words, Float32Array.of(0.5, 1, 2), Int8Array.of(1, 2, 3, 4, 5, 6));

  test("what is written is read back", () => {
    const vectors = new WordVectors(file);
    expect(words.map((word) => vectors.find(word))).toEqual([0, 1, 2]);
    expect(["", "app", "apples", "äpple", "\n"].map((word) => vectors.find(word))).toEqual([-1, -1, -1, -1, -1]);
    const sum = new Float32Array(2);
    vectors.addTo(sum, 0);
    vectors.addTo(sum, 2);
    expect([...sum]).toEqual([10.5, 13]);
  });

  test("a damaged file is refused", () => {
    expect(() => new WordVectors(file.slice(0, -1))).toThrow("cut short");
    expect(() => new WordVectors(file.slice(0, 3))).toThrow("not a word vector file");
    expect(() => new WordVectors(new Uint8Array(64))).toThrow("not a word vector file");
  });

  test("the tokenizer spells words as the built-in model does", () => {
    const { vectors } = loadModel().words;
    const list = new TextDecoder().decode(vectors.wordBytes).trimEnd().split("\n");
    expect(list).toHaveLength(vectors.size);
    expect(list.filter((word) => tokenize(word).at(-1) !== word)).toEqual([]);
  });

  test("the built-in model knows what words mean", () => {
    const { words } = loadModel();
    const { vectors } = words;
    const cosine = (one: string, other: string) => {
      let found = 0;
      words.compare([vectors.find(one)], Int32Array.of(vectors.find(other)), -1, (_place, _other, value) => {
        found = value;
      });
      return found;
    };
    expect(vectors.size).toBe(60_000);
    expect(cosine("salary", "wages")).toBeGreaterThan(0.5);
    expect(cosine("salary", "tractor")).toBeLessThan(0.2);
    expect(cosine("car", "car")).toBeCloseTo(1, 2);
  });
});

describe("edit distance", () => {
  const cases: [one: string, other: string, limit: number, distance: number][] = [
    ["works", "works", 1, 0],
    ["worsk", "works", 1, 1],
    ["quaterly", "quarterly", 2, 1],
    ["recieve", "receive", 1, 1],
    ["invoce", "invoice", 1, 1],
    ["phising", "phishing", 2, 1],
    ["abcdef", "badcfe", 2, 3],
    ["abcd", "badc", 2, 2],
    ["kitten", "sitting", 2, 3],
    ["kitten", "sitting", 5, 3],
    ["", "ab", 2, 2],
    ["ab", "", 1, 2],
  ];
  for (const [one, other, limit, distance] of cases) {
    test(`${one} ${other} within ${limit}`, () => {
      expect(editDistance(one, other, limit)).toBe(distance);
      expect(editDistance(other, one, limit)).toBe(distance);
    });
  }
});

import { expect, test } from "bun:test";
import { EmbeddingError } from "../../src/search/vectors/embedder.ts";
import { Outage } from "../../src/search/vectors/outage.ts";
import { QueryEmbedder } from "../../src/search/vectors/query-embedder.ts";

const PAUSES = { firstMs: 5, longestMs: 60 };

test("pauses double up to the longest, and a success resets them", () => {
  const outage = new Outage();
  const pauses = () => Array.from({ length: 6 }, () => outage.fail("away", PAUSES).pauseMs);
  expect(pauses()).toEqual([5, 10, 20, 40, 60, 60]);
  expect(outage.end()).toBe(6);
  expect(outage.end()).toBe(0);
  expect(outage.fail("away", PAUSES)).toEqual({ pauseMs: 5, isNews: true });
});

test("the first failure is news, and one for another reason", () => {
  const outage = new Outage();
  const news = ["away", "away", "refused", "refused", "away"].map((reason) => outage.fail(reason, PAUSES).isNews);
  expect(news).toEqual([true, false, true, false, true]);
});

test("a long outage is retried ever more seldom, and logged twice", async () => {
  let now = 0;
  let asked = 0;
  let away = true;
  const told: unknown[] = [];
  const model = {
    model: "m",
    embed: async () => {
      asked++;
      if (away) throw new EmbeddingError("away", true);
      return [Float32Array.of(1)];
    },
  };
  const queries = new QueryEmbedder(
    async () => model,
    { onFailure: (error) => told.push(String(error)), onRecovery: (failures) => told.push(failures) },
    () => now,
  );
  for (; now < 3_600_000; now += 1_000) expect(await queries.embed("q")).toBeNull();
  // 5 + 10 + 20 + 40 s, then once a minute.
  expect(asked).toBe(63);
  expect(told).toEqual(["EmbeddingError: away"]);
  away = false;
  now += 60_000;
  expect(await queries.embed("q")).toEqual({ model: "m", vector: Float32Array.of(1) });
  expect(await queries.embed("q")).not.toBeNull();
  expect(told).toEqual(["EmbeddingError: away", 63]);
});

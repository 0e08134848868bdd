/** Turns of the event loop. */
import { expect, test } from "bun:test";
import { nextTurn, ownTurn } from "../src/timer.ts";

test("ownTurn() gives each caller a turn of its own, in the order of the calls", async () => {
  let turn = 0;
  const had: [name: string, turn: number][] = [];
  const wait = async (name: string) => {
    for (let i = 0; i < 2; i++) {
      await ownTurn();
      had.push([name, turn]);
    }
  };
  const all = Promise.all(["a", "b", "c"].map(wait));
  let isDone = false;
  void all.then(() => {
    isDone = true;
  });
  for (; !isDone; turn++) await nextTurn();
  expect(had.map(([name]) => name).join("")).toBe("abcabc");
  expect(new Set(had.map(([, at]) => at)).size).toBe(had.length);
});

test("ownTurn() still resolves after the queue was empty", async () => {
  await ownTurn();
  await ownTurn();
  await Promise.all([ownTurn(), ownTurn()]);
});

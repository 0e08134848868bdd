/** Turns of the event loop. */
import { expect, test } from "bun:test";
import { nextTurn, ownTurn } from "../src/timer.ts";

test("whoever waits for a turn of its own has it alone, in the order of asking", async () => {
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

test("the next one waits although the queue was empty in between", async () => {
  await ownTurn();
  await ownTurn();
  await Promise.all([ownTurn(), ownTurn()]);
});

/** Work in turns: the order, and what a failure means for what follows. */
import { expect, test } from "bun:test";
import { Turns } from "../../src/threads/turns.ts";

test("one piece after another, in the order in which they were asked for", async () => {
  const turns = new Turns();
  const seen: string[] = [];
  const piece = (name: string, pauseMs: number) => async () => {
    seen.push(`${name} begins`);
    await Bun.sleep(pauseMs);
    seen.push(`${name} ends`);
    return name;
  };
  const done = await Promise.all([turns.take(piece("a", 20)), turns.take(piece("b", 0))]);
  expect(done).toEqual(["a", "b"]);
  expect(seen).toEqual(["a begins", "a ends", "b begins", "b ends"]);
});

test("a failure is told to who asked, and what follows is done all the same", async () => {
  const turns = new Turns();
  const failed = turns.take(() => Promise.reject(new TypeError("no")));
  const thrown = turns.take(() => {
    throw new RangeError("at once");
  });
  const next = turns.take(async () => "done");
  expect(failed).rejects.toThrow(TypeError);
  expect(thrown).rejects.toThrow(RangeError);
  expect(await next).toBe("done");
});

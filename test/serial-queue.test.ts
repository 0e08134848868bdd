/** The serial queue: the order, and what a failure means for the work after it. */
import { expect, test } from "bun:test";
import { SerialQueue } from "../src/core/serial-queue.ts";

test("tasks run one after another, in the order of the calls", async () => {
  const queue = new SerialQueue();
  const seen: string[] = [];
  const piece = (name: string, pauseMs: number) => async () => {
    seen.push(`${name} begins`);
    await Bun.sleep(pauseMs);
    seen.push(`${name} ends`);
    return name;
  };
  const done = await Promise.all([queue.run(piece("a", 20)), queue.run(piece("b", 0))]);
  expect(done).toEqual(["a", "b"]);
  expect(seen).toEqual(["a begins", "a ends", "b begins", "b ends"]);
});

test("a failure rejects its own promise, and later tasks still run", async () => {
  const queue = new SerialQueue();
  const failed = queue.run(() => Promise.reject(new TypeError("no")));
  const thrown = queue.run(() => {
    throw new RangeError("at once");
  });
  const next = queue.run(async () => "done");
  expect(failed).rejects.toThrow(TypeError);
  expect(thrown).rejects.toThrow(RangeError);
  expect(await next).toBe("done");
});

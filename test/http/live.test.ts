import { expect, test } from "bun:test";
import { watched } from "../../src/serve/http/pipeline/live.ts";
import { eventually } from "../eventually.ts";

/** A source of one byte per pull, and what became of it. */
function source() {
  const state = { pulled: 0, cancelled: false };
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        state.pulled += 1;
        controller.enqueue(new Uint8Array([state.pulled]));
      },
      cancel() {
        state.cancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { state, stream };
}

test("nothing is fetched before it is asked for", async () => {
  const { state, stream } = source();
  const reader = watched(stream, { isAllowed: async () => true, monotonicMs: () => 0 }).getReader();
  await Bun.sleep(10);
  expect(state.pulled).toBe(0);
  expect((await reader.read()).value).toEqual(new Uint8Array([1]));
  expect((await reader.read()).value).toEqual(new Uint8Array([2]));
  expect(state.pulled).toBe(2);
  await reader.cancel();
  await eventually("the source is told", () => state.cancelled);
});

test("who does not read for half a minute is cut off", async () => {
  let now = 0;
  const { state, stream } = source();
  const reader = watched(stream, { isAllowed: async () => true, monotonicMs: () => now }).getReader();
  await reader.read();
  now = 31_000;
  await eventually("the source is told", () => state.cancelled);
  await expect(reader.read()).rejects.toThrow("does not read");
});

test("who waits for what comes next may wait", async () => {
  let now = 0;
  const quiet = new ReadableStream<Uint8Array>({ pull: () => new Promise(() => {}) }, { highWaterMark: 0 });
  const reader = watched(quiet, { isAllowed: async () => true, monotonicMs: () => now }).getReader();
  const next = reader.read();
  now = 31_000;
  const first = await Promise.race([next.then(() => "ended"), Bun.sleep(1_200).then(() => "waits")]);
  expect(first).toBe("waits");
  await reader.cancel();
});

test("a stream ends when its client loses the permission", async () => {
  let allowed = true;
  const { state, stream } = source();
  const reader = watched(stream, { isAllowed: async () => allowed, monotonicMs: () => 0 }).getReader();
  await reader.read();
  allowed = false;
  await eventually("the source is told", () => state.cancelled);
  expect((await reader.read()).done).toBe(true);
});

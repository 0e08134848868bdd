/** A workspace thread that died and is started again. */
import { expect, test } from "bun:test";
import type { ThreadOptions } from "../../src/threads/messages.ts";
import type { Spawning } from "../../src/threads/supervised.ts";
import { WriterThread } from "../../src/threads/writer-thread.ts";

class FakeThreads implements Spawning {
  /** What each thread got, the first one first. */
  readonly received: string[][] = [];
  #onMessage: (text: never) => void = () => {};
  #onEnd: (error: unknown) => void = () => {};
  restart = () => {};

  readonly start: Spawning["start"] = (_entry, _options, onMessage, onEnd) => {
    const received: string[] = [];
    this.received.push(received);
    this.#onMessage = onMessage;
    this.#onEnd = onEnd;
    return { postMessage: (message) => void received.push(String(message)) };
  };

  readonly timer: Spawning["timer"] = (_ms, work) => {
    this.restart = work;
    return () => {};
  };

  ready(): void {
    this.#onMessage('{"kind":"ready"}' as never);
  }

  die(): void {
    this.#onEnd(null);
  }
}

const SPARE = '{"kind":"spare","sparing":true}';

test("it is told that the disk is full, as the one before it was", () => {
  const threads = new FakeThreads();
  const writer = new WriterThread({} as ThreadOptions, { onFailure: () => {} }, threads);
  threads.ready();
  writer.spare(true);
  threads.die();
  threads.restart();
  threads.ready();
  expect(threads.received).toEqual([[SPARE], [SPARE]]);
});

test("it is told what changed while it was dead", () => {
  const threads = new FakeThreads();
  const writer = new WriterThread({} as ThreadOptions, { onFailure: () => {} }, threads);
  threads.ready();
  threads.die();
  writer.spare(true);
  threads.restart();
  threads.ready();
  threads.die();
  writer.spare(false);
  threads.restart();
  threads.ready();
  expect(threads.received).toEqual([[], [SPARE], []]);
});

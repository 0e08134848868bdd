/** The loop of followers under a timer of the test's own: only what the test lets pass has passed. */
import { expect, test } from "bun:test";
import { Follower, LONGEST_RETRY_MS, UNTIL_WOKEN } from "../src/follower.ts";
import { RandomPool } from "../src/ids.ts";
import { nextTurn } from "../src/timer.ts";

/** Keeps the waits until the test lets the one that is set pass. */
class Waits {
  readonly random = new RandomPool((bytes) => bytes.fill(0));
  /** All waits that were ever set, ms. */
  readonly set: number[] = [];
  #due: (() => void) | null = null;
  readonly timer = (ms: number, work: () => void) => {
    this.set.push(ms);
    this.#due = work;
    return () => {
      if (this.#due === work) this.#due = null;
    };
  };

  get isSet(): boolean {
    return this.#due !== null;
  }

  async pass(): Promise<void> {
    const due = this.#due;
    this.#due = null;
    due?.();
    await nextTurn();
  }
}

/** A follower whose steps end as the list says: with a wait, ms, with a failure, or when the promise does. */
function following(ends: (number | Error | Promise<number>)[]) {
  const waits = new Waits();
  const signals: AbortSignal[] = [];
  const failures: number[] = [];
  const step = async (signal: AbortSignal) => {
    signals.push(signal);
    const end = ends.shift() ?? UNTIL_WOKEN;
    if (end instanceof Error) throw end;
    return await end;
  };
  const failed = (_: unknown, inARow: number) => void failures.push(inARow);
  return { follower: new Follower({ step, failed }, waits), waits, signals, failures };
}

const failing = (times: number) => Array.from({ length: times }, () => new Error("away"));

test("a follower waits to be woken, does all that is left, and waits as long as its step says", async () => {
  const { follower, waits, signals } = following([0, 0, 200, UNTIL_WOKEN]);
  await nextTurn();
  expect(signals).toHaveLength(0);
  follower.wake();
  await nextTurn();
  expect([signals.length, waits.set]).toEqual([3, [200]]);
  await waits.pass();
  expect([signals.length, waits.isSet]).toEqual([4, false]);
});

test("a wake-up begins a step no later than it says, and puts none off", async () => {
  const { follower, waits, signals } = following([]);
  for (const ms of [200, 50, 50, 300]) follower.wake(ms);
  expect(waits.set).toEqual([200, 50]);
  follower.wake();
  await nextTurn();
  expect([signals.length, waits.isSet]).toEqual([1, false]);
});

test("a wake-up while a step runs is not lost", async () => {
  const first = Promise.withResolvers<number>();
  const second = Promise.withResolvers<number>();
  const { follower, waits, signals } = following([first.promise, second.promise]);
  follower.wake();
  follower.wake();
  first.resolve(UNTIL_WOKEN);
  await nextTurn();
  expect(signals).toHaveLength(2);
  follower.wake(50);
  second.resolve(UNTIL_WOKEN);
  await nextTurn();
  expect([signals.length, waits.set]).toEqual([2, [50]]);
});

test("pauses double up to the longest; no wake-up shortens them, and a recovery begins them anew", async () => {
  const { follower, waits, failures } = following([...failing(11), UNTIL_WOKEN, ...failing(1)]);
  follower.wake();
  await nextTurn();
  for (let i = 0; i < 10; i++) {
    follower.wake();
    await nextTurn();
    expect(failures).toHaveLength(i + 1);
    await waits.pass();
  }
  expect(waits.set).toEqual([
    ...[1, 2, 4, 8, 16, 32].map((s) => s * 1_000),
    ...[60_000, 60_000, 60_000, 60_000, 60_000],
  ]);
  await waits.pass();
  expect(follower.recovered()).toBe(11);
  expect(follower.recovered()).toBe(0);
  follower.wake();
  await nextTurn();
  expect([failures.at(-1), waits.set.at(-1), follower.failures]).toEqual([1, 1_000, 1]);
});

test("chance adds at most a quarter to a pause, and what failed may want a longer one", async () => {
  const { follower, waits } = following([Object.assign(new Error("away"), { retryAfterMs: 2 * LONGEST_RETRY_MS })]);
  follower.wake();
  await nextTurn();
  expect(waits.set).toEqual([2 * LONGEST_RETRY_MS]);
  const most = following(failing(1));
  Object.assign(most.waits, { random: new RandomPool((bytes) => bytes.fill(255)) });
  most.follower.wake();
  await nextTurn();
  expect(most.waits.set).toEqual([1_250]);
});

test("the end aborts the step that runs, waits for it, and does not count its failure", async () => {
  const running = Promise.withResolvers<number>();
  const { follower, waits, signals, failures } = following([running.promise]);
  follower.wake();
  let ended = false;
  const end = follower.end().then(() => {
    ended = true;
  });
  await nextTurn();
  expect([signals[0]?.aborted, ended]).toEqual([true, false]);
  running.reject(new Error("aborted"));
  await end;
  follower.wake();
  await nextTurn();
  expect([signals.length, failures, waits.set]).toEqual([1, [], []]);
});

test("an end with a last time tries what is left without a pause, and aborts it only then", async () => {
  const hanging = Promise.withResolvers<number>();
  const { follower, waits, signals, failures } = following([...failing(1), 0, hanging.promise]);
  follower.wake();
  await nextTurn();
  expect(failures).toEqual([1]);
  const end = follower.end(2_000);
  await nextTurn();
  expect([signals.length, signals[2]?.aborted, waits.set]).toEqual([3, false, [1_000, 2_000]]);
  await waits.pass();
  expect(signals[2]?.aborted).toBe(true);
  hanging.resolve(0);
  await end;
  expect(signals).toHaveLength(3);
});

/** Timers, injected where a simulation moves time itself. */

/** Calls `work` once after `ms` milliseconds. Returns the function that cancels the call. */
export type Timer = (ms: number, work: () => void) => () => void;

/** The runtime's timers cannot wait longer than 2^31 - 1 ms. */
export const LONGEST_TIMER_MS = 24 * 60 * 60_000;

/** Waits as long as wanted. */
export const systemTimer: Timer = (ms, work) => {
  let timer: NodeJS.Timeout;
  const wait = (leftMs: number): void => {
    const nowMs = Math.min(leftMs, LONGEST_TIMER_MS);
    timer = setTimeout(() => (leftMs > nowMs ? wait(leftMs - nowMs) : work()), nowMs);
  };
  wait(ms);
  return () => clearTimeout(timer);
};

/** Calls `work` every `ms` milliseconds. Returns the function that ends it. */
export function repeat(timer: Timer, ms: number, work: () => void): () => void {
  let cancel = () => {};
  const arm = () => {
    cancel = timer(ms, () => {
      arm();
      work();
    });
  };
  arm();
  return () => cancel();
}

/** Resolves in the next turn of the event loop, so that waiting events are handled first. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Work that waits for a turn of its own. */
const ownTurns: (() => void)[] = [];

/**
 * Resolves in a later turn of the event loop, one caller per turn. So the pieces of large work run one by one, however
 * many requests they belong to, and small work runs between them.
 */
export const ownTurn = (): Promise<void> =>
  new Promise((resolve) => {
    if (ownTurns.push(resolve) === 1) setImmediate(takeOwnTurn);
  });

function takeOwnTurn(): void {
  ownTurns.shift()?.();
  if (ownTurns.length > 0) setImmediate(takeOwnTurn);
}

/**
 * The turns of the event loop after which the runtime has reported a connection that it closed because another request
 * arrived before the response. Over TLS it reports that only when the client has closed its side as well, which only a
 * client in the same process does as soon.
 */
export const CLOSING_TURNS = 3;

/** Resolves when the runtime has reported the connections without TLS that it closed in this turn of the event loop. */
export async function closingIsKnown(): Promise<void> {
  for (let turn = 0; turn < CLOSING_TURNS; turn++) await nextTurn();
}

/** Waits for a promise, but at most `ms` milliseconds. Returns its value, or undefined when the time is up. */
export async function atMost<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  const timeout = Promise.withResolvers<undefined>();
  const cancel = systemTimer(ms, () => timeout.resolve(undefined));
  return await Promise.race([promise, timeout.promise]).finally(cancel);
}

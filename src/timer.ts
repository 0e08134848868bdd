/** Timers, injected where a simulation moves time itself. */

/** Calls `work` once after `ms` milliseconds. Returns the function that cancels the call. */
export type Timer = (ms: number, work: () => void) => () => void;

export const systemTimer: Timer = (ms, work) => {
  const timer = setTimeout(work, ms);
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

/** Over TLS it takes the runtime up to three turns of the event loop to tell that it closed a connection. */
export const CLOSING_TURNS = 3;

/**
 * Calls back when a request is known to be abandoned, if the runtime closed its connection in this turn of the event
 * loop: it does so when the next request on the connection has arrived already.
 */
export function onceClosingIsKnown(callback: () => void, turns = CLOSING_TURNS): void {
  setImmediate(turns > 1 ? () => onceClosingIsKnown(callback, turns - 1) : callback);
}

/** Waits for a promise, but at most `ms` milliseconds. Returns its value, or undefined when the time is up. */
export async function atMost<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  const timeout = Promise.withResolvers<undefined>();
  const cancel = systemTimer(ms, () => timeout.resolve(undefined));
  return await Promise.race([promise, timeout.promise]).finally(cancel);
}

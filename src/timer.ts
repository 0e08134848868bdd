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

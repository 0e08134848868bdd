/**
 * Work in steps: a generator that yields where other work may have a turn, and returns its result. It yields a promise,
 * which must not reject, to wait for work on another thread.
 */
export type Steps<T> = Generator<Promise<void> | undefined, T>;

/** Runs all steps without a break. @throws {Error} when a step waits for work on another thread */
export function toEnd<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value as T;
    if (value !== undefined) throw new Error("a step waits for what is done beside the thread");
  }
}

/** Waits for work on another thread. @throws what it rejects with */
export function* waitFor(work: Promise<void>): Steps<void> {
  let failure: { error: unknown } | null = null;
  yield work.catch((error) => {
    failure = { error };
  });
  if (failure !== null) throw (failure as { error: unknown }).error;
}

/**
 * Work in steps: a generator that yields where others may have their turn, and returns what came out. Where it yields a
 * promise, which never rejects, it waits for something that is done beside the thread.
 */
export type Steps<T> = Generator<Promise<void> | undefined, T>;

/** Does all steps at once. @throws {Error} when one waits for something that is done beside the thread */
export function toEnd<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value as T;
    if (value !== undefined) throw new Error("a step waits for what is done beside the thread");
  }
}

/** Waits for work that is done beside the thread. @throws what it rejects with */
export function* waitFor(work: Promise<void>): Steps<void> {
  let failure: { error: unknown } | null = null;
  yield work.catch((error) => {
    failure = { error };
  });
  if (failure !== null) throw (failure as { error: unknown }).error;
}

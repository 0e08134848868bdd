/** Work in steps: a generator that yields where others may have their turn, and returns what came out. */

/** Does all steps at once. */
export function toEnd<T>(steps: Generator<void, T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value as T;
  }
}

/**
 * How long tests wait. Both limits are longer than anything takes on a machine twenty times slower than usual, so they
 * end only what hangs. No test has a shorter one.
 */

/** For one thing to come, ms: a condition, an answer, what a page shows, the start of a process. */
export const PATIENCE_MS = 300_000;

/** For a whole test or its preparation, ms: `setDefaultTimeout(PROCESS_TEST_MS)`. `scripts/with-bun.mjs` gives it to every test. */
export const PROCESS_TEST_MS = 1_200_000;

/**
 * The seed of all random choices of the tests. `GOVERND_TEST_SEED` repeats the choices of an earlier run; a run without
 * it draws a seed and prints it.
 */
export const SEED = seedOfRun();

function seedOfRun(): number {
  const seed = Number(process.env.TEST_SEED);
  if (Number.isSafeInteger(seed) && seed >= 0) return seed;
  throw new Error("GOVERND_TEST_SEED must be a whole number of at least 0");
}

/**
 * What every choice of a test follows from that is another one in each run. `GOVERND_TEST_SEED` repeats the choices of an
 * earlier run; a run that is given none draws it, and prints it.
 */
export const SEED = seedOfRun();

function seedOfRun(): number {
  const seed = Number(process.env.TEST_SEED);
  if (Number.isSafeInteger(seed) && seed >= 0) return seed;
  throw new Error("GOVERND_TEST_SEED must be a whole number of at least 0");
}

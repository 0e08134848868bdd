/**
 * Returns how much a test does that repeats itself with other data: `usual` in every run, `long` with
 * `GOVERND_TEST_LONG=1`.
 */
export const effort = ({ usual, long }: { usual: number; long: number }): number =>
  process.env.TEST_LONG === "1" ? long : usual;

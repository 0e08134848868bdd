/**
 * How much a test does that repeats itself with other data: little in every run of `npm test`, much in
 * `GOVERND_TEST_LONG=1 npm test`.
 */
export const effort = ({ usual, long }: { usual: number; long: number }): number =>
  process.env.TEST_LONG === "1" ? long : usual;

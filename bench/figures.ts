/** What the benchmarks are asked, and how they say what they measured. */

/** The number behind `--name` on the command line. */
export function option(name: string, fallback: number): number {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? fallback : Number(process.argv[at + 1]);
}

/** Of an even number of values the higher one in the middle. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] as number;
}

/** A number without decimals, its thousands apart. */
export const whole = (value: number): string => Math.round(value).toLocaleString("en-US");

/** Options of the benchmarks, and the format of their results. */

/** Returns the number after `--name` on the command line. */
export function option(name: string, fallback: number): number {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? fallback : Number(process.argv[at + 1]);
}

/** Returns the word after `--name` on the command line. */
export function text(name: string, fallback: string): string {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? fallback : (process.argv[at + 1] ?? fallback);
}

/** Returns the median; of an even number of values, the higher of the middle two. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] as number;
}

/** Formats a number without decimals, with separated thousands. */
export const whole = (value: number): string => Math.round(value).toLocaleString("en-US");

/** Returns the value that a part (0 to 1) of the values, in ascending order, do not exceed. */
export const percentile = (sorted: readonly number[], part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;

/** Reports whether `--name` is on the command line. */
export const flag = (name: string): boolean => process.argv.includes(`--${name}`);

/** Returns how a row names the clients that loaded a server. */
export const clientsOf = (amount: number): string => (amount === 1 ? "1 client" : `${amount} clients`);

/** Numbers over time in several series, as a chart stacks them. */

export interface Series {
  name: string;
  /** The values, one for each bar. */
  values: readonly number[];
}

/** More series than colours are one: "others". */
const COLORS = 5;

export const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

/** Returns the series that are not empty. The series beyond the number of colours are combined. */
export function grouped(series: readonly Series[]): readonly Series[] {
  const all = series.filter(({ values }) => values.some((value) => value > 0));
  if (all.length <= COLORS) return all;
  const rest = all.slice(COLORS - 1);
  const values = rest[0]?.values.map((_, at) => sum(rest.map((one) => one.values[at] ?? 0))) ?? [];
  return [...all.slice(0, COLORS - 1), { name: `${rest.length} others`, values }];
}

/** Returns a larger round number whose half is whole. */
export function roundTop(most: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(most, 2)));
  return [1, 2, 4, 6, 8, 10].map((digit) => digit * power).find((top) => top >= most && top % 2 === 0) ?? 10 * power;
}

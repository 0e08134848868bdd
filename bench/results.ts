/** The figures of a run: one value for each round, by section, case and subject. */
import { median, whole } from "./figures.ts";

/** What is measured, with its heading and format in tables. */
export const METRICS = {
  perSecond: { heading: "per second", show: whole },
  p50Ms: { heading: "p50, ms", show: decimals },
  p99Ms: { heading: "p99, ms", show: decimals },
  p999Ms: { heading: "p99.9, ms", show: decimals },
  longestMs: { heading: "longest, ms", show: decimals },
  cpuUs: { heading: "CPU each, µs", show: whole },
  ms: { heading: "ms", show: decimals },
  mib: { heading: "MiB", show: whole },
} as const;

function decimals(value: number): string {
  return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
}

export type Metric = keyof typeof METRICS;
export type Figures = Partial<Record<Metric, number>>;

/** One row of a section's table. */
export interface Row {
  case: string;
  subject: string;
  values: Partial<Record<Metric, number[]>>;
}

export interface Section {
  name: string;
  /** Paragraphs below the table. */
  notes: string[];
  rows: Row[];
}

export interface Report {
  date: string;
  machine: string;
  version: string;
  /** How the run was made shorter, or null for a whole run. */
  shortened: string | null;
  rounds: number;
  seconds: number;
  sections: Section[];
}

/** Makes one measurement of a section. Notes a failure, so that the others are made. Reports whether it succeeded. */
export async function attempt(section: Section, what: string, work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    console.error(error);
    section.notes.push(`**Not measured: ${what} (${error instanceof Error ? error.message : error})**`);
    return false;
  }
}

/** Reports whether something of a section could not be measured. */
export const isIncomplete = ({ notes }: Section): boolean => notes.some((text) => text.startsWith("**"));

/** Adds the figures of one round to a row, which it makes if it is missing. */
export function note(section: Section, name: string, subject: string, figures: Figures): void {
  const known = section.rows.find((one) => one.case === name && one.subject === subject);
  const row = known ?? { case: name, subject, values: {} };
  if (known === undefined) section.rows.push(row);
  for (const [metric, value] of Object.entries(figures) as [Metric, number][]) {
    row.values[metric] = [...(row.values[metric] ?? []), value];
  }
}

/** Returns the median of a row's rounds, or null when the metric was not measured. */
export function middle(row: Row, metric: Metric): number | null {
  const values = row.values[metric];
  return values === undefined || values.length === 0 ? null : median(values);
}

/** Returns the median of the ratios of two rows, round by round. */
export function ratio(above: Row, below: Row, metric: Metric): number {
  const divisors = below.values[metric] ?? [];
  const values = above.values[metric] ?? [];
  return median(divisors.map((divisor, at) => (values[at] as number) / divisor).filter(Number.isFinite));
}

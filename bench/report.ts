/** A run as Markdown: the whole report, and the lines that README quotes. */
import { METRICS, type Metric, middle, type Report, type Row, ratio, type Section } from "./results.ts";

export const WRITES = "Writes, side by side";
/** Clients of the comparison that README quotes. */
const QUOTED = "64 clients";

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const numeric = (at: number) => rows.every((row) => /^[\d.,–]*$/.test(row[at] as string));
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [heads, heads.map((_, at) => (numeric(at) ? "---:" : "---")), ...rows].map(line).join("\n");
}

function sectionTable({ rows }: Section): string {
  const metrics = (Object.keys(METRICS) as Metric[]).filter((metric) => rows.some((row) => metric in row.values));
  const cell = (row: Row, metric: Metric) => {
    const value = middle(row, metric);
    return value === null ? "–" : METRICS[metric].show(value);
  };
  return table(
    ["", "", ...metrics.map((metric) => METRICS[metric].heading)],
    rows.map((row) => [row.case, row.subject, ...metrics.map((metric) => cell(row, metric))]),
  );
}

/** Returns the report with its plot, if it has one. */
export function markdown(report: Report, plot: string | null): string {
  const { date, machine, version, rounds, seconds, shortened, sections } = report;
  return [
    "# Benchmark",
    `governd ${version}, ${date}, ${machine}. ${rounds === 1 ? "One round" : `Medians of ${rounds} rounds`} in turns, ${seconds} s for each load.`,
    ...(shortened === null ? [] : [`**Shortened run: ${shortened}. Do not quote these figures.**`]),
    ...(plot === null ? [] : [`![Writes per second and their p99 by the number of clients](${plot})`]),
    ...sections.flatMap((one) => [`## ${one.name}`, ...(one.rows.length > 0 ? [sectionTable(one)] : []), ...one.notes]),
    "",
  ].join("\n\n");
}

/** Returns the paragraph that README quotes: ratios, machine and date. */
export function readmeLines({ sections, machine, date }: Report): string {
  const rows = sections.find(({ name }) => name === WRITES)?.rows.filter((row) => row.case === QUOTED) ?? [];
  const governd = rows.find(({ subject }) => subject === "governd");
  if (governd === undefined) throw new Error(`the report has no writes of governd at ${QUOTED}`);
  const compared = rows
    .filter((row) => row !== governd)
    .map((row) => {
      const speed = ratio(governd, row, "perSecond").toFixed(2);
      return `- ${speed} times the writes per second of ${row.subject}, with ${ratio(governd, row, "cpuUs").toFixed(2)} times the processor time for each`;
    });
  return [
    `Governed writes at ${QUOTED}, both policies on, compared in the same run (${date}, ${machine}):`,
    "",
    ...compared,
    "",
    "[docs/benchmarks.md](docs/benchmarks.md) says how this is measured and what it does not say.",
  ].join("\n");
}

/** The report of the benchmarks: medians and ratios of rounds, tables, and the plot. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { plot } from "../../bench/plot.ts";
import { markdown, readmeLines, WRITES } from "../../bench/report.ts";
import { attempt, isIncomplete, note, type Report, ratio, type Section } from "../../bench/results.ts";
import { chartsOf } from "../../bench/side-by-side.ts";

function report(): Report {
  const writes: Section = { name: WRITES, rows: [], notes: ["A note."] };
  for (const [name, clients] of [
    ["1 client", 1],
    ["64 clients", 64],
  ] as const) {
    for (const round of [1, 2, 3]) {
      note(writes, name, "governd", { perSecond: 1_000 * round * clients, p99Ms: 10 * round, cpuUs: 100 });
      // The peer is as much slower as the round is late.
      note(writes, name, "<peer>", { perSecond: 500 * clients, p99Ms: 20, cpuUs: 50 * round });
    }
  }
  const sizes: Section = { name: "Sizes", rows: [], notes: [] };
  note(sizes, "verify", "10,000 events", { ms: 12.34 });
  return {
    date: "2026-01-02",
    machine: "a machine",
    version: "1.2.3",
    shortened: null,
    rounds: 3,
    seconds: 5,
    sections: [writes, sizes],
  };
}

test("a table has the median of each figure and only the measured columns", () => {
  const page = markdown(report(), "results.svg");
  expect(page).toContain("|  |  | per second | p99, ms | CPU each, µs |\n| --- | --- | ---: | ---: | ---: |\n");
  expect(page).toContain("| 64 clients | governd | 128,000 | 20.0 | 100 |");
  expect(page).toContain("| verify | 10,000 events | 12.3 |");
  expect(page).toContain("A note.");
  expect(page).not.toContain("Do not quote");
});

test("a shortened run says so", () => {
  const page = markdown({ ...report(), shortened: "--quick" }, null);
  expect(page).toContain("Shortened run: --quick.");
  expect(page).not.toContain(".svg");
});

test("README quotes the median of the ratios of the rounds at 64 clients", () => {
  const lines = readmeLines(report());
  expect(lines).toContain("- 4.00 times the writes per second of <peer>, with 1.00 times the processor time for each");
  expect(lines).toContain("2026-01-02, a machine");
});

test("README quotes the results that are in the repository", () => {
  const root = join(import.meta.dir, "../..");
  const results = JSON.parse(readFileSync(join(root, "bench/results/results.json"), "utf8"));
  expect(readFileSync(join(root, "README.md"), "utf8")).toContain(readmeLines(results).trim());
});

test("the plot is well-formed and has a line with a point for each number of clients", () => {
  const [writes] = report().sections;
  const svg = plot(chartsOf(writes as Section));
  expect(svg).toContain("&#60;peer&#62;");
  expect(svg.match(/<circle /g)).toHaveLength(2 * 2 * 2);
  expect(svg).not.toMatch(/NaN|undefined|Infinity/);
  const open = svg.match(/<(svg|g|text)\b/g)?.length;
  expect(svg.match(/<\/(svg|g|text)>/g)?.length).toBe(open as number);
});

test("what cannot be measured is named, and the rest is kept", async () => {
  const section: Section = { name: "Sizes", rows: [], notes: ["A note."] };
  expect(isIncomplete(section)).toBe(false);
  expect(await attempt(section, "verify", async () => note(section, "verify", "governd", { ms: 1 }))).toBe(true);
  expect(isIncomplete(section)).toBe(false);
  const failing = async () => {
    throw new Error("no answer");
  };
  expect(await attempt(section, "export", failing)).toBe(false);
  expect(section.rows.length).toBe(1);
  expect(section.notes.at(-1)).toBe("**Not measured: export (no answer)**");
  expect(isIncomplete(section)).toBe(true);
});

test("a peer that failed in a later round is compared in the rounds before", () => {
  const section: Section = { name: WRITES, rows: [], notes: [] };
  for (const perSecond of [100, 400, 300]) note(section, "64 clients", "governd", { perSecond });
  note(section, "64 clients", "peer", { perSecond: 50 });
  const [governd, peer] = section.rows;
  if (governd === undefined || peer === undefined) throw new Error("no rows");
  expect(ratio(governd, peer, "perSecond")).toBe(2);
});

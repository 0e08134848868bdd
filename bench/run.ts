/**
 * `npm run bench`: starts everything itself, measures, and writes a table (Markdown and JSON) and a plot (SVG) into
 * `bench/results/`. docs/benchmarks.md says what is measured and how.
 *
 * `--quick` for a look at a few figures, `--scale N[,N…]` for larger logs beside the one of 10,000 events, `--rounds N`
 * (default 3), `--seconds N` for each load (default 5), `--only writes|batches|scale|neighbours|footprint`, `--readme` to print
 * the lines for README from the last whole run.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { $ } from "bun";
import manifest from "../package.json" with { type: "json" };
import { measureBatches } from "./batches.ts";
import { prepareAgents, startDaemon } from "./daemon.ts";
import { flag, option, percentile, text } from "./figures.ts";
import { measureNeighbours } from "./neighbours.ts";
import { plot } from "./plot.ts";
import { rawInserts } from "./raw-libsql.ts";
import { markdown, readmeLines, WRITES } from "./report.ts";
import { note, type Report, type Section } from "./results.ts";
import { measureScales } from "./scale.ts";
import { chartsOf, measureWrites } from "./side-by-side.ts";
import { ensureWrk, load } from "./wrk.ts";

const ROOT = join(import.meta.dir, "..");
const BINARY = join(ROOT, "dist", "governd");
const RESULTS = join(import.meta.dir, "results");
const SMALLEST = 10_000;
/** After this time the memory of a burst is released. */
const SETTLED_MS = 2_000;

const quick = flag("quick");
const rounds = option("rounds", quick ? 1 : 3);
const seconds = option("seconds", quick ? 1 : 5);
const only = text("only", "");

async function measureFootprint(): Promise<Section> {
  const section: Section = { name: "Footprint", rows: [], notes: [] };
  await using daemon = await startDaemon(BINARY);
  note(section, "start to first response", "governd", { ms: daemon.startMs });
  note(section, "resident after start", "governd", { mib: daemon.residentMiB() });
  await prepareAgents(daemon);
  await load("write", daemon.url, { seconds, apiKey: daemon.apiKey });
  note(section, "resident at the end of a load of writes", "governd", { mib: daemon.residentMiB() });
  await Bun.sleep(SETTLED_MS);
  note(section, "resident two seconds later", "governd", { mib: daemon.residentMiB() });
  note(section, "the same rows, 64 to a transaction", "libSQL alone", { perSecond: rawInserts() });
  return section;
}

async function measureDisturbance(): Promise<Section> {
  const section: Section = { name: "A neighbour's write beside each abuse", rows: [], notes: [] };
  await using daemon = await startDaemon(BINARY);
  for await (const { name, durations } of measureNeighbours(daemon, seconds)) {
    const [p50Ms, p99Ms] = [percentile(durations, 0.5), percentile(durations, 0.99)];
    note(section, name, "small write", { p50Ms, p99Ms, longestMs: durations.at(-1) ?? 0 });
  }
  section.notes.push("A workspace sends a small write every 5 ms while another one does what the row says.");
  return section;
}

const SIZES = [SMALLEST, ...text("scale", "").split(",").filter(Boolean).map(Number)];
const SECTIONS: Record<string, () => Promise<Section>> = {
  writes: () => measureWrites(BINARY, rounds, seconds),
  batches: () => measureBatches(BINARY, rounds, seconds),
  scale: () => measureScales(BINARY, SIZES, rounds, seconds),
  neighbours: measureDisturbance,
  footprint: measureFootprint,
};

function machine(): string {
  const memory = `${Math.round(totalmem() / 1024 ** 3)} GiB`;
  const disk = Bun.spawnSync(["df", "--output=fstype", "/tmp"]).stdout.toString().trim().split("\n").at(-1);
  return `${cpus().length} cores (${cpus()[0]?.model.trim()}), ${memory}, data on ${disk}`;
}

async function main(): Promise<void> {
  if (!existsSync(BINARY)) await $`bun run build`.cwd(ROOT);
  await ensureWrk();
  const shortened = [quick ? "--quick" : "", only && `--only ${only}`].filter(Boolean).join(" ");
  const chosen = Object.entries(SECTIONS).filter(([name]) => only === "" || name === only);
  if (chosen.length === 0) throw new Error(`--only takes one of ${Object.keys(SECTIONS).join(", ")}`);
  const sections: Section[] = [];
  for (const [name, measure] of chosen) {
    console.error(`measuring ${name}`);
    sections.push(await measure());
  }
  const report: Report = {
    date: new Date().toISOString().slice(0, 10),
    machine: machine(),
    version: manifest.version,
    shortened: shortened === "" ? null : shortened,
    rounds,
    seconds,
    sections,
  };
  write(report);
}

/** Writes the files of a run. Only a whole run replaces the files that README quotes. */
function write(report: Report): void {
  mkdirSync(RESULTS, { recursive: true });
  const name = report.shortened === null ? "results" : "shortened";
  const writes = report.sections.find((section) => section.name === WRITES);
  const page = markdown(report, writes === undefined ? null : `${name}.svg`);
  writeFileSync(join(RESULTS, `${name}.md`), page);
  writeFileSync(join(RESULTS, `${name}.json`), `${JSON.stringify(report, null, 2)}\n`);
  if (writes !== undefined) writeFileSync(join(RESULTS, `${name}.svg`), plot(chartsOf(writes)));
  console.log(page);
}

if (flag("readme")) {
  console.log(readmeLines(JSON.parse(readFileSync(join(RESULTS, "results.json"), "utf8"))));
} else {
  await main();
}

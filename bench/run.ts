/**
 * `npm run bench`: starts everything itself, measures, and writes a table (Markdown and JSON) and a plot (SVG) into
 * `bench/results/`. docs/benchmarks.md says what is measured and how.
 *
 * Each part is a process of its own: one that fails, or takes longer than its limit, ends with all that it started, and
 * the others are measured. What was measured is written after each part.
 *
 * `--quick` for a look at a few figures, `--scale N[,N…]` for other logs beside the one of 10,000 events (default
 * 1,000,000; 0 for none), `--rounds N` (default 3), `--seconds N` for each load (default 5), `--limit MINUTES` for each
 * part (default 15), `--only writes|batches|scale|neighbours|footprint`, `--readme` to print the lines for README from the
 * last whole run.
 */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { $ } from "bun";
import manifest from "../package.json" with { type: "json" };
import { measureBatches } from "./batches.ts";
import { prepareAgents, startDaemon } from "./daemon.ts";
import { flag, option, text } from "./figures.ts";
import { measureDisturbance } from "./neighbours.ts";
import { plot } from "./plot.ts";
import { rawInserts } from "./raw-libsql.ts";
import { markdown, readmeLines, WRITES } from "./report.ts";
import { attempt, isIncomplete, note, type Report, type Section } from "./results.ts";
import { measureScales } from "./scale.ts";
import { chartsOf, measureWrites } from "./side-by-side.ts";
import { ensureWrk, load } from "./wrk.ts";

const ROOT = join(import.meta.dir, "..");
const BINARY = join(ROOT, "dist", "governd");
const RESULTS = join(import.meta.dir, "results");
const SMALLEST = 10_000;
const LARGE = 1_000_000;
/** After this time the memory of a burst is released. */
const SETTLED_MS = 2_000;

const quick = flag("quick");
const rounds = option("rounds", quick ? 1 : 3);
const seconds = option("seconds", quick ? 1 : 5);
const only = text("only", "");
/** How long a part may take, minutes. */
const limitMinutes = option("limit", 15);

async function measureFootprint(section: Section): Promise<void> {
  await using daemon = await startDaemon(BINARY);
  note(section, "start to first response", "governd", { ms: daemon.startMs });
  note(section, "resident after start", "governd", { mib: daemon.residentMiB() });
  await prepareAgents(daemon);
  await load("write", daemon.url, { seconds, apiKey: daemon.apiKey });
  note(section, "resident at the end of a load of writes", "governd", { mib: daemon.residentMiB() });
  await Bun.sleep(SETTLED_MS);
  note(section, "resident two seconds later", "governd", { mib: daemon.residentMiB() });
  note(section, "the same rows, 64 to a transaction", "libSQL alone", { perSecond: rawInserts() });
}

const SIZES = [
  SMALLEST,
  ...text("scale", quick ? "" : `${LARGE}`)
    .split(",")
    .filter(Number)
    .map(Number),
];

/** What is measured. The figures of a part that fails half way are kept. */
const PARTS: Record<string, { title: string; measure(section: Section): Promise<void> }> = {
  writes: { title: WRITES, measure: (section) => measureWrites(section, BINARY, rounds, seconds) },
  batches: { title: "Batches", measure: (section) => measureBatches(section, BINARY, rounds, seconds) },
  scale: {
    title: "Operations by the size of the log",
    measure: (section) => measureScales(section, BINARY, SIZES, rounds, seconds),
  },
  neighbours: {
    title: "A neighbour's write beside each abuse",
    measure: (section) => measureDisturbance(section, BINARY, seconds),
  },
  footprint: { title: "Footprint", measure: measureFootprint },
};

/** How often a part saves what it has measured so far. */
const SAVE_EVERY_MS = 1_000;

/** Measures one part, as a process of its own, into a file. */
async function measurePart(name: string, file: string): Promise<void> {
  const { title, measure } = PARTS[name] as (typeof PARTS)[string];
  const section: Section = { name: title, rows: [], notes: [] };
  const save = () => writeFileSync(file, JSON.stringify(section));
  save();
  setInterval(save, SAVE_EVERY_MS).unref();
  await attempt(section, "the rest of this part", () => measure(section));
  save();
  process.exit();
}

/** Runs a part, and ends everything that it started, after its limit at the latest. Returns what it has measured. */
async function runPart(name: string): Promise<Section> {
  const directory = mkdtempSync(join(tmpdir(), "governd-bench-"));
  const file = join(directory, "section.json");
  chmodSync(directory, 0o755); // PostgreSQL runs as another user
  const command = [process.execPath, import.meta.path, ...process.argv.slice(2), "--part", name, "--into", file];
  const child = Bun.spawn(command, {
    stdin: "ignore",
    stdout: "inherit",
    stderr: "inherit",
    detached: true,
    env: { ...process.env, TMPDIR: directory },
  });
  let isLate = false;
  const late = setTimeout(() => {
    isLate = true;
    endGroup(child.pid);
  }, limitMinutes * 60_000);
  const code = await child.exited;
  clearTimeout(late);
  // A part that was killed may have left servers running.
  endGroup(child.pid);
  const section: Section = existsSync(file)
    ? JSON.parse(readFileSync(file, "utf8"))
    : { name: PARTS[name]?.title, rows: [], notes: [] };
  rmSync(directory, { recursive: true, force: true });
  if (isLate) section.notes.push(`**This part was stopped after ${limitMinutes} minutes.**`);
  else if (code !== 0) section.notes.push(`**This part ended with the code ${code}.**`);
  return section;
}

/** Kills a process group. */
function endGroup(leader: number): void {
  try {
    process.kill(-leader, "SIGKILL");
  } catch (error) {
    if ((error as { code?: unknown }).code !== "ESRCH") throw error;
  }
}

function machine(): string {
  const memory = `${Math.round(totalmem() / 1024 ** 3)} GiB`;
  const disk = Bun.spawnSync(["df", "--output=fstype", "/tmp"]).stdout.toString().trim().split("\n").at(-1);
  return `${cpus().length} cores (${cpus()[0]?.model.trim()}), ${memory}, data on ${disk}`;
}

async function main(): Promise<void> {
  if (!existsSync(BINARY)) await $`bun run build`.cwd(ROOT);
  await ensureWrk();
  const shortened = [quick ? "--quick" : "", only && `--only ${only}`].filter(Boolean).join(" ");
  const chosen = Object.keys(PARTS).filter((name) => only === "" || name === only);
  if (chosen.length === 0) throw new Error(`--only takes one of ${Object.keys(PARTS).join(", ")}`);
  const report: Report = {
    date: new Date().toISOString().slice(0, 10),
    machine: machine(),
    version: manifest.version,
    shortened: shortened === "" ? null : shortened,
    rounds,
    seconds,
    sections: [],
  };
  for (const name of chosen) {
    console.error(`measuring ${name}`);
    const section = await runPart(name);
    report.sections.push(section);
    if (isIncomplete(section)) process.exitCode = 1;
    write(report);
  }
  console.log(readFileSync(join(RESULTS, `${nameOf(report)}.md`), "utf8"));
}

/** Only a run of all parts replaces the files that README quotes. */
const nameOf = ({ shortened }: Report): string => (shortened === null ? "results" : "shortened");

/** Writes what was measured until now. */
function write(report: Report): void {
  mkdirSync(RESULTS, { recursive: true });
  const name = nameOf(report);
  const writes = report.sections.find(({ name: title, rows }) => title === WRITES && rows.length > 0);
  const page = markdown(report, writes === undefined ? null : `${name}.svg`);
  writeFileSync(join(RESULTS, `${name}.md`), page);
  writeFileSync(join(RESULTS, `${name}.json`), `${JSON.stringify(report, null, 2)}\n`);
  if (writes !== undefined) writeFileSync(join(RESULTS, `${name}.svg`), plot(chartsOf(writes)));
}

const part = text("part", "");
if (part !== "") {
  await measurePart(part, text("into", ""));
} else if (flag("readme")) {
  console.log(readmeLines(JSON.parse(readFileSync(join(RESULTS, "results.json"), "utf8"))));
} else {
  await main();
}

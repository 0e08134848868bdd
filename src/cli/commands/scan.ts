/** `governd scan`: shows what policies would decide about the texts in a file, before they are switched on. */
import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import { decideAlone } from "../../core/writer/admission.ts";
import { cannotRead, EXIT, Failure, messageOf, readText } from "../../failure.ts";
import { systemClock } from "../../ids.ts";
import { isJsonObject, type JsonValue } from "../../json.ts";
import { checkedPolicies } from "../../ops/config/schema.ts";
import { type Finding, findingsOf, type Outcome, outcomeOf } from "../../screen/decide.ts";
import { detectorWords } from "../../screen/detectors.ts";
import { LIMITS, type LimitName } from "../../screen/limits.ts";
import { examplePolicies, type PolicySettings, policiesOf, screeningPolicies } from "../../screen/policies.ts";
import type { Session } from "../session.ts";
import { DASH, STANDARD_INPUT } from "../standard-streams.ts";
import { table } from "../terminal.ts";

interface ScanOptions {
  policy?: string;
  policies?: string;
  key?: string;
  whole?: boolean;
  bench?: boolean;
}

/** One piece of the input, screened as one value. */
interface Piece {
  line: number;
  text: string;
}

const DESCRIPTION = `try policies on your own data

Every line is screened as one value. Nothing is stored, and matched text is not printed. With --whole the whole
file is one value. A file for --policies holds the member "policies" of a config, or a whole config, as JSON.`;

const EXIT_HELP = "\nExit codes: 0 nothing would be blocked or redacted, 1 something would, 2 usage or environment.";

/** A line of the input with findings, and what the policies would decide about it. */
interface ScannedLine {
  line: number;
  outcome: Outcome;
  findings: readonly Finding[];
  /** The limit that it exceeds. */
  limit?: LimitName;
}

const NAMES: readonly string[] = [...screeningPolicies(), "all"];
const CHOICES = `${NAMES.slice(0, -1).join(", ")} or ${NAMES.at(-1)}`;

/** How often the input is screened when it is timed. */
const BENCH_ROUNDS = 5;

export function addScan(program: Command, session: Session): void {
  program
    .command("scan")
    .summary("try policies on a file")
    .description(DESCRIPTION)
    .argument("[file]", `the file to read; ${STANDARD_INPUT}`, DASH)
    .option("--policy <name>", `${CHOICES}, which is the default`)
    .option("--policies <file>", "the policies, as a config has them, in a JSON file")
    .option("--key <key>", "the key that the values would be stored under; its words help to recognize them", "")
    .option("--whole", "screen the whole input as one value")
    .option("--bench", "also measure how long screening takes")
    .option("--json", "print JSON")
    .addHelpText("after", EXIT_HELP)
    .action((file: string, options: ScanOptions) => scan(session, file, options));
}

async function scan(session: Session, file: string, options: ScanOptions): Promise<void> {
  const policies = policiesChosen(options);
  const text = await read(file);
  const pieces = options.whole ? [{ line: 1, text }] : linesOf(text);
  const key = options.key ?? "";
  const found = pieces.flatMap((piece) => screened(piece, key, policies));
  const [blocked, redacted, reported] = (["block", "redact", "audit"] as const).map(
    (outcome) => found.filter((one) => one.outcome === outcome).length,
  ) as [number, number, number];
  if (blocked + redacted > 0) session.exitCode = EXIT.no;
  const bench = options.bench ? measure(pieces, key, policies) : undefined;
  const rows = found.flatMap(({ line, findings, limit }) => [
    ...(limit === undefined ? [] : [[`${line}`, "block", LIMITS, limit]]),
    ...findings.map(({ policy, detector, start, end, mode }) => [
      `${line}:${start + 1}-${end}`,
      mode,
      policy,
      detectorWords(detector),
    ]),
  ]);
  const lines = rows.length > 0 ? [...table(["line:characters", "mode", "policy", "what"], rows), ""] : [];
  lines.push(`${blocked} of ${pieces.length} values would be blocked.`);
  if (redacted > 0) lines.push(`${redacted} would be stored with what was found replaced.`);
  if (reported > 0) lines.push(`${reported} would be stored, and what was found reported.`);
  if (bench) {
    const { median_us, slowest_us, mib_per_second } = bench;
    lines.push(`Screening: median ${median_us} µs per value, slowest ${slowest_us} µs, ${mib_per_second} MiB/s.`);
  }
  await session.print({ values: pieces.length, blocked, redacted, reported, lines: found, bench }, lines);
}

function policiesChosen({ policy, policies }: ScanOptions): PolicySettings {
  if (policies === undefined) return policiesNamed(policy ?? "all");
  if (policy !== undefined) throw new Failure("usage", "Give either --policy or --policies, not both.");
  return policiesIn(policies);
}

function policiesNamed(name: string): PolicySettings {
  if (!NAMES.includes(name)) throw new Failure("usage", `--policy must be ${CHOICES}.`);
  const chosen = screeningPolicies().filter((policy) => name === "all" || policy === name);
  return examplePolicies(chosen);
}

/** @throws {Failure} `usage` when the file has no policies, or the API would not accept them */
function policiesIn(path: string): PolicySettings {
  const text = readText("usage", path);
  try {
    const read = JSON.parse(text) as JsonValue;
    const members = isJsonObject(read) && Object.hasOwn(read, "policies") ? (read.policies as JsonValue) : read;
    return policiesOf({ policies: checkedPolicies(members) });
  } catch (error) {
    throw new Failure("usage", `The policies in ${path} cannot be used: ${messageOf(error)}`);
  }
}

async function read(file: string): Promise<string> {
  try {
    return file === DASH ? await Bun.stdin.text() : await readFile(file, "utf8");
  } catch (error) {
    throw cannotRead("usage", file, error);
  }
}

function linesOf(text: string): Piece[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line, index) => ({ line: index + 1, text: line }));
}

function screened({ line, text }: Piece, key: string, policies: PolicySettings): ScannedLine[] {
  const decision = decideAlone(policies, { key, value: text, metadata: {} }, systemClock());
  // The operator chose the key here, so it is not data to be screened.
  const findings = findingsOf(decision).filter((finding) => finding.field === "value");
  const limit = decision.allowed ? undefined : decision.limit;
  if (findings.length === 0 && limit === undefined) return [];
  return [{ line, outcome: outcomeOf(decision), findings, ...(limit && { limit }) }];
}

/** Measures each piece's fastest of several rounds, so that other programs disturb the result little. */
function measure(pieces: readonly Piece[], key: string, policies: PolicySettings) {
  const fastest = pieces.map(() => Number.POSITIVE_INFINITY);
  for (let round = 0; round < BENCH_ROUNDS; round++) {
    for (const [index, { text }] of pieces.entries()) {
      const begin = Bun.nanoseconds();
      decideAlone(policies, { key, value: text, metadata: {} });
      fastest[index] = Math.min(fastest[index] as number, Bun.nanoseconds() - begin);
    }
  }
  const sorted = fastest.toSorted((a, b) => a - b);
  const total = sorted.reduce((sum, one) => sum + one, 0);
  const units = pieces.reduce((sum, { text }) => sum + text.length, 0);
  const inMicroseconds = (nanoseconds: number | undefined) => Math.round((nanoseconds ?? 0) / 10) / 100;
  return {
    median_us: inMicroseconds(sorted[sorted.length >> 1]),
    slowest_us: inMicroseconds(sorted.at(-1)),
    mib_per_second: total === 0 ? 0 : Math.round((units / 2 ** 20 / (total / 1e9)) * 10) / 10,
  };
}

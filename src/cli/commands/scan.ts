/** `governd scan`: shows what the screening policies would block in a file, before one of them is switched on. */
import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import { cannotRead, EXIT, Failure } from "../../failure.ts";
import { decide, type Finding } from "../../policy/decide.ts";
import { detectorWords } from "../../policy/detectors.ts";
import { examplePolicies, type PolicySettings, screeningPolicies } from "../../policy/policies.ts";
import type { Session } from "../session.ts";
import { table } from "../terminal.ts";

interface ScanOptions {
  policy?: string;
  key?: string;
  whole?: boolean;
  bench?: boolean;
}

/** One piece of the input, screened as one value. */
interface Piece {
  line: number;
  text: string;
}

const DESCRIPTION = `try the screening policies on your own data

Every line is screened as one value. Nothing is stored, and matched text is not printed. With --whole the whole
file is one value.`;

const EXIT_HELP = "\nExit codes: 0 nothing would be blocked, 1 something would, 2 usage or environment.";

const NAMES: readonly string[] = [...screeningPolicies(), "all"];
const CHOICES = `${NAMES.slice(0, -1).join(", ")} or ${NAMES.at(-1)}`;

/** How often the input is screened when it is timed. */
const BENCH_ROUNDS = 5;

export function addScan(program: Command, session: Session): void {
  program
    .command("scan")
    .summary("try the screening policies on a file")
    .description(DESCRIPTION)
    .argument("[file]", "the file to read; - means standard input", "-")
    .option("--policy <name>", CHOICES, "all")
    .option("--key <key>", "the key that the values would be stored under; its words help to recognize them", "")
    .option("--whole", "screen the whole input as one value")
    .option("--bench", "also measure how long screening takes")
    .option("--json", "print JSON")
    .addHelpText("after", EXIT_HELP)
    .action((file: string, options: ScanOptions) => scan(session, file, options));
}

async function scan(session: Session, file: string, options: ScanOptions): Promise<void> {
  const policies = policiesNamed(options.policy ?? "all");
  const text = await read(file);
  const pieces = options.whole ? [{ line: 1, text }] : linesOf(text);
  const key = options.key ?? "";
  const found = pieces.flatMap((piece) => screened(piece, key, policies));
  if (found.length > 0) session.exitCode = EXIT.no;
  const bench = options.bench ? measure(pieces, key, policies) : undefined;
  const rows = found.flatMap(({ line, findings }) =>
    findings.map(({ policy, detector, start, end }) => [
      `${line}:${start + 1}-${end}`,
      policy,
      detectorWords(detector),
    ]),
  );
  const lines = rows.length > 0 ? [...table(["line:characters", "policy", "what"], rows), ""] : [];
  lines.push(`${found.length} of ${pieces.length} values would be blocked.`);
  if (bench) {
    const { median_us, slowest_us, mib_per_second } = bench;
    lines.push(`Screening: median ${median_us} µs per value, slowest ${slowest_us} µs, ${mib_per_second} MiB/s.`);
  }
  await session.print({ values: pieces.length, blocked: found.length, lines: found, bench }, lines);
}

function policiesNamed(name: string): PolicySettings {
  if (!NAMES.includes(name)) throw new Failure("usage", `--policy must be ${CHOICES}.`);
  const chosen = screeningPolicies().filter((policy) => name === "all" || policy === name);
  return examplePolicies(chosen);
}

async function read(file: string): Promise<string> {
  try {
    return file === "-" ? await Bun.stdin.text() : await readFile(file, "utf8");
  } catch (error) {
    throw cannotRead("usage", file, error);
  }
}

function linesOf(text: string): Piece[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line, index) => ({ line: index + 1, text: line }));
}

function screened(
  { line, text }: Piece,
  key: string,
  policies: PolicySettings,
): { line: number; findings: Finding[] }[] {
  const decision = decide(policies, { key, value: text, metadata: {} });
  // The operator chose the key here, so it is not data to be screened.
  const findings = decision.allowed ? [] : decision.findings.filter((finding) => finding.field === "value");
  return findings.length > 0 ? [{ line, findings }] : [];
}

/** Measures each piece's fastest of several rounds, so that other programs disturb the result little. */
function measure(pieces: readonly Piece[], key: string, policies: PolicySettings) {
  const fastest = pieces.map(() => Number.POSITIVE_INFINITY);
  for (let round = 0; round < BENCH_ROUNDS; round++) {
    for (const [index, { text }] of pieces.entries()) {
      const begin = Bun.nanoseconds();
      decide(policies, { key, value: text, metadata: {} });
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

/** `governd verify`: evidence against itself, offline, without writing anything. */
import type { Command } from "commander";
import {
  EXIT_CODES,
  type ReportedProblem,
  type SourceResult,
  type Verdict,
  verdictOf,
} from "../evidence/report.ts";
import type { Session } from "./program.ts";
import { Progress } from "./verify-progress.ts";
import { expand, verifySources } from "./verify-sources.ts";
import { sourceLines, verdictLine } from "./verify-text.ts";

interface VerifyOptions {
  publicKey?: string;
  seal?: string;
  agent?: string;
  json?: boolean;
  quiet?: boolean;
}

const DESCRIPTION = `verify workspaces and exports, with no daemon and no network

Checks every event, every link between events, and everything stored beside the log against the log.
Nothing is written: the evidence is the same afterwards, byte for byte.`;

const EXIT_HELP = `
Exit codes: 0 everything that was asked holds, 1 tampering was found, 2 it cannot be established
(unreadable, not a log, empty, a seal missing that was asked for). 1 outranks 2.`;

export function addVerify(program: Command, session: Session): void {
  program
    .command("verify")
    .summary("verify workspaces and exports offline")
    .description(DESCRIPTION)
    .argument("<evidence...>", "workspace files (.db), exports (json, ndjson), data directories")
    .option("--public-key <key>", "the key that seals must be signed with: a file or the key itself")
    .option("--seal <file>", "a seal that was kept elsewhere: the log must continue it")
    .option("--agent <id>", "only this agent")
    .option("--json", "print JSON")
    .option("--quiet", "print nothing but what is wrong")
    .addHelpText("after", EXIT_HELP)
    .action((paths: string[], options: VerifyOptions) => verify(session, paths, options));
}

async function verify(session: Session, paths: readonly string[], options: VerifyOptions): Promise<void> {
  const { terminal } = session;
  const progress = new Progress(terminal, !options.quiet);
  const results: SourceResult[] = [];
  try {
    for (const path of paths) {
      const sources = await expand(path);
      if (!Array.isArray(sources)) results.push(sources);
      else results.push(...(await verifySources(sources, options.agent, progress)));
    }
  } finally {
    await progress.clear();
  }
  forgiveOtherPlaces(results);
  askForSeals(results, options);
  const verdict = verdictOf(results);
  session.exitCode = EXIT_CODES[verdict];
  await terminal.out(options.json ? json(verdict, results) : text(verdict, results, options));
}

/** An agent lives in one workspace: that others do not know it is only said when none does. */
function forgiveOtherPlaces(results: SourceResult[]): void {
  const isElsewhere = ({ report, verdict }: SourceResult): boolean =>
    verdict === "undetermined" && report.problems.every(({ code }) => code === "agent_unknown");
  if (results.every(isElsewhere)) return;
  for (const result of results.filter(isElsewhere)) {
    result.report.problems = [];
    result.problemCount = 0;
    result.verdict = "verified";
  }
}

/** Workspaces and exports of this version bring no seals, so what is asked of one cannot be shown. */
function askForSeals(results: SourceResult[], { publicKey, seal }: VerifyOptions): void {
  if (publicKey === undefined && seal === undefined) return;
  const message =
    seal === undefined
      ? "there is no seal in it that the given key could have signed"
      : "there is no seal in it that could be compared with the given one";
  const problem: ReportedProblem = { code: "seal_missing", seq: null, id: null, message };
  for (const result of results) {
    result.report.problems.push(problem);
    result.problemCount += 1;
    if (result.verdict === "verified") result.verdict = "undetermined";
  }
}

function json(verdict: Verdict, results: readonly SourceResult[]): string {
  const sources = results.map(({ report }) => report);
  return `${JSON.stringify({ verdict, exit_code: EXIT_CODES[verdict], sources })}\n`;
}

function text(verdict: Verdict, results: readonly SourceResult[], { quiet, agent }: VerifyOptions): string {
  const shown = quiet ? results.filter((result) => result.verdict !== "verified") : results;
  const lines = shown.flatMap((result) => sourceLines(result, agent));
  if (!quiet || verdict !== "verified") lines.push(verdictLine(verdict, results));
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
}

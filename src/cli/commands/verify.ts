/** `governd verify`: evidence against itself, offline, without writing anything. */
import { availableParallelism } from "node:os";
import { type Command, InvalidArgumentError } from "commander";
import { readEncryptionKey } from "../../datadir/encryption-key.ts";
import { sealedWorkspace } from "../../log/seal.ts";
import { loadSettings } from "../../settings/load.ts";
import type { EncryptionKey } from "../../store/encryption.ts";
import {
  EXIT_CODES,
  type ReportedProblem,
  type SourceResult,
  type Verdict,
  verdictOf,
} from "../../verify/report.ts";
import { readTrust, type Trust } from "../../verify/trust.ts";
import { addSettingOptions, settingFlags } from "../options.ts";
import type { Session } from "../session.ts";
import { Progress } from "../verify/progress.ts";
import { expand, verifySources } from "../verify/sources.ts";
import { sourceLines, verdictLine } from "../verify/text.ts";

interface VerifyOptions {
  encryptionKeyFile?: string;
  publicKey?: string;
  seal?: string[];
  agent?: string;
  json?: boolean;
  quiet?: boolean;
  threads?: number;
}

const DESCRIPTION = `verify workspaces, exports and receipts, with no daemon and no network

Checks every event, every link between events, every seal, and everything stored beside the log against it.
Nothing is written: the evidence is the same afterwards, byte for byte.`;

const EXIT_HELP = `
Exit codes: 0 everything that was asked holds, 1 tampering was found, 2 it cannot be established
(unreadable, not a log, empty, a seal missing that was asked for). 1 outranks 2.`;

export function addVerify(program: Command, session: Session): void {
  const command = program
    .command("verify")
    .summary("verify workspaces and exports offline")
    .description(DESCRIPTION)
    .argument("<evidence...>", "workspace files (.db), exports (json, ndjson), receipts, data directories")
    .option("--public-key <key>", "the key that seals must be signed with: a file or the key itself")
    .option("--seal <file...>", "seals that were kept elsewhere: the log must continue them")
    .option("--agent <id>", "only this agent")
    .option("--threads <n>", "how many threads verify a large workspace or export; 1 to 64", threadCount)
    .option("--json", "print JSON")
    .option("--quiet", "print nothing but what is wrong")
    .addHelpText("after", EXIT_HELP)
    .action((paths: string[], options: VerifyOptions) => verify(session, paths, options));
  addSettingOptions(command, ["encryption_key_file"]);
}

const MAX_THREADS = 64;

function threadCount(text: string): number {
  const count = /^[0-9]{1,3}$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= MAX_THREADS) return count;
  throw new InvalidArgumentError(`Give a number from 1 to ${MAX_THREADS}.`);
}

async function verify(session: Session, paths: readonly string[], options: VerifyOptions): Promise<void> {
  const { terminal } = session;
  const trust = readTrust(options);
  const encryptionKey = lazyKey(options);
  const progress = new Progress(terminal, !options.quiet);
  const asked = {
    agentId: options.agent,
    trust,
    threads: options.threads ?? availableParallelism(),
    encryptionKey,
  };
  const results: SourceResult[] = [];
  try {
    for (const path of paths) {
      const sources = await expand(path, encryptionKey);
      if (!Array.isArray(sources)) results.push(sources);
      else results.push(...(await verifySources(sources, asked, progress)));
    }
  } finally {
    await progress.clear();
  }
  forgiveOtherPlaces(results);
  askForSeals(results, trust);
  const verdict = verdictOf(results);
  session.exitCode = EXIT_CODES[verdict];
  await terminal.out(options.json ? json(verdict, results) : text(verdict, results, options));
}

/** The settings are only read when there is something encrypted: evidence that needs no key is verified without them. */
function lazyKey(options: VerifyOptions): () => EncryptionKey | null {
  let key: EncryptionKey | null | undefined;
  return () => {
    if (key === undefined) {
      key = readEncryptionKey(loadSettings(settingFlags({ ...options })).settings.encryption_key_file);
    }
    return key;
  };
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

/** A seal that was brought and is of no workspace here was asked for in vain. */
function askForSeals(results: SourceResult[], { seals }: Trust): void {
  const ids = new Set(results.map(({ report }) => report.workspace_id));
  if (seals.length === 0 || seals.some((seal) => ids.has(sealedWorkspace(seal)))) return;
  const message = "the given seal is of another workspace, so there is nothing to compare it with";
  const problem: ReportedProblem = { code: "seal_missing", seq: null, id: null, message };
  for (const result of results) {
    if (result.report.problems.some(({ code }) => code === "seal_missing")) continue;
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

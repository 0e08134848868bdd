/** `governd verify`: verifies evidence offline, without writing anything. */
import { availableParallelism } from "node:os";
import type { Command } from "commander";
import { digestOfFile } from "../../backup/files.ts";
import { readEncryptionKey } from "../../core/datadir/encryption-key.ts";
import { Failure } from "../../failure.ts";
import { sealedWorkspace } from "../../log/seal.ts";
import type { Settings } from "../../settings/definitions.ts";
import { serverToken } from "../../settings/server-options.ts";
import type { EncryptionKey } from "../../store/encryption.ts";
import { type ObstacleCode, REPORT_SCHEMA } from "../../verify/codes.ts";
import type { Verdict } from "../../verify/problems.ts";
import { EXIT_CODES, overallVerdict, reportedObstacle, type SourceResult } from "../../verify/report.ts";
import { readTrust, type Trust } from "../../verify/trust.ts";
import { addCommonOptions, collect, type Session, settingsOf, wholeNumber } from "../session.ts";
import { isServer, verifyServer } from "../verify/pulled.ts";
import { verifyPath } from "../verify/sources.ts";
import { sourceLines, verdictLine } from "../verify/text.ts";

interface VerifyOptions {
  publicKey?: string[];
  seal?: string[];
  witnessKey?: string[];
  witnessQuorum?: number;
  complete?: boolean;
  keep?: string;
  agent?: string;
  quiet?: boolean;
  jsonSchema?: boolean;
  threads?: number;
}

const DESCRIPTION = `verify workspaces, exports and receipts, with no daemon; only a URL of a libSQL server needs a network

Checks every event, every link between events and every seal, and compares all stored data with the log. Of a data
directory, it also compares which workspaces there are with the log of the installation. Nothing is written:
the evidence stays the same, byte for byte.`;

const EXIT_HELP = `
Exit codes: 0 verified, 1 tampering was found, 2 it cannot be established (unreadable, not a log, empty, a requested
seal is missing, or events may be missing and --complete was given). 1 outranks 2.`;

export function addVerify(program: Command, session: Session): void {
  const command = program
    .command("verify")
    .summary("verify workspaces and exports offline")
    .description(DESCRIPTION)
    .argument(
      "[evidence...]",
      "workspace files (.db), exports (json, ndjson), receipts, data directories, the URL of a libSQL server",
    )
    .option("--public-key <key>", "a public key that you trust, as a file or the key itself; may be repeated", collect)
    .option("--seal <file...>", "seals that you kept elsewhere; the log must continue them")
    .option("--witness-key <key>", "a witness's verifier key, as a file or the key itself; may be repeated", collect)
    .option(
      "--witness-quorum <n>",
      "how many of the witnesses must have cosigned a seal (default: all)",
      wholeNumber(1),
    )
    .option("--complete", "require proof that no event is missing, or which part this is")
    .option("--agent <id>", "verify only this agent")
    .option("--threads <n>", "number of threads for a large workspace or export, 1 to 64", wholeNumber(1, 64))
    .option("--keep <dir>", "keep what was pulled from a libSQL server: as a data directory, which must not exist yet")
    .option("--quiet", "print only problems")
    .option("--json-schema", "print the JSON Schema of the report that --json prints")
    .addHelpText("after", EXIT_HELP)
    .action((paths: string[], options: VerifyOptions) => verify(session, paths, options));
  addCommonOptions(command, ["encryption_key_file", "engine_auth_token", "replica_urls"]);
}

async function verify(session: Session, paths: readonly string[], options: VerifyOptions): Promise<void> {
  if (options.jsonSchema) {
    const { Report } = await import("../../verify/report-schema.ts");
    return await session.terminal.out(`${JSON.stringify(Report, null, 2)}\n`);
  }
  if (paths.length === 0) throw new Failure("usage", "Name the evidence: a file or a data directory.");
  const { keep = null } = options;
  if (keep !== null && (paths.length > 1 || !paths.every(isServer)))
    throw new Failure("usage", "--keep needs the URL of one libSQL server, and no other evidence.");
  const trust = readTrust(options);
  const quorum = quorumOf(options);
  const encryptionKey = lazyKey(options);
  const asked = { agentId: options.agent, trust, threads: options.threads ?? availableParallelism(), encryptionKey };
  const results = await session.withProgress(
    async (progress) => {
      const all: SourceResult[] = [];
      const at = (path: string) => verifyPath(path, asked, progress);
      for (const path of paths) {
        const server = isServer(path) ? serverAt(path, settingsOf(options)) : null;
        all.push(...(await (server === null ? at(path) : verifyServer(server, { progress, keep }, at))));
      }
      return all;
    },
    { bar: !options.quiet },
  );
  forgiveOtherPlaces(results);
  askForSeals(results, trust);
  askForWitnesses(results, quorum);
  if (options.complete) askForCompleteness(results);
  findPrunedExports(results);
  const verdict = overallVerdict(results);
  session.exitCode = EXIT_CODES[verdict];
  await session.terminal.out(session.json ? json(verdict, results) : text(verdict, results, options));
}

const serverAt = (url: string, settings: Settings) => ({
  url,
  authToken: serverToken(settings),
  replicaUrls: settings.replica_urls,
});

/** Reads the settings only when there is an encrypted database: other evidence is verified without them. */
function lazyKey(options: VerifyOptions): () => EncryptionKey | null {
  let key: EncryptionKey | null | undefined;
  return () => {
    if (key === undefined) key = readEncryptionKey(settingsOf(options).encryption_key_file);
    return key;
  };
}

/** An agent belongs to one workspace, so "unknown agent" is only reported when no workspace knows it. */
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

/** Reports a given seal that belongs to none of the verified workspaces. */
function askForSeals(results: SourceResult[], { anchors = [] }: Trust): void {
  const ids = new Set(results.map(({ report }) => report.workspace_id));
  if (anchors.length === 0 || anchors.some((seal) => ids.has(sealedWorkspace(seal)))) return;
  const message = "the given seal belongs to another workspace, so it cannot be compared";
  for (const result of results) {
    if (!result.report.problems.some(({ code }) => code === "seal_missing")) doubt(result, "seal_missing", message);
  }
}

/** Compares the given exports with the exports that a workspace's prunes name by their digests. */
function findPrunedExports(results: SourceResult[]): void {
  const named = results.flatMap(({ report }) => report.prunings ?? []);
  if (named.length === 0) return;
  for (const { report } of results) {
    if (report.kind !== "export") continue;
    const digest = digestOfFile(report.path).sha256;
    for (const pruning of named) if (pruning.export_digest === digest) pruning.export = report.path;
  }
}

/** Reports evidence that fewer witnesses than required have cosigned. */
function askForWitnesses(results: SourceResult[], quorum: number): void {
  for (const result of results) {
    const { witnesses = [] } = result.report;
    if (quorum === 0 || witnesses.length >= quorum) continue;
    const names = witnesses.map(({ name }) => name).join(", ");
    const by = names === "" ? "" : ` (${names})`;
    const message = `${witnesses.length} of the ${quorum} required witnesses have cosigned a seal of this log${by}: wait until they have, or give a cosigned seal with --seal`;
    doubt(result, "witness_missing", message);
  }
}

/**
 * Returns how many witnesses are required; 0 for none.
 * @throws {Failure} `usage` when more are required than were given
 */
function quorumOf({ witnessKey = [], witnessQuorum }: VerifyOptions): number {
  if (witnessQuorum === undefined || witnessQuorum <= witnessKey.length) return witnessQuorum ?? witnessKey.length;
  const message = `--witness-quorum ${witnessQuorum} requires more witnesses than the ${witnessKey.length} that --witness-key names.`;
  throw new Failure("usage", message);
}

/** Reports evidence that may lack events. */
function askForCompleteness(results: SourceResult[]): void {
  for (const result of results) {
    const { completeness, verdict } = result;
    if (verdict !== "verified" || completeness.is !== "unknown") continue;
    doubt(result, "completeness_unknown", `completeness cannot be established: ${completeness.why}`);
  }
}

/** Adds a reason why otherwise good evidence cannot be established. */
function doubt(result: SourceResult, code: ObstacleCode, message: string): void {
  result.report.problems.push(reportedObstacle(code, message));
  result.problemCount += 1;
  if (result.verdict === "verified") result.verdict = "undetermined";
}

function json(verdict: Verdict, results: readonly SourceResult[]): string {
  const sources = results.map(({ report }) => report);
  return `${JSON.stringify({ schema: REPORT_SCHEMA, verdict, exit_code: EXIT_CODES[verdict], sources })}\n`;
}

function text(verdict: Verdict, results: readonly SourceResult[], { quiet, agent }: VerifyOptions): string {
  const shown = quiet ? results.filter((result) => result.verdict !== "verified") : results;
  const lines = shown.flatMap((result) => sourceLines(result, agent));
  if (!quiet || verdict !== "verified") lines.push(verdictLine(verdict, results));
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
}

/** `governd verify`: verifies evidence offline, without writing anything. */
import { availableParallelism } from "node:os";
import type { Command } from "commander";
import { digestOfFile } from "../../backup/files.ts";
import { readEncryptionKey } from "../../core/datadir/encryption-key.ts";
import { Failure, orNull, readText } from "../../failure.ts";
import type { Settings } from "../../settings/definitions.ts";
import { serverToken } from "../../settings/server-options.ts";
import type { EncryptionKey } from "../../store/encryption.ts";
import { REPORT_SCHEMA } from "../../verify/codes.ts";
import { type Judgement, judge } from "../../verify/judge.ts";
import { EXIT_CODES, type SourceResult } from "../../verify/report.ts";
import { readTrust, type TrustOptions } from "../../verify/trust.ts";
import { addCommonOptions, collect, type Session, settingsOf, wholeNumber } from "../session.ts";
import { isServer, verifyServer } from "../verify/pulled.ts";
import { verifyPath } from "../verify/sources.ts";
import { SIGNER_UNKNOWN, sourceLines, verdictLine } from "../verify/text.ts";
import { askedWitnesses } from "../verify/witnesses.ts";

interface VerifyOptions extends TrustOptions {
  witnessUrl?: string[];
  timestampCa?: string[];
  complete?: boolean;
  keep?: string;
  agent?: string;
  quiet?: boolean;
  jsonSchema?: boolean;
  threads?: number;
}

const DESCRIPTION = `verify workspaces, exports, receipts and proofs, with no daemon; only the URL of a libSQL server or a witness needs a network

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
      "workspace files (.db), exports (json, ndjson), receipts, proofs, data directories, the URL of a libSQL server",
    )
    .option("--public-key <key>", "a public key that you trust, as a file or the key itself; may be repeated", collect)
    .option("--seal <file...>", "seals that you kept elsewhere; the log must continue them")
    .option("--witness-key <key>", "a witness's verifier key, as a file or the key itself; may be repeated", collect)
    .option(
      "--witness-quorum <n>",
      "how many of the witnesses must have cosigned a seal (default: all)",
      wholeNumber(1),
    )
    .option("--policy <file>", "a file that states all of these keys and the quorum instead (C2SP tlog-policy)")
    .option(
      "--witness-url <prefix>",
      "the https address of a witness, which says what the newest seal of the log is; may be repeated",
      collect,
    )
    .option("--timestamp-ca <file...>", "authorities (PEM) of time stamps, of which a seal must have one (RFC 3161)")
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
  const checkStamps = options.timestampCa && (await stampCheck(options.timestampCa));
  const asked = {
    ...{ agentId: options.agent, trust, threads: options.threads ?? availableParallelism() },
    witnesses: askedWitnesses(options.witnessUrl ?? [], trust),
    encryptionKey: lazyKey(options),
  };
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
  await checkStamps?.(results);
  const digestOf = (path: string) => digestOfFile(path).sha256;
  const judged = judge(results, { trust, complete: options.complete === true, digestOf });
  session.exitCode = EXIT_CODES[judged.verdict];
  await session.terminal.out(session.json ? json(judged, results) : text(judged, results, options));
}

/** Reads the authorities of time stamps. Returns what checks the time stamps of evidence; its library is loaded only then. */
async function stampCheck(files: readonly string[]): Promise<(results: SourceResult[]) => Promise<void>> {
  const [{ checkTimestamps }, { readAuthorities, TimestampError }] = await Promise.all([
    import("../../verify/timestamps.ts"),
    import("../../log/timestamp-token.ts"),
  ]);
  const authorities = files.flatMap((path) => {
    const found = orNull(TimestampError, () => readAuthorities(readText("usage", path)));
    if (found !== null) return found;
    throw new Failure("usage", `--timestamp-ca ${path} is no file of certificates in PEM.`);
  });
  return (results) => checkTimestamps(results, authorities);
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

function json({ verdict, isSignerKnown }: Judgement, results: readonly SourceResult[]): string {
  const sources = results.map(({ report }) => report);
  const exit_code = EXIT_CODES[verdict];
  return `${JSON.stringify({ schema: REPORT_SCHEMA, verdict, exit_code, signer_known: isSignerKnown, sources })}\n`;
}

function text(judged: Judgement, results: readonly SourceResult[], { quiet, agent }: VerifyOptions): string {
  const { verdict } = judged;
  const shown = quiet ? results.filter((result) => result.verdict !== "verified") : results;
  const lines = shown.flatMap((result) => sourceLines(result, agent));
  if (!quiet || verdict !== "verified") lines.push(verdictLine(verdict, results));
  if (!quiet && verdict === "verified" && !judged.isSignerKnown) lines.unshift(SIGNER_UNKNOWN);
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
}

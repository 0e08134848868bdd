/** `governd prove`: a file that proves what an agent had stored at a time, with or without a running daemon. */
import { closeSync, openSync, writeSync } from "node:fs";
import type { Command } from "commander";
import { isAgentId } from "../../agent-id.ts";
import { wholeText } from "../../core/long-text.ts";
import type { Answer } from "../../core/writer/contract.ts";
import type { WorkspaceWriter } from "../../core/writer/perform.ts";
import { NO_SITE } from "../../core/writer/site.ts";
import { Failure, systemReason } from "../../failure.ts";
import type { JsonValue } from "../../json.ts";
import { seesSetAside } from "../../log/event.ts";
import { hasValues, type ProofFile, parseProof } from "../../log/state/proof.ts";
import type { ProofRequest } from "../../operation-facts.ts";
import { cliPrincipal } from "../../ops/directory/journal.ts";
import { Problem } from "../../problem.ts";
import { jobOf, lookOf } from "../../serve/threads/registry.ts";
import type { Reader } from "../../store/transaction.ts";
import { performSealed, writeWorkspace } from "../data-directory.ts";
import { addCommonOptions, dateOrTime, type Session, STORED } from "../session.ts";
import { claimLine } from "../verify/proof-text.ts";

interface ProveOptions {
  workspace: string;
  agent: string;
  at: number;
  key?: string;
  prefix?: string;
  complete?: boolean;
  withValues?: boolean;
  output: string;
}

const DESCRIPTION = `prove what an agent had stored at a time

Takes the newest state root that was recorded at that time or before (the setting state_roots), and writes a file that
proves one of three things: that the agent held a value under a key; that it had nothing under a key or a prefix; or that
these are all of its entries, or all under a prefix. \`governd verify\` and tools/verify.py check the file without anything
else but the public key. The log records that the proof was made.`;

export function addProve(program: Command, session: Session): void {
  const command = program
    .command("prove")
    .summary("prove what an agent had stored at a time, or that it had not")
    .description(DESCRIPTION)
    .requiredOption("--workspace <id>", "the workspace")
    .requiredOption("--agent <id>", "the agent")
    .requiredOption("--at <time>", "the time that the proof is about (2026-01-31 or RFC 3339)", dateOrTime)
    .option("--key <key>", "the entry under this key, or that there is none")
    .option("--prefix <prefix>", "or all entries under this prefix, or that there is none")
    .option("--complete", "or all entries of the agent")
    .option("--with-values", "put the values, the metadata and the salts of the entries into the file")
    .requiredOption("--output <file>", "write the proof to this file, which must not exist")
    .action((options: ProveOptions) => prove(session, options));
  addCommonOptions(command, [...STORED, "seal_key"]);
}

async function prove(session: Session, options: ProveOptions): Promise<void> {
  const input = requestOf(options);
  const answer = await writeWorkspace(options, options.workspace, (writer, connection) =>
    proofOf(session, writer, connection, input),
  );
  if (answer?.kind === "problem") {
    const { kept_since: since } = answer.extra ?? {};
    const kept = typeof since === "string" ? ` The oldest state root that is there was recorded at ${since}.` : "";
    throw new Failure(answer.code === "moment_gone" ? "not_found" : "busy", `${answer.detail}${kept}`);
  }
  if (answer?.kind !== "json") throw new Error("a proof has an answer");
  const text = `${wholeText(answer.body)}\n`;
  const { file, sealed } = parseProof(Buffer.from(text));
  save(options.output, text);
  await session.print(summaryOf(file, options.output, sealed.event.timestamp), [
    `Wrote ${options.output}, by the state root that was recorded at ${sealed.event.timestamp}:`,
    claimLine({ ...file, entries: file.entries.length, with_values: hasValues(file) }),
  ]);
}

/** @throws {Failure} `usage` unless the options name one thing to prove */
function requestOf({ agent, at, key, prefix, complete, withValues = false }: ProveOptions): ProofRequest {
  const given = [key, prefix, complete].filter((one) => one !== undefined).length;
  if (given !== 1) throw new Failure("usage", "Say what to prove: give one of --key, --prefix and --complete.");
  if (key === "" || prefix === "") throw new Failure("usage", "--key and --prefix must not be empty.");
  if (!isAgentId(agent)) throw new Failure("usage", "--agent is not the id of an agent.");
  const about = key !== undefined ? { key } : prefix !== undefined ? { prefix } : {};
  return { agentId: agent, atMs: at, ...about, withValues };
}

/** Looks first, so that a daemon can go on writing meanwhile, and then records that the proof was made. */
async function proofOf(
  session: Session,
  writer: WorkspaceWriter,
  connection: Reader,
  input: ProofRequest,
): Promise<Answer | undefined> {
  const { workspaceId } = writer;
  const principal = cliPrincipal(workspaceId);
  const nowMs = writer.nowMs();
  const apart = <T>(read: (reader: Reader) => Promise<T>) => read(connection);
  const around = {
    ...{ workspaceId, principal, nowMs, apart, site: NO_SITE, seesSetAside: seesSetAside(principal.actor) },
    ...{ indexes: undefined as never, queryEmbedder: null },
  };
  const name = "proof.create";
  try {
    const found = (await lookOf(name)(connection, around, input)) as JsonValue;
    const { run } = jobOf({ name, input, principal }, found);
    return (await performSealed(session, writer, { operation: name, run }))?.answer;
  } catch (error) {
    if (error instanceof Problem) throw new Failure("usage", error.message);
    throw error;
  }
}

const summaryOf = ({ claim, entries }: ProofFile, output: string, recordedAt: string) => ({
  output,
  claim,
  entries: entries.length,
  recorded_at: recordedAt,
});

/** Writes a new file. @throws {Failure} `usage` when it exists or cannot be written */
function save(path: string, text: string): void {
  let file: number;
  try {
    file = openSync(path, "wx");
  } catch (error) {
    throw new Failure("usage", `The proof ${path} cannot be created: ${systemReason(error)}.`, { cause: error });
  }
  try {
    writeSync(file, text);
  } finally {
    closeSync(file);
  }
}

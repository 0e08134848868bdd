/** `governd audit`: the newest events of the log of the installation, or an export of it, without a running daemon. */

import { closeSync, openSync, writeSync } from "node:fs";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { Reply } from "../../core/writer/contract.ts";
import type { WorkspaceWriter } from "../../core/writer/perform.ts";
import { Failure, systemReason } from "../../failure.ts";
import type { PresentedEvent } from "../../log/present.ts";
import { EXPORT_FORMATS, type ExportFormat } from "../../operation-facts.ts";
import { eventFacts, type OperationInputs } from "../../operations.ts";
import { streamExport } from "../../ops/audit/export.ts";
import { requireRecorded } from "../../ops/directory/journal.ts";
import { lookingRun } from "../../serve/threads/registry.ts";
import { bodyOf, consult, performSealed, writeWorkspace } from "../data-directory.ts";
import { addCommonOptions, dateOrTime, type Session, STORED, wholeNumber } from "../session.ts";
import { DASH, STANDARD_OUTPUT } from "../standard-streams.ts";
import { table } from "../terminal.ts";

const MAX_EVENTS = 1_000;
const USUAL_EVENTS = 50;

interface AuditOptions {
  installation?: boolean;
  limit: number;
  operations?: string[];
  result?: string;
  since?: number;
  export?: string;
  format: ExportFormat;
}

const DESCRIPTION = `show the log of the installation, newest events first

It holds what people and the operator do to accounts. With --export, a file for \`governd verify\` is written instead.
The log records that it was read.`;

export function addAudit(program: Command, session: Session): void {
  const command = program
    .command("audit")
    .summary("show or export the log of the installation")
    .description(DESCRIPTION)
    .requiredOption("--installation", "the log of the installation; logs of workspaces are read with an API key")
    .option("--limit <n>", `at most so many events, up to ${MAX_EVENTS}`, wholeNumber(1, MAX_EVENTS), USUAL_EVENTS)
    .option("--operations <names>", "only these operations, separated by commas", operationsOf)
    .option("--result <result>", "only events with this result: ok or denied")
    .option("--since <time>", "only events at or after this time (2026-01-31 or RFC 3339)", dateOrTime)
    .option("--export <file>", `write an export to this file, which must not exist; ${STANDARD_OUTPUT}`)
    .addOption(new Option("--format <format>", "the form of the export").choices(EXPORT_FORMATS).default("json"))
    .action((options: AuditOptions) => runAudit(session, options));
  addCommonOptions(command, [...STORED, "seal_key"]);
}

function operationsOf(text: string): string[] {
  const names = [...new Set(text.split(","))].sort();
  const unknown = names.find((name) => eventFacts(name) === undefined);
  if (unknown === undefined) return names;
  throw new InvalidArgumentError("It has an unknown name.");
}

async function runAudit(session: Session, options: AuditOptions): Promise<void> {
  const id = await consult(options, ({ madeId }) => madeId);
  if (id === undefined) return session.print({ data: [] }, ["Nothing was done to accounts yet."]);
  const window = options.since === undefined ? {} : { startMs: options.since };
  await writeWorkspace(options, id, async (writer, connection) => {
    const { export: file, format, limit, operations, result } = options;
    const scope = { scope: "workspace" } as const;
    if (file === undefined) {
      const filters = { ...(operations && { operations }), ...(result === undefined ? {} : { results: [result] }) };
      const page = { limit, offset: 0 };
      const reply = await asked(session, writer, "audit.query", { scope, window, page, ...filters });
      return showEvents(session, bodyOf(reply));
    }
    const { answer } = await asked(session, writer, "audit.export", { scope, window, format });
    if (answer.kind !== "stream" || answer.body.kind !== "export") throw new Error("an export without a body");
    const text = streamExport(connection, answer.body, id);
    const bytes = file === DASH ? await sendOut(session, text) : await save(file, text);
    const where = file === DASH ? "standard output" : file;
    await session.printBeside(file, { export: file, bytes }, [`Exported the log of the installation to ${where}.`]);
  });
}

/** Performs an operation that looks something up, as the command line. @throws {Failure} `busy` when it could not be recorded */
async function asked<N extends "audit.query" | "audit.export">(
  session: Session,
  writer: WorkspaceWriter,
  operation: N,
  input: OperationInputs[N],
): Promise<Reply> {
  const reply = await performSealed(session, writer, { operation, run: lookingRun(operation, input) });
  requireRecorded(reply);
  return reply as Reply;
}

async function showEvents(session: Session, body: { data: PresentedEvent[] }): Promise<void> {
  const rows = body.data.map((event) => [
    event.timestamp,
    event.operation,
    event.result,
    event.actor,
    event.details === null ? "(erased)" : JSON.stringify(event.details),
  ]);
  await session.print(body, table(["TIME", "OPERATION", "RESULT", "ACTOR", "DETAILS"], rows, "No such events."));
}

async function sendOut({ terminal }: Session, text: AsyncIterable<string>): Promise<number> {
  let bytes = 0;
  for await (const piece of text) {
    await terminal.out(piece);
    bytes += Buffer.byteLength(piece);
  }
  return bytes;
}

/** Writes a new file and returns its size. @throws {Failure} `usage` when it exists or cannot be written */
async function save(path: string, text: AsyncIterable<string>): Promise<number> {
  let file: number;
  try {
    file = openSync(path, "wx");
  } catch (error) {
    throw new Failure("usage", `The export ${path} cannot be created: ${systemReason(error)}.`, { cause: error });
  }
  try {
    let bytes = 0;
    for await (const piece of text) bytes += writeSync(file, piece);
    return bytes;
  } finally {
    closeSync(file);
  }
}

/**
 * `governd prune`: retention of the log itself. Only what is sealed and is in a verified export of this
 * very log loses its bodies; without --yes it is only said what would happen.
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import type { Command } from "commander";
import { cliPrincipal, requireWorkspace, sealOrSay, withWriter } from "../../daemon/recorder.ts";
import { sealKeySource } from "../../datadir/seal-key.ts";
import { Failure, systemReason } from "../../failure.ts";
import { parseTimestamp } from "../../http/timestamp.ts";
import { sameHash } from "../../log/merkle.ts";
import { NoteError, parseVerifierKey } from "../../log/note.ts";
import { parseSeal } from "../../log/seal.ts";
import { loadSettings } from "../../settings/load.ts";
import { countPrunable, PRUNE, pruneBoundary, prunedBefore } from "../../state/pruning.ts";
import { newestSeal, sealingKeys } from "../../state/seals.ts";
import { treeRoot } from "../../state/tree.ts";
import type { Reader } from "../../store/transaction.ts";
import { ExportVerifier } from "../../verify/events/export-read.ts";
import { answered } from "../../workspace/operation.ts";
import type { WorkspaceWriter } from "../../workspace/perform.ts";
import { directoryOf } from "../administer.ts";
import { addSettingOptions, settingFlags } from "../options.ts";
import type { Session } from "../session.ts";
import { printResult } from "../terminal.ts";

interface PruneOptions {
  workspace: string;
  before: string;
  export?: string;
  yes?: boolean;
  json?: boolean;
}

const DESCRIPTION = `drop the bodies of old audit events

The hashes stay, so every seal, proof and receipt of them holds. What stored data is proved by is kept.
Needed is an export (json or ndjson, scope workspace) that reaches over everything that goes; it is
verified first, and its digest is recorded. Without --yes nothing is changed.`;

export function addPrune(program: Command, session: Session): void {
  const command = program
    .command("prune")
    .summary("drop the bodies of old audit events that are exported and sealed")
    .description(DESCRIPTION)
    .requiredOption("--workspace <id>", "the workspace")
    .requiredOption("--before <date>", "events before this date (2026-01-31 or RFC 3339)")
    .option("--export <file>", "the export that holds them")
    .option("--yes", "do it")
    .option("--json", "print JSON")
    .action((options: PruneOptions) => runPrune(session, options));
  addSettingOptions(command, ["data_dir", "encryption_key_file", "seal_key"]);
}

async function runPrune({ terminal }: Session, options: PruneOptions): Promise<void> {
  const timestamp = timestampOf(options.before);
  const { settings } = loadSettings(settingFlags({ ...options }));
  const directory = directoryOf(settings);
  requireWorkspace(directory, options.workspace);
  const key = sealKeySource(directory, settings.seal_key);
  await withWriter(directory, key, options.workspace, async (writer, connection) => {
    const from = await prunedBefore(connection);
    const beforeSeq = await pruneBoundary(connection, timestamp, (await newestSeal(connection))?.size ?? 0);
    const events = beforeSeq <= from ? 0 : await countPrunable(connection, beforeSeq);
    const plan = { from_seq: from, before_seq: Math.max(from, beforeSeq), events };
    if (events === 0 || !options.yes) {
      const lines =
        events === 0
          ? ["Nothing to prune: no whole stretch of 256 sealed events is older."]
          : [
              `Would drop the bodies of ${events} events before event ${beforeSeq}.`,
              "Do it with --yes and --export FILE.",
            ];
      return printResult(terminal, options.json ?? false, { ...plan, pruned: false }, lines);
    }
    if (options.export === undefined) {
      throw new Failure("usage", "Name the export that holds these events: --export FILE.");
    }
    const digest = await verifiedExport(connection, options.export, {
      from,
      beforeSeq,
      id: options.workspace,
    });
    const pruned = await perform(writer, { beforeSeq, timestamp, digest });
    await sealOrSay(writer, terminal);
    await printResult(
      terminal,
      options.json ?? false,
      { ...plan, events: pruned, pruned: true, export_digest: digest },
      [
        `Dropped the bodies of ${pruned} events before event ${beforeSeq}.`,
        `Keep the export: SHA-256 ${digest}`,
      ],
    );
  });
}

/** A date alone is its beginning, UTC. */
function timestampOf(text: string): string {
  const ms = parseTimestamp(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text);
  if (ms === null) throw new Failure("usage", "--before is no date: write it as 2026-01-31.");
  return new Date(ms).toISOString();
}

async function perform(
  writer: WorkspaceWriter,
  what: { beforeSeq: number; timestamp: string; digest: string },
): Promise<number> {
  let events = 0;
  const [settled] = await writer.perform([
    {
      operation: PRUNE,
      principal: cliPrincipal(writer.workspaceId),
      async run(reader) {
        const { beforeSeq } = what;
        events = await countPrunable(reader, beforeSeq);
        const details = {
          before_seq: beforeSeq,
          before_time: what.timestamp,
          events,
          export_digest: what.digest,
        };
        return answered(null, details, "{}", { effect: { kind: "prune", beforeSeq, events } });
      },
    },
  ]);
  if (settled?.auditId) return events;
  throw new Failure(
    "busy",
    "The workspace could not be written just now, so nothing was changed. Try again.",
  );
}

/**
 * The SHA-256 of an export that holds this log's events from `from` to before `beforeSeq`.
 * @throws {Failure} `usage` when it does not
 */
async function verifiedExport(
  reader: Reader,
  path: string,
  wanted: { from: number; beforeSeq: number; id: string },
): Promise<string> {
  const refuse = (reason: string) =>
    new Failure("usage", `The export ${path} ${reason}. Nothing was changed.`);
  for (const { verifierKey } of (await sealingKeys(reader)).reverse()) {
    const { publicKey } = parseVerifierKey(verifierKey);
    const verifier = new ExportVerifier({ publicKey });
    const hash = createHash("sha256");
    try {
      for await (const piece of createReadStream(path)) {
        hash.update(piece);
        verifier.push(piece);
      }
    } catch (error) {
      throw refuse(`cannot be read: ${systemReason(error)}`);
    }
    const found = verifier.finish();
    if (found.undetermined !== null) throw refuse(`is no whole export: ${found.undetermined}`);
    // Another key of this log may have sealed it.
    if (!found.valid && found.problems.every(({ code }) => code === "seal_signature")) continue;
    if (!found.valid) throw refuse("does not verify: see `governd verify`");
    if (found.workspaceId !== wanted.id || found.header?.agent_id !== null) {
      throw refuse("is not one of this whole workspace");
    }
    const { chainStart, chainEnd } = found;
    if (chainStart === null || chainEnd === null) throw refuse("holds no events");
    if (chainStart.seq > wanted.from || chainEnd.seq < wanted.beforeSeq - 1) {
      throw refuse(`does not reach over the events ${wanted.from} to ${wanted.beforeSeq - 1}`);
    }
    if (!(await isSealOf(reader, found.header.seal))) throw refuse("is not sealed as a part of this log");
    return hash.digest("hex");
  }
  throw refuse("is not sealed by a key of this log");
}

/** Whether the seal of an export is over this very log. */
async function isSealOf(reader: Reader, note: string | null): Promise<boolean> {
  try {
    if (note === null) return false;
    const seal = parseSeal(note);
    return sameHash(seal.root, await treeRoot(reader, seal.size));
  } catch (error) {
    if (error instanceof NoteError) return false;
    throw error;
  }
}

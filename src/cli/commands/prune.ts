/**
 * `governd prune`: drops the bodies of old audit events. It only drops events that are sealed and that a verified
 * export of this log holds. Without --yes it only says what it would drop.
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import type { Command } from "commander";
import { countPrunable, keptBy, PRUNE, pruneBoundary, prunedBefore } from "../../core/rows/log/pruning.ts";
import { newestSeal, sealingKeys } from "../../core/rows/log/seals.ts";
import { treeRoot } from "../../core/rows/log/tree.ts";
import { answered } from "../../core/writer/operation.ts";
import { Failure, systemReason } from "../../failure.ts";
import { type Hold, holdOf, holdWords } from "../../follow/sinks/hold.ts";
import { showTime, systemClock } from "../../ids.ts";
import { sameHash } from "../../log/merkle.ts";
import { NoteError, parseVerifierKey } from "../../log/note.ts";
import { parseSeal } from "../../log/seal.ts";
import { requireRecorded } from "../../ops/directory/journal.ts";
import type { Reader } from "../../store/transaction.ts";
import { ExportVerifier } from "../../verify/events/export-read.ts";
import { verifyWorkspace } from "../../verify/workspace.ts";
import { performSealed, scrubLog, writeWorkspace } from "../data-directory.ts";
import { addCommonOptions, dateOrTime, type Session, STORED, settingsOf } from "../session.ts";

interface PruneOptions {
  workspace: string;
  /** Milliseconds since the epoch. */
  before: number;
  export?: string;
  yes?: boolean;
}

const DESCRIPTION = `drop the bodies of old audit events

The hashes stay, so every seal, proof and receipt stays valid. Events that prove stored data are kept. You need
an export (json or ndjson, scope workspace) that covers all events to be dropped. It is verified first, and its
digest is recorded. Events that a sink has not delivered are kept for sink_hold_days. Without --yes nothing is
changed.`;

export function addPrune(program: Command, session: Session): void {
  const command = program
    .command("prune")
    .summary("drop the bodies of old audit events that are exported and sealed")
    .description(DESCRIPTION)
    .requiredOption("--workspace <id>", "the workspace")
    .requiredOption("--before <date>", "events before this date (2026-01-31 or RFC 3339)", dateOrTime)
    .option("--export <file>", "the export that holds these events")
    .option("--yes", "drop the events; without it, only say what would be dropped")
    .action((options: PruneOptions) => runPrune(session, options));
  addCommonOptions(command, [...STORED, "seal_key", "sink_hold_days"]);
}

const DAY_MS = 86_400_000;

async function runPrune(session: Session, options: PruneOptions): Promise<void> {
  const beforeMs = new Date(options.before).getTime();
  await writeWorkspace(options, options.workspace, async (writer, connection) => {
    const from = await prunedBefore(connection);
    const sealed = (await newestSeal(connection))?.size ?? 0;
    const boundary = await pruneBoundary(connection, beforeMs, sealed);
    const hold = await heldForSinks(options, connection);
    const beforeSeq = await pruneBoundary(connection, beforeMs, Math.min(sealed, hold?.from ?? sealed));
    const events = beforeSeq <= from ? 0 : await countPrunable(connection, beforeSeq);
    const waiting = hold !== null && beforeSeq < boundary ? { from_seq: hold.from, sinks: hold.sinks } : null;
    const why = hold !== null && waiting !== null ? [holdWords(hold, holdDays(options))] : [];
    const plan = { from_seq: from, before_seq: Math.max(from, beforeSeq), events, waiting };
    if (events === 0 || !options.yes) {
      const found = `Would drop the bodies of ${events} events before event ${beforeSeq}.`;
      const none = "Nothing to prune: no complete block of 256 sealed events is older.";
      const lines = [...(events === 0 ? [none] : [found, "To drop them, add --yes and --export FILE."]), ...why];
      return session.print({ ...plan, pruned: false }, lines);
    }
    if (options.export === undefined) {
      throw new Failure("usage", "Name the export that holds these events with --export FILE.");
    }
    // The prune's event states what is stored, so an earlier forgery would count as genuine afterwards.
    if (!(await verifyWorkspace(connection, { scope: "workspace" })).valid) {
      throw new Failure("usage", "The workspace does not verify: see `governd verify`. Nothing was changed.");
    }
    const digest = await verifiedExport(connection, options.export, { from, beforeSeq, id: options.workspace });
    let dropped = 0;
    const reply = await performSealed(session, writer, {
      operation: PRUNE,
      async run(reader, context) {
        const events = await countPrunable(reader, beforeSeq);
        dropped = events;
        const kept = await keptBy(reader, beforeSeq, () => context.pause());
        const details = { before_seq: beforeSeq, before_time: showTime(beforeMs), events, export_digest: digest, kept };
        return answered(null, details, "{}", { effect: { kind: "prune", beforeSeq, events } });
      },
    });
    requireRecorded(reply);
    await session.print({ ...plan, events: dropped, pruned: true, export_digest: digest }, [
      `Dropped the bodies of ${dropped} events before event ${beforeSeq}.`,
      `Keep the export: SHA-256 ${digest}`,
      ...why,
    ]);
  });
  await scrubLog(options, options.workspace);
}

const holdDays = (options: object): number => settingsOf(options).sink_hold_days;

/** Returns the events that the workspace's sinks have not delivered and may still need; null for none. */
async function heldForSinks(options: PruneOptions, reader: Reader): Promise<Hold | null> {
  const days = holdDays(options);
  return days === 0 ? null : await holdOf(reader, systemClock() - days * DAY_MS);
}

/**
 * Verifies that an export holds this log's events from `from` up to, but not including, `beforeSeq`. Returns the
 * SHA-256 of the export.
 * @throws {Failure} `usage` when it does not hold them
 */
async function verifiedExport(
  reader: Reader,
  path: string,
  wanted: { from: number; beforeSeq: number; id: string },
): Promise<string> {
  const refuse = (reason: string) => new Failure("usage", `The export ${path} ${reason}. Nothing was changed.`);
  const publicKeys = (await sealingKeys(reader)).map(({ verifierKey }) => parseVerifierKey(verifierKey).publicKey);
  const verifier = new ExportVerifier({ publicKeys });
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
  if (found.undetermined !== null) throw refuse(`is not a complete export: ${found.undetermined}`);
  if (!found.valid) throw refuse("does not verify: see `governd verify`");
  if (found.workspaceId !== wanted.id || found.header?.agent_id !== null) {
    throw refuse("does not cover this whole workspace");
  }
  const { chainStart, chainEnd } = found;
  if (chainStart === null || chainEnd === null) throw refuse("holds no events");
  if (chainStart.seq > wanted.from || chainEnd.seq < wanted.beforeSeq - 1) {
    throw refuse(`does not cover the events ${wanted.from} to ${wanted.beforeSeq - 1}`);
  }
  if (found.seals?.sealedThrough == null) throw refuse("is not sealed by a key of this log");
  if (!(await isSealOf(reader, found.header.seal))) throw refuse("is not sealed as a part of this log");
  return hash.digest("hex");
}

/** Reports whether the seal of an export belongs to this log. */
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

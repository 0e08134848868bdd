/**
 * `governd compact`: returns the disk space of deleted data to the file system. A running daemon compacts on its own
 * threads; without a daemon, the command compacts.
 */
import { existsSync, statSync } from "node:fs";
import type { Command } from "commander";
import { type CompactRequest, dropRequest, leaveRequest, takeAnswer } from "../../core/datadir/compact-request.ts";
import { type DataDirectory, workspaceFile } from "../../core/datadir/layout.ts";
import { isLocked, ownDataDirectory } from "../../core/datadir/lock.ts";
import { checkTail } from "../../core/writer/head.ts";
import { EXIT, Failure } from "../../failure.ts";
import { RandomPool } from "../../ids.ts";
import { Installation } from "../../ops/directory/installation.ts";
import { requireWorkspaceFile } from "../../ops/directory/journal.ts";
import { listLogIds } from "../../ops/directory/workspaces.ts";
import {
  afterStep,
  type Compacted,
  type CompactionTrouble,
  hasSpace,
  shrinkStep,
  spaceOf,
} from "../../store/compaction.ts";
import { type Connection, openConnection } from "../../store/connection.ts";
import { isDriverError } from "../../store/damage.ts";
import { integrityProblem } from "../../store/snapshot.ts";
import { transact } from "../../store/transaction.ts";
import { dataDirectoryOf } from "../data-directory.ts";
import { addCommonOptions, type Session, wholeNumber } from "../session.ts";
import { count, mebibytes } from "../terminal.ts";

const DESCRIPTION = `give the disk space of deleted data back to the file system

After erase, prune, deletions and expiry a workspace's file keeps its size, and later data fill it. This command cuts
the free pages off, beside the running daemon, which does it in steps of a few milliseconds, or without one. Without
names, all workspaces are compacted.`;

const EXIT_HELP = `
Exit codes: 0 done, 1 some workspaces could not be compacted, 2 usage or environment.`;

const REASONS: Record<CompactionTrouble, string> = {
  no_space: "the disk has not enough free space for it",
  unavailable: "it cannot be read or written: run `governd check`; the daemon's log says more",
};

const POLL_MS = 100;
const ID_BYTES = 16;
/** How long another command may keep the daemon busy, ms. */
const MOST_WAIT_MS = 60_000;

interface CompactOptions {
  from?: number;
}

interface Result {
  workspace_id: string;
  bytes_before: number;
  bytes_after: number;
  /** The longest time that the workspace's writes waited for a step, ms. */
  longest_pause_ms: number;
  /** Why it was not compacted, or not completely; null when it was. */
  reason: string | null;
}

/** Compacts a workspace, in the daemon or in this process. */
type Compact = (workspaceId: string) => Promise<Compacted>;

export function addCompact(program: Command, session: Session): void {
  const compact = program
    .command("compact")
    .summary("give the disk space of deleted data back to the file system")
    .description(DESCRIPTION)
    .argument("[workspace...]", "workspaces (default: all)")
    .option("--from <percent>", "only files of which this part is free", wholeNumber(0, 100), 0)
    .addHelpText("after", EXIT_HELP)
    .action((ids: string[], options: CompactOptions) => runCompact(session, ids, options));
  addCommonOptions(compact, ["data_dir", "encryption_key_file"]);
}

async function runCompact(session: Session, ids: string[], options: CompactOptions): Promise<void> {
  const { directory } = dataDirectoryOf(options);
  for (const id of ids) requireWorkspaceFile(directory, id);
  const beside = isLocked(directory);
  using _lock = beside ? null : ownDataDirectory(directory);
  const compact: Compact = beside
    ? (workspaceId) => askDaemon(directory, workspaceId)
    : async (workspaceId) => compactFile(directory, workspaceId);
  const results = await session.withProgress(async (progress) => {
    const found = ids.length > 0 ? ids : await allWorkspaces(directory);
    return await compactAll(directory, found, options.from ?? 0, compact, (done, total) =>
      progress.step(done, total, "workspaces"),
    );
  });
  const failed = results.filter(({ reason }) => reason !== null);
  if (failed.length > 0) session.exitCode = EXIT.no;
  const givenBack = results.reduce((sum, { bytes_before, bytes_after }) => sum + bytes_before - bytes_after, 0);
  const json = {
    given_back: givenBack,
    workspaces: results,
    failed: failed.map(({ workspace_id, reason }) => ({ workspace_id, reason })),
  };
  await session.print(json, [
    ...results.map(lineOf),
    `Gave back ${mebibytes(givenBack)} of ${count(results.length, "workspace")}.`,
  ]);
}

function lineOf({ workspace_id, bytes_before, bytes_after, longest_pause_ms, reason }: Result): string {
  if (reason !== null) return `${workspace_id}: not compacted: ${reason}`;
  return `${workspace_id}: ${mebibytes(bytes_before)} before, ${mebibytes(bytes_after)} after, longest pause ${longest_pause_ms} ms`;
}

async function allWorkspaces(directory: DataDirectory): Promise<string[]> {
  using installation = await Installation.open(directory);
  const ids = await installation.read(listLogIds, []);
  return ids.filter((id) => existsSync(workspaceFile(directory, id)));
}

/** Compacts the workspaces whose files are at least `from` percent free. */
async function compactAll(
  directory: DataDirectory,
  ids: readonly string[],
  from: number,
  compact: Compact,
  onProgress: (done: number, total: number) => Promise<void>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const [index, id] of ids.entries()) {
    await onProgress(index, ids.length);
    const result = await compactOne(directory, id, from, compact);
    if (result !== null) results.push(result);
  }
  return results;
}

/** Returns null when the workspace has too little free space. */
async function compactOne(directory: DataDirectory, id: string, from: number, compact: Compact) {
  try {
    const space = look(directory, id, spaceOf);
    if (space.free === 0 || 100 * space.free < from * space.total) return null;
    const done = await compact(id);
    const damage = done.trouble === null ? look(directory, id, verified) : null;
    return resultOf(id, done, damage);
  } catch (error) {
    if (!isDriverError(error)) throw error;
    return resultOf(id, { before: 0, after: 0, longestMs: 0, trouble: "unavailable" }, null);
  }
}

function resultOf(id: string, { before, after, longestMs, trouble }: Compacted, damage: string | null): Result {
  return {
    workspace_id: id,
    bytes_before: before,
    bytes_after: after,
    longest_pause_ms: Math.ceil(longestMs),
    reason: damage ?? (trouble === null ? null : REASONS[trouble]),
  };
}

/** Returns what is wrong with a compacted workspace, or null. */
function verified(connection: Connection): string | null {
  checkTail(connection);
  return integrityProblem(connection);
}

function look<T>(directory: DataDirectory, id: string, read: (connection: Connection) => T): T {
  using connection = openConnection(workspaceFile(directory, id), {
    readOnly: true,
    encryptionKey: directory.encryptionKey,
  });
  return read(connection);
}

/** Compacts a file in this process; no daemon runs. */
function compactFile(directory: DataDirectory, id: string): Compacted {
  const path = workspaceFile(directory, id);
  const before = statSync(path).size;
  const beganMs = performance.now();
  const trouble = shrink(path, directory.encryptionKey);
  return { before, after: statSync(path).size, longestMs: performance.now() - beganMs, trouble };
}

function shrink(path: string, encryptionKey: DataDirectory["encryptionKey"]): CompactionTrouble | null {
  using connection = openConnection(path, { encryptionKey });
  for (let more = true; more; ) {
    if (!hasSpace(path, 0)) return "no_space";
    more = transact(connection, () => shrinkStep(connection, () => performance.now()));
    afterStep(connection);
  }
  connection.truncateLog();
  return null;
}

/** Asks the running daemon to compact a workspace. @throws {Failure} `busy` when it does not, or has stopped */
async function askDaemon(directory: DataDirectory, workspaceId: string): Promise<Compacted> {
  const id = Buffer.from(new RandomPool().take(ID_BYTES)).toString("hex");
  const request: CompactRequest = { id, workspaceId };
  const giveUpMs = performance.now() + MOST_WAIT_MS;
  while (!leaveRequest(directory, request)) {
    if (performance.now() > giveUpMs)
      throw new Failure("busy", "Another `governd compact` runs on this data directory.");
    await Bun.sleep(POLL_MS);
  }
  for (;;) {
    const answer = takeAnswer(directory, request.id);
    if (answer !== null) return answer.compacted;
    if (!isLocked(directory)) {
      dropRequest(directory);
      throw new Failure("busy", "The daemon stopped before it was done. Run the command again.");
    }
    await Bun.sleep(POLL_MS);
  }
}

/**
 * Checks that a workspace's file continues the log that was served before. An older copy does not: it lacks
 * acknowledged events, whose positions must not be used again. An older copy is accepted only if it declares a restore
 * (`log.restore`) that is not known yet, so that the log itself says that those events are gone.
 */
import { HASH_BYTES, sameHash } from "../../log/merkle.ts";
import { NoteError } from "../../log/note.ts";
import { LOG_RESTORE, parseSeal, type Seal, sealedWorkspace } from "../../log/seal.ts";
import { TILE_WIDTH } from "../../log/tiles.ts";
import { type Connection, openConnection } from "../../store/connection.ts";
import { sqliteCode } from "../../store/damage.ts";
import type { WorkspaceHead } from "../heads/tree.ts";
import { newestSeal, sealOfSize } from "../rows/log/seals.ts";
import { treeRoot } from "../rows/log/tree.ts";
import { holdsSeal, lastFiledSeal } from "../seals/seal-file.ts";
import { checkTail, type Head, readHead } from "./head.ts";
import { isStorageFailure, MISSING, MissingWorkspace, OVERWRITTEN, ReplacedWorkspace } from "./storage-failure.ts";

/** A head that was served. */
export interface KnownHead extends Head {
  /** The hash of the event, or its beginning. */
  hash: string;
  /** Restores that were declared after this moment, ms since the Unix epoch, are not known yet. */
  knownMs: number;
}

const ADVICE = "put the newest file back, or one that `governd restore` made";

/**
 * Returns null when the log continues from `known`. Otherwise returns when the restore was declared that explains the
 * gap, ms since the Unix epoch.
 * @throws {ReplacedWorkspace} when no restore explains the gap
 */
export function requireContinuation(connection: Connection, known: KnownHead): number | null {
  const { seq } = readHead(connection);
  if (seq >= known.seq && hashOf(connection, known.seq)?.startsWith(known.hash)) return null;
  const restore = newestRestore(connection);
  if (restore !== null && restore.seq <= known.seq && restore.timestampMs > known.knownMs) return restore.timestampMs;
  throw new ReplacedWorkspace(
    seq < known.seq
      ? `the file was replaced by an older copy, which ends with event ${seq}, and event ${known.seq} was recorded: ${ADVICE}`
      : `the file was replaced by one with another event ${known.seq} than the one that was recorded: ${ADVICE}`,
  );
}

/**
 * Checks a workspace against the last seal of its seal file, which shows how much an earlier process recorded.
 * @throws {ReplacedWorkspace} when the seal is of another log, unless the log declares a restore that the seal file
 * lacks
 */
export async function requireSealed(connection: Connection, sealFile: string): Promise<void> {
  const { seq, workspaceId } = readHead(connection);
  const last = lastSealOf(sealFile);
  // A seal file of another workspace says nothing about this log; sealing refuses it later.
  if (last === null || sealedWorkspace(last) !== workspaceId) return;
  const same = await sealOfSize(connection, last.size);
  if (same !== null && sameHash(parseSeal(same.note).root, last.root)) return;
  if (last.size <= seq + 1 && sameHash(await treeRoot(connection, last.size), last.root)) return;
  const restore = newestRestore(connection);
  const newest = await newestSeal(connection);
  // The restore is known once a seal that covers it is in the seal file.
  if (
    restore !== null &&
    (newest === null || newest.size <= restore.seq || !holdsSeal(sealFile, parseSeal(newest.note)))
  )
    return;
  throw new ReplacedWorkspace(
    `the file was replaced by an older copy: a seal covers ${last.size} events, and the file has ${seq < last.size ? seq + 1 : "other ones"}: ${ADVICE}`,
  );
}

/**
 * Checks that the files of an open workspace are as its connection left them, and continue from `head`. If not, disowns
 * the connection. Files that are not there have not changed: they may come back, for instance with their directory.
 * @param othersWrote whether another process has committed meanwhile
 * @throws {ReplacedWorkspace}; {MissingWorkspace} when the file is not there
 */
export function requireOwnFiles(connection: Connection, head: Head, othersWrote: boolean): void {
  const { own } = connection;
  try {
    const change = own?.foreignChange(othersWrote);
    const isForeign = change === "replaced" || (change === "log_written" && !isOnDisk(connection, head));
    if (change === "gone" || (isForeign && own?.isGone())) throw new MissingWorkspace(MISSING);
    if (isForeign) throw new ReplacedWorkspace(OVERWRITTEN);
    if (othersWrote) requireContinuation(connection, { ...head, knownMs: Number.POSITIVE_INFINITY });
  } catch (error) {
    if (error instanceof ReplacedWorkspace) own?.disown();
    throw error;
  }
}

/**
 * Returns why a transaction failed: if the files were replaced, an error that says so, after the connection was
 * disowned; otherwise `failure`.
 */
export function replacedOr(connection: Connection, failure: unknown): unknown {
  const { own } = connection;
  if (failure instanceof ReplacedWorkspace || own?.isReplaced() !== true) return failure;
  own.disown();
  return new ReplacedWorkspace(OVERWRITTEN, { cause: failure });
}

/** Whether a new connection, which has no cached pages, reads a valid log that ends with this head. */
function isOnDisk({ file }: Connection, head: Head): boolean {
  if (file === null) return true;
  try {
    using fresh = openConnection(file.path, { ...file.options, readOnly: true, keyFits: true });
    checkTail(fresh);
    return readHead(fresh).hash === head.hash;
  } catch (error) {
    // Files that cannot be opened are not there at the moment, which says nothing about them.
    if (isStorageFailure(error) && !/^SQLITE_(CANTOPEN|READONLY)/.test(sqliteCode(error))) return false;
    throw error;
  }
}

/**
 * Returns the last seal of a seal file; null when it has none, or is damaged, in which case sealing refuses it later.
 */
function lastSealOf(sealFile: string): Seal | null {
  try {
    return lastFiledSeal(sealFile)?.seal ?? null;
  } catch (error) {
    if (error instanceof NoteError) return null;
    throw error;
  }
}

/** Returns when the newest event was recorded, ms since the Unix epoch. */
export function headMs(connection: Connection): number {
  return connection.value<number>("SELECT time FROM events ORDER BY seq DESC LIMIT 1") ?? Number.NaN;
}

/**
 * Reports whether the log continues from a recorded head: it has that event, or declares a restore to before it that was
 * made after the head was recorded.
 */
export function continuesHead(connection: Connection, { size, hash }: WorkspaceHead, recordedMs: number): boolean {
  if (hashOf(connection, size - 1) === hash) return true;
  const restore = newestRestore(connection);
  return restore !== null && restore.seq < size && restore.timestampMs >= recordedMs;
}

/** Returns the hash of an event. The hash of a pruned event is read from the tree. */
function hashOf(connection: Connection, seq: number): string | undefined {
  const hash = connection.value<string>("SELECT lower(hex(hash)) FROM events WHERE seq = ?", [seq]);
  if (hash !== undefined) return hash;
  const sql = "SELECT lower(hex(substr(hashes, ?, ?))) FROM tiles WHERE level = 0 AND tile = ?";
  return connection.value(sql, [HASH_BYTES * (seq % TILE_WIDTH) + 1, HASH_BYTES, Math.floor(seq / TILE_WIDTH)]);
}

function newestRestore(connection: Connection): { seq: number; timestampMs: number } | null {
  const sql = `SELECT seq, time FROM events WHERE agent_id IS NULL AND operation = ? AND result = 'ok'
    ORDER BY agent_seq DESC LIMIT 1`;
  const row = connection.get<[number, number]>(sql, [LOG_RESTORE]);
  return row === undefined ? null : { seq: row[0], timestampMs: row[1] };
}

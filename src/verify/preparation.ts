/** The state of a verification: the data that is read before the events, and what each event adds. */

import { prunedBefore } from "../core/rows/log/pruning.ts";
import type { JsonObject } from "../json.ts";
import { effectKind, recordedEffect } from "../log/effects.ts";
import { type AuditEventBody, GENESIS, RAISE_VOCABULARY, VOCABULARY } from "../log/event.ts";
import { mayNameSealKey } from "../log/seal.ts";
import type { Reader } from "../store/transaction.ts";
import { LogVerifier } from "./events/log-verifier.ts";
import type { StoredCheck } from "./rows/agents.ts";
import { Census } from "./rows/expected/census.ts";
import { loadHistories } from "./rows/expected/histories.ts";
import type { Histories } from "./rows/expected/history.ts";
import {
  areKeptRows,
  beginWithKept,
  type KeptState,
  readKeptState,
  reportBlanks,
  reportKeptRows,
} from "./rows/expected/kept-rows.ts";
import { isAboutEntries } from "./rows/expected/key-events.ts";
import type { Replay } from "./rows/expected/replay.ts";
import type { FileCheck } from "./rows/schema.ts";
import { StatedHeads } from "./rows/stated-heads.ts";
import { StatedRows } from "./rows/stated-rows.ts";
import { KeyCheck, readKeys } from "./rows/stored-seals.ts";
import { TileCheck } from "./rows/stored-tiles.ts";
import { StateRoots } from "./state/roots.ts";
import type { Trust } from "./trust.ts";

/** The scope of a verification: everything, or one agent's chain and its stored rows. */
export type VerificationScope = { scope: "workspace" } | { agentId: string };

/** Threads that can run SQLite's check of the file. The result is null when the file could not be read. */
export interface FileChecker {
  askOne(kind: "file"): Promise<FileCheck | null>;
}

export interface WorkspaceVerificationOptions extends Trust {
  /**
   * Called after each page with the number of checked events and the number that the file states. Its promise is
   * awaited, so that the caller can give other work a turn.
   */
  onProgress?: (checked: number, total: number) => void | Promise<void>;
  /**
   * The most keys that are followed at once, which bounds the memory. With more keys, the log is read several times.
   */
  maxKeys?: number;
  /** Opens the workspace's seal file. */
  sealFile?: (() => AsyncIterable<Uint8Array>) | null;
  /** The number of threads that verify a large log while no problem is found; by default one. */
  threads?: { count: number; patient?: boolean };
  /** SQLite's check of the file, which runs concurrently with the verification. */
  file?: { by(threads: FileChecker): void; begin(): void };
  /** The fewest events of a log that is divided, and the number of events of a part, a multiple of a tile's. */
  division?: { from: number; events: number };
}

/** The state of a verification of a workspace, or of one agent's chain. */
export interface WorkspaceCheck extends StoredCheck {
  keys: KeyCheck;
  /** The rows that events state. */
  rows: StatedRows;
  /** The heads of workspaces that the log of the installation states. */
  heads: StatedHeads;
  tiles: TileCheck;
  /** The state roots that are computed again; null where one agent is verified. */
  roots: StateRoots | null;
  /** The position from which the log has all events. */
  before: number;
  /** The newest pruning, where the whole workspace is verified; null when nothing was pruned. */
  stated: KeptState | null;
  /** Adds the next event. `details` is null when they are erased or not genuine. */
  take(event: AuditEventBody, details: JsonObject | null): void;
  /** Adds an event that a pruning kept. The keys in force before and after it are unknown. */
  takeKept(event: AuditEventBody, details: JsonObject | null, isKnown: boolean): void;
}

/** Whether stored rows depend on an event, or whether they must have been as the event says. */
export const isNoted = (event: Pick<AuditEventBody, "operation" | "result">, details: JsonObject | null): boolean =>
  mayNameSealKey(event.operation) ||
  effectKind(event.operation, event.result) !== "none" ||
  isAboutEntries(event) ||
  details?.returned !== undefined;

/** Returns the event that announces a greater vocabulary than this program knows; null for none. */
async function findRaise(reader: Reader): Promise<number | null> {
  const sql = `SELECT min(seq) FROM events WHERE agent_id IS NULL AND operation IN (?, ?)
    AND CASE WHEN json_valid(details) THEN details ->> '$.vocabulary' END > ?`;
  return (await reader.value<number | null>(sql, [GENESIS, RAISE_VOCABULARY, VOCABULARY])) ?? null;
}

/** Reads the keys and histories with which the events are compared. */
export async function beginCheck(
  reader: Reader,
  scope: VerificationScope,
  { maxKeys, publicKeys = [], witnesses = [] }: WorkspaceVerificationOptions,
): Promise<WorkspaceCheck> {
  const before = await prunedBefore(reader);
  const stated = before === 0 || "agentId" in scope ? null : await readKeptState(reader);
  const listed = stated !== null && (await areKeptRows(reader, stated));
  const histories = await loadHistories(reader, scope, listed ? 0 : before, listed ? stated.seq : -1);
  const begin = (replay: Replay, taken: Histories) => beginWithKept(reader, replay, taken);
  const roots = "agentId" in scope ? null : await StateRoots.load(reader, histories.start);
  const census = new Census(histories, maxKeys, listed ? begin : undefined, roots);
  const keys = new KeyCheck();
  const rows = new StatedRows((...problem) => verifier.report(...problem), before);
  const heads = new StatedHeads((...problem) => verifier.report(...problem));
  const offered = (await readKeys(reader)).flatMap(({ key }) => (key === null ? [] : [key.publicKey]));
  const raisedAt = "agentId" in scope ? await findRaise(reader) : null;
  const taking =
    (follow: (event: AuditEventBody, details: JsonObject | null) => void) =>
    (event: AuditEventBody, details: JsonObject | null, isKnown = true): void => {
      if (!isNoted(event, details)) return;
      keys.add(event, details);
      if (!isKnown) return;
      const kind = effectKind(event.operation, event.result);
      if (kind === "rows") rows.add(event, details);
      if (kind === "heads") heads.add(event.seq, recordedEffect(event, details));
      follow(event, details);
    };
  const take = taking((event, details) => census.replay.take(event, details));
  const takeKept = taking((event, details) => histories.of(event.agent_id).take(event, recordedEffect(event, details)));
  const verifier: LogVerifier = new LogVerifier({
    scope: "agentId" in scope ? "agent" : "workspace",
    start: "agentId" in scope && before > 0 ? "anywhere" : "beginning",
    ...(raisedAt !== null && { raisedAt }),
    ...("agentId" in scope ? {} : { seals: { trusted: publicKeys, offered, witnesses } }),
    onEvent: take,
    onTile: (tile, hashes, root) => tiles.add(tile, hashes, root),
  });
  const tiles = new TileCheck(reader, verifier);
  if (listed) await reportBlanks(reader, verifier, await begin(census.replay, histories));
  else if (stated !== null) reportKeptRows(verifier, stated);
  return { reader, verifier, histories, census, roots, keys, rows, heads, tiles, before, stated, take, takeKept };
}

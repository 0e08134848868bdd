/** The state of a verification: the data that is read before the events, and what each event adds. */

import { prunedBefore } from "../core/rows/pruning.ts";
import type { JsonObject } from "../json.ts";
import { effectKind, type RecordedEffect, recordedEffect } from "../log/effects.ts";
import { type AuditEventBody, parseEvent } from "../log/event.ts";
import { mayNameSealKey } from "../log/seal.ts";
import type { Reader } from "../store/transaction.ts";
import { keepPageMemory } from "./events/log-pages.ts";
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
import type { Replay } from "./rows/expected/replay.ts";
import type { FileCheck } from "./rows/schema.ts";
import { StatedRows } from "./rows/stated-rows.ts";
import { KeyCheck, readKeys } from "./rows/stored-seals.ts";
import { TileCheck } from "./rows/stored-tiles.ts";
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
  tiles: TileCheck;
  /** The position from which the log has all events. */
  before: number;
  /** The newest pruning, where the whole workspace is verified; null when nothing was pruned. */
  stated: KeptState | null;
  /** Adds the next event. `details` is null when they are erased or not genuine. */
  take(event: AuditEventBody, details: string | null): void;
  /** Adds an event that a pruning kept. The keys in force before and after it are unknown. */
  takeKept(event: AuditEventBody, details: string | null): void;
}

/** Whether stored rows depend on an event. */
export const isNoted = ({ operation, result }: Pick<AuditEventBody, "operation" | "result">): boolean =>
  mayNameSealKey(operation) || effectKind(operation, result) !== "none";

/** Reads the keys and histories with which the events are compared. */
export async function beginCheck(
  reader: Reader,
  scope: VerificationScope,
  { maxKeys, publicKeys = [], witnesses = [] }: WorkspaceVerificationOptions,
): Promise<WorkspaceCheck> {
  await keepPageMemory(reader);
  const before = await prunedBefore(reader);
  const stated = before === 0 || "agentId" in scope ? null : await readKeptState(reader);
  const listed = stated !== null && (await areKeptRows(reader, stated));
  const histories = await loadHistories(reader, scope, listed ? 0 : before, listed ? stated.seq : -1);
  const begin = (replay: Replay, taken: Histories) => beginWithKept(reader, replay, taken);
  const census = listed ? new Census(histories, maxKeys, begin) : new Census(histories, maxKeys);
  const keys = new KeyCheck();
  const rows = new StatedRows((...problem) => verifier.report(...problem));
  const offered = (await readKeys(reader)).flatMap(({ key }) => (key === null ? [] : [key.publicKey]));
  const taking =
    (follow: (event: AuditEventBody, effect: RecordedEffect) => void) =>
    (event: AuditEventBody, text: string | null): void => {
      if (!isNoted(event)) return;
      const details = text === null ? null : (JSON.parse(text) as JsonObject);
      keys.add(event, details);
      if (effectKind(event.operation, event.result) === "rows") rows.add(event, details);
      follow(event, recordedEffect(event, details));
    };
  const take = taking((event, effect) => census.replay.add(event, effect));
  const takeKept = taking((event, effect) => histories.of(event.agent_id).take(event, effect));
  const verifier: LogVerifier = new LogVerifier({
    scope: "agentId" in scope ? "agent" : "workspace",
    start: "agentId" in scope && before > 0 ? "anywhere" : "beginning",
    ...("agentId" in scope ? {} : { seals: { trusted: publicKeys, offered, witnesses } }),
    onEvent: take,
    onAccepted: (accepted, text) => {
      const { effect } = accepted.shape;
      if (effect === "put") census.replay.addWrite(accepted, text);
      if (effect === "put" || effect === "none") return;
      const event = parseEvent(text.text(accepted.start, accepted.end));
      take(event, text.text(accepted.detailsAt, accepted.detailsEnd));
    },
    onTile: (tile, hashes, root) => tiles.add(tile, hashes, root),
  });
  const tiles = new TileCheck(reader, verifier);
  if (listed) await reportBlanks(reader, verifier, stated, await begin(census.replay, histories));
  else if (stated !== null) reportKeptRows(verifier, stated);
  return { reader, verifier, histories, census, keys, rows, tiles, before, stated, take, takeKept };
}

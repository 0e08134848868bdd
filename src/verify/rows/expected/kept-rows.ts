/** The rows that the newest pruning kept, as its event states them. The log is replayed from there. */

import { sqlNames } from "../../../core/rows/entry-changes.ts";
import { KEPT_ROWS_TABLE, type Kept, keptRowsDigest, PRUNE } from "../../../core/rows/log/pruning.ts";
import { isJsonObject } from "../../../json.ts";
import { covers } from "../../../log/effects.ts";
import { hasTable, type Reader } from "../../../store/transaction.ts";
import { pages } from "../../../store/walk.ts";
import { integer } from "../../columns.ts";
import type { LogVerifier } from "../../events/log-verifier.ts";
import { allOf } from "../../problems.ts";
import { eventColumn, readNamedEvent } from "../events-named.ts";
import { knownWrite } from "./erased-writes.ts";
import type { Histories } from "./history.ts";
import type { Replay } from "./replay.ts";
import { NEVER } from "./versions.ts";

/** The newest pruning. */
export interface KeptState {
  /** Position of its event. */
  seq: number;
  /** What it states to have kept. A forged event may lack members. */
  kept: Partial<Kept>;
}

/** Returns the newest pruning of a pruned log. Its event is verified with the log. */
export async function readKeptState(reader: Reader): Promise<KeptState> {
  const sql = `SELECT seq, CAST(details -> '$.kept' AS TEXT) FROM events WHERE agent_id IS NULL AND operation = ?
    ORDER BY CAST(details ->> '$.before_seq' AS INTEGER) DESC, seq LIMIT 1`;
  const [seq = 0, text = null] = (await reader.get<[number, string | null]>(sql, [PRUNE])) ?? [];
  const kept: unknown = text === null ? null : JSON.parse(text);
  return { seq, kept: isJsonObject(kept) ? kept : {} };
}

/** Reports whether the stored rows of `kept_rows` match the event of the pruning. */
export async function areKeptRows(reader: Reader, { kept }: KeptState): Promise<boolean> {
  const stored = (await hasTable(reader, KEPT_ROWS_TABLE)) ? await keptRowsDigest(reader) : null;
  return stored?.count === Number(kept.versions) + Number(kept.checkpoints) && stored.digest === kept.rows_digest;
}

type Row = [
  id: number,
  seq: number | null,
  created: number | null,
  from: number | null,
  to: number | null,
  written: Buffer,
  created: Buffer,
];

const ROWS_AT_ONCE = 500;
const COLUMNS = ["event_seq", "created_seq", "live_from", "live_to"].map((name) => integer(`k.${name}`)).join(", ");
const SELECT = `SELECT k.id, ${COLUMNS}, ${eventColumn("w")}, ${eventColumn("c")} FROM ${KEPT_ROWS_TABLE} k
  LEFT JOIN events w ON w.seq = k.event_seq
  LEFT JOIN events c ON c.seq = k.created_seq AND c.seq <> k.event_seq
  WHERE k.id > ? ORDER BY k.id LIMIT ${ROWS_AT_ONCE}`;

/** Begins a replay with the rows that were kept. Returns the positions of writes whose details are gone. */
export async function beginWithKept(reader: Reader, replay: Replay, histories: Histories): Promise<number[]> {
  const blanks: number[] = [];
  const read = (after: number) => reader.all<Row>(SELECT, [after]);
  for await (const page of pages(0, ROWS_AT_ONCE, read, ([id]) => id)) {
    for (const [, seq, createdSeq, from, to, written, creating] of page) {
      const named = knownWrite(readNamedEvent(written), histories.erasedWrites);
      // A missing event is reported with the events that were kept.
      if (named === null || seq === null) continue;
      const { event, effect, timeMs } = named;
      if (effect.kind === "add_checkpoint") histories.of(event.agent_id).keep(effect.id, effect.asOfSeq);
      if (effect.kind === "restore") histories.of(event.agent_id).keep(effect.safety.id, seq - 1);
      if (named.details === null) blanks.push(seq);
      if (effect.kind === "unknown") {
        replay.lack(seq);
        histories.of(event.agent_id).blankWrites += 1;
      }
      if (effect.kind !== "put" || createdSeq === null || from === null) continue;
      const created = createdSeq === seq ? named : readNamedEvent(creating);
      // The replay may prove the row, which is then not compared with the event that created its key.
      if (created?.details == null) blanks.push(createdSeq);
      const expiresMs = effect.expiresAtMs ?? NEVER;
      const createdMs = created?.timeMs ?? -1;
      const { key, digest } = effect;
      replay.keep(
        event.agent_id,
        key,
        { written: seq, from, timeMs, created: createdSeq, createdMs, expiresMs, digest },
        to,
      );
    }
  }
  return blanks;
}

/** Reports writes of kept rows that lost their details, unless an erasure names them. */
export async function reportBlanks(reader: Reader, verifier: LogVerifier, blanks: number[]) {
  if (blanks.length === 0) return;
  const left = new Set(blanks);
  const sql = `SELECT e.seq, ${eventColumn("e")} FROM events e WHERE e.seq > ? AND e.operation IN (${sqlNames("erase")})
    ORDER BY e.seq LIMIT 100`;
  const read = (after: number) => reader.all<[number, Buffer]>(sql, [after]);
  for await (const page of pages(-1, 100, read, ([seq]) => seq)) {
    for (const [, column] of page) {
      const effect = readNamedEvent(column)?.effect;
      if (effect?.kind !== "erase") continue;
      for (const seq of left) if (covers(effect.erased, seq)) left.delete(seq);
    }
  }
  for (const seq of left) {
    const message = "the details of an event that a pruning kept for a stored row are gone, and no erasure names it";
    verifier.report("details_missing", null, seq, message);
  }
}

/** Reports rows that are not those of the pruning. */
export function reportKeptRows(verifier: LogVerifier, { seq }: KeptState): void {
  const message = "the list of the rows that a pruning kept is not the one that its event states";
  verifier.report("row_mismatch", null, seq, message, allOf(KEPT_ROWS_TABLE));
}

/**
 * Prunes the log. Events before a position are deleted; their hashes stay in the tiles of the tree. Events on which
 * something else depends are kept: the first event of each chain and its last one before the position, all events that
 * a stored entry, config, checkpoint or key names, all events that state rows or heads, each agent's
 * newest suspension or resumption, its newest sweep, all quarantines and their releases, and the declared restores. The event of the pruning states what is kept.
 */
import { createHash } from "node:crypto";
import schema from "../../../../sql/workspace/derived/kept-rows.sql" with { type: "text" };
import type { JsonObject } from "../../../json.ts";
import { RAISE_VOCABULARY } from "../../../log/event.ts";
import { LOG_RESTORE } from "../../../log/seal.ts";
import { TILE_WIDTH } from "../../../log/tiles.ts";
import { type EventName, namesWithEffect } from "../../../operations.ts";
import type { Reader, Transaction } from "../../../store/transaction.ts";
import { sqlTexts } from "../../../store/values.ts";
import { goOn } from "../../../store/walk.ts";
import { sqlNames } from "../entry-changes.ts";
import { PLACED } from "../quarantine/stored.ts";
import { SWITCHED } from "../suspension.ts";
import { SWEPT } from "../sweeps.ts";

/** The table of the rows that the newest pruning kept. It is made when first needed. */
export const KEPT_ROWS_SCHEMA = schema;
export const KEPT_ROWS_TABLE = "kept_rows";

/** The operation of a pruning's event, whose details have `before_seq`. */
export const PRUNE = "audit.prune" satisfies EventName;

/**
 * Returns the position from which on the log has all events; 0 when nothing was pruned.
 *
 * @param after counts only prunings after this number of the workspace's own chain
 */
export async function prunedBefore(reader: Reader, after = 0): Promise<number> {
  const sql = `SELECT max(CAST(details ->> '$.before_seq' AS INTEGER)) FROM events
    WHERE agent_id IS NULL AND agent_seq > ? AND operation = ?`;
  return (await reader.value<number | null>(sql, [after, PRUNE])) ?? 0;
}

/** Returns every pruning, with the SHA-256 of the export that has the deleted events. */
export async function prunings(reader: Reader) {
  const rows = await reader.all<[number, string]>(
    `SELECT CAST(details ->> '$.before_seq' AS INTEGER), CAST(details ->> '$.export_digest' AS TEXT) FROM events
     WHERE agent_id IS NULL AND operation = ? AND details IS NOT NULL ORDER BY seq`,
    [PRUNE],
  );
  return rows.map(([beforeSeq, exportDigest]) => ({ beforeSeq, exportDigest }));
}

/** Returns how many events all prunings have deleted, according to their own events. */
export async function prunedEvents(reader: Reader): Promise<number> {
  const sql = `SELECT sum(CAST(details ->> '$.events' AS INTEGER)) FROM events WHERE agent_id IS NULL AND operation = ?`;
  return (await reader.value<number | null>(sql, [PRUNE])) ?? 0;
}

/**
 * Returns the last position where a pruning may end, which is the end of a full tile: up to `limit`, and before a moment
 * (ms since the Unix epoch).
 */
export async function pruneBoundary(reader: Reader, untilMs: number, limit: number): Promise<number> {
  const sql = "SELECT min(seq) FROM events WHERE time >= ? AND seq >= ?";
  const first = await reader.value<number | null>(sql, [untilMs, await prunedBefore(reader)]);
  const end = Math.min(first ?? limit, limit);
  return end - (end % TILE_WIDTH);
}

const KEPT_OPERATIONS = sqlTexts([PRUNE, LOG_RESTORE, RAISE_VOCABULARY, ...namesWithEffect("rows", "heads")]);

/** SQL: the erasures of single versions: replays follow a key through the erased write by them, and by the events they name. */
const ERASED_ALONE = `FROM events WHERE operation IN (${sqlNames("erase")}) AND details ->> '$.version' IS NOT NULL`;

/** SQL: the events before the position `?1` that a pruning keeps. */
const KEPT = `(SELECT 0
  UNION SELECT first_seq FROM agents
  UNION SELECT max(seq) FROM events WHERE seq < ?1 GROUP BY agent_id
  UNION SELECT written_seq FROM entries UNION SELECT created_seq FROM entries
  UNION SELECT live_from FROM entries UNION SELECT live_to FROM entries WHERE live_to IS NOT NULL
  UNION SELECT created_seq FROM configs
  UNION SELECT event_seq FROM checkpoints
  UNION SELECT announced_seq FROM seal_keys
  UNION SELECT max(seq) FROM events WHERE ${SWITCHED} GROUP BY agent_id
  UNION SELECT max(seq) FROM events WHERE ${SWEPT} GROUP BY agent_id
  UNION SELECT seq ${ERASED_ALONE}
  UNION SELECT details ->> '$.version.key_of' ${ERASED_ALONE} AND details ->> '$.version.key_of' IS NOT NULL
  UNION SELECT seq FROM events WHERE ${PLACED}
  UNION SELECT seq FROM events WHERE agent_id IS NULL AND result = 'ok' AND operation IN (${KEPT_OPERATIONS}))`;

/** SQL: the events that a pruning deletes. The position is the only parameter. */
const PRUNABLE = `FROM events WHERE seq < ?1 AND seq NOT IN ${KEPT}`;

/** Returns how many events a pruning up to `beforeSeq` would delete. */
export async function countPrunable(reader: Reader, beforeSeq: number): Promise<number> {
  return (await reader.value<number>(`SELECT count(*) ${PRUNABLE}`, [beforeSeq])) ?? 0;
}

/** What a pruning keeps, as its event states it. Digests are SHA-256 in hex (docs/audit-format.md). */
export interface Kept extends JsonObject {
  /** The number of kept events before the position, and the digest of their positions. */
  events: number;
  events_digest: string;
  /** The numbers of stored versions of entries and of checkpoints, and the digest of the rows of `kept_rows`. */
  versions: number;
  checkpoints: number;
  rows_digest: string;
}

/** The numbers of positions and of rows that are read at once. */
const POSITIONS_AT_ONCE = 2 ** 20;
const ROWS_AT_ONCE = 20_000;

/** SQL: the line of a row, with `-` for NULL. */
const lineOf = (columns: readonly string[]): string =>
  columns.map((column) => `coalesce(${column}, '-')`).join(" || ' ' || ");
const VERSION_LINE = lineOf(["written_seq", "created_seq", "live_from", "live_to"]);
const CHECKPOINT_LINE = lineOf(["event_seq", "NULL", "NULL", "NULL"]);
const ROW_LINE = lineOf(["event_seq", "created_seq", "live_from", "live_to"]);

/** Returns what a pruning up to `beforeSeq` keeps. @param pause called between the steps */
export async function keptBy(reader: Reader, beforeSeq: number, pause: () => Promise<void>): Promise<Kept> {
  const events = new Lines();
  for (let from = 0; from < beforeSeq; from += POSITIONS_AT_ONCE) {
    const sql = `SELECT count(*), NULL, group_concat(seq || char(10), '') FROM
      (SELECT seq FROM events WHERE seq >= ?2 AND seq < ?3 AND seq IN ${KEPT} ORDER BY seq)`;
    events.add(await reader.get<Page>(sql, [beforeSeq, from, Math.min(from + POSITIONS_AT_ONCE, beforeSeq)]));
    await pause();
  }
  const rows = new Lines();
  await rows.addAll(reader, { table: "entries", id: "id", line: VERSION_LINE }, pause);
  const versions = rows.count;
  await rows.addAll(reader, { table: "checkpoints", id: "rowid", line: CHECKPOINT_LINE }, pause);
  return {
    events: events.count,
    events_digest: events.digest(),
    versions,
    checkpoints: rows.count - versions,
    rows_digest: rows.digest(),
  };
}

/** Returns the number and the digest of the rows of `kept_rows`; null when their ids are not 1, 2, 3 …. */
export async function keptRowsDigest(reader: Reader): Promise<{ count: number; digest: string } | null> {
  const rows = new Lines();
  const last = await rows.addAll(reader, { table: KEPT_ROWS_TABLE, id: "id", line: ROW_LINE });
  return last === rows.count ? { count: rows.count, digest: rows.digest() } : null;
}

type Page = [count: number, last: number | null, text: string | null];

/** A SHA-256 over lines. */
class Lines {
  count = 0;
  readonly #hash = createHash("sha256");

  add([count, , text]: Page = [0, null, null]): void {
    this.count += count;
    this.#hash.update(text ?? "");
  }

  /** Adds a line for each row of a table in the order of `id`. Returns the last id, or 0. */
  async addAll(
    reader: Reader,
    { table, id, line }: Record<"table" | "id" | "line", string>,
    pause?: () => Promise<void>,
  ) {
    const sql = `SELECT count(*), max(id), group_concat(line, '') FROM
      (SELECT ${id} AS id, ${line} || char(10) AS line FROM ${table} WHERE ${id} > ? ORDER BY ${id} LIMIT ${ROWS_AT_ONCE})`;
    for (let after = 0; ; await pause?.()) {
      const page = (await reader.get<Page>(sql, [after])) as Page;
      this.add(page);
      if (page[1] === null) return after;
      after = goOn(after, page[1]);
    }
  }

  digest(): string {
    return this.#hash.digest("hex");
  }
}

/**
 * Deletes the events before `beforeSeq`, a multiple of 256, on which nothing depends, and records the rows that are
 * stored then. Returns the number of deleted events.
 */
export async function prune(tx: Transaction, beforeSeq: number): Promise<number> {
  if (beforeSeq % TILE_WIDTH !== 0) throw new RangeError("a pruning ends with a full tile");
  const dropped = await tx.change(`DELETE ${PRUNABLE}`, [beforeSeq]);
  await tx.run(KEPT_ROWS_SCHEMA);
  await tx.run(`DELETE FROM ${KEPT_ROWS_TABLE}`);
  await tx.run(`INSERT INTO ${KEPT_ROWS_TABLE} (event_seq, created_seq, live_from, live_to)
    SELECT written_seq, created_seq, live_from, live_to FROM entries NOT INDEXED ORDER BY id`);
  await tx.run(`INSERT INTO ${KEPT_ROWS_TABLE} (event_seq)
    SELECT event_seq FROM checkpoints NOT INDEXED ORDER BY rowid`);
  return dropped;
}

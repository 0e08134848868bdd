/** Checkpoints: positions in the log, and the state visible there. */
import { type AgentLimit, isWithin } from "../../agent-id.ts";
import type { CheckpointSorting, Page } from "../../operation-facts.ts";
import type { Freshness } from "../../screen/retention.ts";
import type { Reader, Transaction } from "../../store/transaction.ts";
import type { SqlValue } from "../../store/values.ts";
import { CHANGED_AT_ONCE, goOn, pagesByTwo } from "../../store/walk.ts";
import { pageOf } from "../lists.ts";
import { type AgentState, readNewestCheckpoint } from "./agents.ts";
import { directionOf } from "./direction.ts";
import { type EntryRow, type EntryTuple, toEntryRow } from "./entries.ts";
import { BYTES, freshBounds, freshFrom, removeVersions, type Sized } from "./expiry.ts";
import { IS_SEEN } from "./history.ts";
import { headOf } from "./log/events.ts";

interface NewCheckpoint {
  id: string;
  asOfSeq: number;
  eventSeq: number;
  entryCount: number;
  label: string | null;
  /** A JSON object. */
  metadata: string;
}

export interface Checkpoint extends NewCheckpoint {
  agent: number;
  agentId: string;
  configVersion: number | null;
  createdAt: string;
  createdBy: string;
}

const SELECT = `SELECT c.id, c.agent, c.as_of_seq, c.event_seq, c.config_version, c.entry_count, c.label, c.metadata,
  e.timestamp, e.actor, e.agent_id FROM checkpoints c JOIN events e ON e.seq = c.event_seq`;
type Tuple = [string, number, number, number, number | null, number, string | null, string, string, string, string];

function toCheckpoint(row: Tuple): Checkpoint {
  const [id, agent, asOfSeq, eventSeq, configVersion, entryCount, label, metadata, createdAt, createdBy, agentId] = row;
  return { id, agent, agentId, asOfSeq, eventSeq, configVersion, entryCount, label, metadata, createdAt, createdBy };
}

/** Adds a checkpoint. Constant time, whatever the agent holds. */
export async function insertCheckpoint(tx: Transaction, agent: AgentState, row: NewCheckpoint): Promise<void> {
  await tx.run(
    `INSERT INTO checkpoints (id, agent, as_of_seq, event_seq, config_version, entry_count, label, metadata)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    [row.id, agent.firstSeq, row.asOfSeq, row.eventSeq, agent.configVersion, row.entryCount, row.label, row.metadata],
  );
}

/** Returns a checkpoint of the agents in a limit. One of another agent is not found, like one that does not exist. */
export async function findCheckpoint(reader: Reader, id: string, limit: AgentLimit): Promise<Checkpoint | undefined> {
  const row = await reader.get<Tuple>(`${SELECT} WHERE c.id = ?`, [id]);
  const checkpoint = row && toCheckpoint(row);
  return checkpoint && isWithin(limit, checkpoint.agentId) ? checkpoint : undefined;
}

/** What checkpoints are sorted by, as SQL and as the text of a position. A checkpoint without a label has an empty one. */
const SORTED_BY = {
  label: { sql: "coalesce(c.label, '')", of: ({ label }: Checkpoint) => label ?? "" },
  entry_count: { sql: "c.entry_count", of: ({ entryCount }: Checkpoint) => String(entryCount) },
};

type Sorted = CheckpointSorting & { page: Page };

/** Returns the position of a checkpoint in a list: its event, followed by what the list is sorted by. */
export const positionOf = (checkpoint: Checkpoint, { sort }: CheckpointSorting): number | string =>
  sort === undefined ? checkpoint.eventSeq : `${checkpoint.eventSeq} ${SORTED_BY[sort].of(checkpoint)}`;

/** Returns a page of an agent's checkpoints: those behind the position of the page, or all. */
export async function listCheckpoints(reader: Reader, agent: number, { sort, order, page }: Sorted) {
  const { after, limit, offset } = page;
  const { order: end, behind } = directionOf(order);
  const by = sort === undefined ? [] : [SORTED_BY[sort].sql];
  const columns = [...by, "c.event_seq"];
  const [, seq, value] = /^(\d+) ?(.*)$/s.exec(String(after ?? "")) ?? [];
  const position = seq === undefined ? [] : [...(sort === undefined ? [] : [typed(sort, value ?? "")]), Number(seq)];
  const rest = position.length === 0 ? "" : `AND (${columns}) ${behind} (${columns.map(() => "?")})`;
  const ordered = columns.map((column) => `${column} ${end}`);
  const sql = `${SELECT} WHERE c.agent = ? ${rest} ORDER BY ${ordered} LIMIT ? OFFSET ?`;
  const rows = await reader.all<Tuple>(sql, [agent, ...position, limit + 1, offset]);
  return pageOf(rows.map(toCheckpoint), limit);
}

const typed = (sort: keyof typeof SORTED_BY, value: string): string | number =>
  sort === "label" ? value : Number(value);

/**
 * Deletes a checkpoint, and the versions that only it saw and that ended before the agent's history begins. Returns
 * the highest position that a remaining checkpoint of the agent sees, -1 for none.
 */
export async function deleteCheckpoint(
  tx: Transaction,
  agent: AgentState,
  id: string,
  pause: () => Promise<void>,
): Promise<number> {
  const asOfSeq = await tx.value<number>("SELECT as_of_seq FROM checkpoints WHERE id = ?", [id]);
  if (asOfSeq === undefined) throw new Error("a checkpoint to be deleted is not stored");
  await tx.run("DELETE FROM checkpoints WHERE id = ?", [id]);
  // All that it saw and that has ended is looked at before any of it is removed: each version once.
  const unseen: Sized[] = [];
  for await (const versions of endedVersions(tx, agent, asOfSeq)) {
    unseen.push(...versions.filter(([, , , isSeen]) => isSeen === 0).map(([own, , bytes]): Sized => [own, bytes]));
    await pause();
  }
  await removeVersions(tx, unseen, pause);
  return readNewestCheckpoint(tx, agent.firstSeq);
}

type EndedVersion = [id: number, liveTo: number, bytes: number, isSeen: number];

/**
 * Pages of the versions that were visible at a position and ended before the agent's history begins, and whether a
 * checkpoint sees each.
 */
function endedVersions(reader: Reader, { firstSeq, historyFrom }: AgentState, asOfSeq: number) {
  const read = (sql: string, parameters: number[], limit: number) =>
    reader.all<EndedVersion>(
      `SELECT id, live_to, ${BYTES}, ${IS_SEEN} FROM entries
       WHERE agent = ? AND live_to ${sql} AND live_to < ? AND live_from <= ? ORDER BY live_to, id LIMIT ?`,
      [firstSeq, ...parameters, historyFrom, asOfSeq, limit],
    );
  return pagesByTwo(asOfSeq, CHANGED_AT_ONCE, read, ([id, liveTo]) => [liveTo, id]);
}

/** The versions of a checkpoint's state behind the key `?3` that exist for the viewer. Its position is `?2`. */
const OF_STATE = `agent = ?1 AND live_from <= ?2 AND key > ?3 AND ${freshFrom(4)}`;

const ENDED = `SELECT id FROM entries WHERE ${OF_STATE} AND live_to > ?2 AND live_to <= ?7 ORDER BY key`;

/** Columns of a page: of what is present, has ended since the reading began, or is among the ids of what had ended before. */
const pageOfState = (columns: string) => `SELECT id, ${columns} FROM (
    SELECT id, ${columns} FROM entries WHERE ${OF_STATE} AND live_to IS NULL
    UNION ALL
    SELECT id, ${columns} FROM entries WHERE ${OF_STATE} AND live_to > ?7
    UNION ALL
    SELECT id, ${columns} FROM entries WHERE id IN (SELECT value FROM json_each(?8))
  ) ORDER BY key LIMIT ?9`;
const STATE_ENTRIES = pageOfState("key, value, metadata, created_at, updated_at, quarantined");
const STATE_WRITES = pageOfState("key, written_seq");

/**
 * Reads a checkpoint's state in pages, by key. What has ended since the checkpoint is looked up once, since it may be a long
 * history: its ids are kept in memory.
 */
export class CheckpointState {
  /** Ids of what had ended, by key, and how many of them were returned. */
  #ended: number[] | null = null;
  #returned = 0;
  #throughSeq = 0;

  /** @param after the key behind which the reading begins; null for the first */
  constructor(
    private readonly reader: Reader,
    private readonly of: Pick<Checkpoint, "agent" | "asOfSeq">,
    private readonly fresh: Freshness,
    private after: string | null,
  ) {}

  /** Returns the next entries. Fewer than `limit` are the last. @throws {OutOfOrder} in a damaged file */
  async entries(limit: number): Promise<EntryRow[]> {
    return (await this.#page<EntryTuple>(STATE_ENTRIES, limit)).map(toEntryRow);
  }

  /** Returns the positions of the writes of the next entries. Fewer than `limit` are the last. */
  async writes(limit: number): Promise<number[]> {
    const rows = await this.#page<[id: number, key: string, writtenSeq: number]>(STATE_WRITES, limit);
    return rows.map(([, , writtenSeq]) => writtenSeq);
  }

  async #page<R extends [id: number, key: string, ...rest: SqlValue[]]>(sql: string, limit: number): Promise<R[]> {
    const { agent, asOfSeq } = this.of;
    const bound = () => [agent, asOfSeq, this.after ?? "", ...freshBounds(this.fresh)] as const;
    if (this.#ended === null) {
      this.#throughSeq = await headOf(this.reader);
      this.#ended = (await this.reader.all<[number]>(ENDED, [...bound(), this.#throughSeq])).map(([id]) => id);
    }
    const candidates = this.#ended.slice(this.#returned, this.#returned + limit);
    const rows = await this.reader.all<R>(sql, [...bound(), this.#throughSeq, JSON.stringify(candidates), limit]);
    // They come in the same order.
    for (const [id] of rows) if (id === this.#ended[this.#returned]) this.#returned += 1;
    const last = rows.at(-1);
    if (last !== undefined) this.after = goOn(this.after ?? "", last[1]);
    return rows;
  }
}

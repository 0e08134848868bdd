/** Checkpoints: positions in the log, and the state visible there. */
import { type AgentLimit, isWithin } from "../../agent-id.ts";
import type { CheckpointSorting, Page } from "../../operation-facts.ts";
import type { Freshness } from "../../screen/retention.ts";
import type { Reader, Transaction } from "../../store/transaction.ts";
import { CHANGED_AT_ONCE, pagesByTwo } from "../../store/walk.ts";
import { pageOf } from "../lists.ts";
import { type AgentState, readNewestCheckpoint } from "./agents.ts";
import { directionOf } from "./direction.ts";
import { ENTRY_COLUMNS, type EntryRow, type EntryTuple, toEntryRow } from "./entries.ts";
import { BYTES, FRESH, freshBounds, removeVersions, type Sized } from "./expiry.ts";
import { IS_SEEN } from "./history.ts";

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
 * Deletes a checkpoint and the versions that only it saw and that ended before the agent's history begins. Returns the highest position that a remaining checkpoint of
 * the agent sees, -1 for none.
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

/** The condition with numbered parameters. */
const FRESH_BOUND = FRESH.replace("?", "?4").replace("> ?", "> ?5");

/** Columns of a checkpoint's state in key order, after the key `after`, without expired entries. */
const ofState = (columns: string) => `SELECT ${columns} FROM (
    SELECT ${columns} FROM entries
      WHERE agent = ?1 AND live_to IS NULL AND key > ?3 AND live_from <= ?2 AND ${FRESH_BOUND}
    UNION ALL
    SELECT ${columns} FROM entries
      WHERE agent = ?1 AND live_to > ?2 AND key > ?3 AND live_from <= ?2 AND ${FRESH_BOUND}
  ) ORDER BY key LIMIT ?6`;
const STATE_ENTRIES = ofState(ENTRY_COLUMNS);
const STATE_WRITES = ofState("key, written_seq");

type StateOf = Pick<Checkpoint, "agent" | "asOfSeq">;
interface StateRange {
  after: string | null;
  fresh: Freshness;
  limit: number;
}

const inState = ({ agent, asOfSeq }: StateOf, { after, fresh, limit }: StateRange) =>
  [agent, asOfSeq, after ?? "", ...freshBounds(fresh), limit] as const;

/** Returns entries of a checkpoint's state. */
export async function listStateEntries(reader: Reader, of: StateOf, range: StateRange): Promise<EntryRow[]> {
  return (await reader.all<EntryTuple>(STATE_ENTRIES, inState(of, range))).map(toEntryRow);
}

/** Returns the keys of entries of a checkpoint's state, and the positions of their writes. */
export const listStateWrites = (reader: Reader, of: StateOf, range: StateRange) =>
  reader.all<[key: string, writtenSeq: number]>(STATE_WRITES, inState(of, range));

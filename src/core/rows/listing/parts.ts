/** Divides all entries of an agent's present or earlier state into parts, for work that examines each entry. */
import { freshAt, type Viewer } from "../../../screen/retention.ts";
import type { Reader } from "../../../store/transaction.ts";
import type { SqlValue } from "../../../store/values.ts";
import { goOn, pagesByTwo } from "../../../store/walk.ts";
import type { AgentState } from "../agents.ts";
import { endOfPrefix, WITH_IDS_OF_AGENT } from "../entries.ts";
import { FRESH, freshBounds, mayHide } from "../expiry.ts";

/** A condition on `entries`, with its parameters. */
export interface Where {
  sql: string;
  bound: readonly SqlValue[];
}

/** Who lists and when, and a function that gives other work of the thread a turn. */
export interface ListMoment extends Viewer {
  /** The position right after which the listed state was; the present one by default. */
  asOf?: number;
  pause(): Promise<void>;
}

/** The number of entries in one part. */
const PART = 500;
/**
 * An agent with at least this share of the table is read in the order of the table. That is ten times as fast as the
 * order of keys, in which each row is on another page.
 */
const SHARE = 1 / 8;

/** Returns the condition that an entry is visible. It is empty if none is hidden, so that the index is enough. */
export async function visible(reader: Reader, agent: AgentState, viewer: Viewer): Promise<Where> {
  const fresh = freshAt(agent.policies, viewer);
  if (!(await mayHide(reader, agent, fresh))) return { sql: "", bound: [] };
  return { sql: `AND +${FRESH}`, bound: freshBounds(fresh) };
}

/**
 * Yields conditions, each for about 500 of the visible entries whose keys begin with `prefix`.
 * @param onlyKeys whether only keys will be read, so that the index is enough if none is hidden
 */
export async function* partsOf(
  reader: Reader,
  agent: AgentState,
  prefix: string,
  moment: ListMoment,
  onlyKeys = false,
): AsyncGenerator<Where> {
  const { sql, bound } = await visible(reader, agent, moment);
  const lastId = (await reader.value<number | null>("SELECT max(id) FROM entries")) ?? 0;
  const isDense = !(onlyKeys && sql === "") && prefix === "" && agent.liveEntries >= lastId * SHARE;
  const ranges = isDense ? idRanges(lastId) : keyRanges(reader, agent, prefix);
  // Without the plus, SQLite would read the agent's whole index for each part.
  const own = isDense ? "id > ? AND id <= ? AND +agent = ?" : "key >= ? AND key < ? AND agent = ?";
  const { asOf, pause } = moment;
  const since = asOf === undefined ? "" : "AND live_from <= ?";
  const at = asOf === undefined ? [] : [asOf];
  for await (const range of ranges) {
    await pause();
    yield { sql: `${own} AND live_to IS NULL ${since} ${sql}`, bound: [...range, agent.firstSeq, ...at, ...bound] };
  }
  if (asOf === undefined) return;
  for await (const ids of endedSince(reader, agent, prefix, asOf)) {
    await pause();
    yield { sql: `${WITH_IDS_OF_AGENT} ${sql}`, bound: [JSON.stringify(ids), agent.firstSeq, ...bound] };
  }
}

/** Yields the ids of the versions under a prefix that were present at a position and have ended since. */
async function* endedSince(
  reader: Reader,
  { firstSeq }: AgentState,
  prefix: string,
  asOf: number,
): AsyncGenerator<number[]> {
  const read = (sql: string, parameters: number[], limit: number) =>
    reader.all<[id: number, liveTo: number]>(
      `SELECT id, live_to FROM entries
       WHERE agent = ? AND live_to ${sql} AND live_from <= ? AND key >= ? AND key < ? ORDER BY live_to, id LIMIT ?`,
      [firstSeq, ...parameters, asOf, prefix, endOfPrefix(prefix), limit],
    );
  for await (const rows of pagesByTwo(asOf, PART, read, ([id, liveTo]) => [liveTo, id])) {
    yield rows.map(([id]) => id);
  }
}

function* idRanges(lastId: number): Generator<[number, number]> {
  for (let id = 0; id < lastId; id += PART) yield [id, id + PART];
}

async function* keyRanges(reader: Reader, agent: AgentState, prefix: string): AsyncGenerator<[string, string]> {
  const end = endOfPrefix(prefix);
  const sql = `SELECT key FROM entries
    WHERE agent = ? AND live_to IS NULL AND key >= ? AND key < ? ORDER BY key LIMIT 1 OFFSET ?`;
  for (let from = prefix; ; ) {
    const next = await reader.value<string>(sql, [agent.firstSeq, from, end, PART]);
    yield [from, next ?? end];
    if (next === undefined) return;
    from = goOn(from, next);
  }
}

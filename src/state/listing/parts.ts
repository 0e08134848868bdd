/** All present entries of an agent in parts, for what has to look at each of them. */
import { freshAt } from "../../policy/retention.ts";
import type { Reader } from "../../store/transaction.ts";
import type { SqlValue } from "../../store/values.ts";
import { goOn } from "../../store/walk.ts";
import type { AgentState } from "../agents.ts";
import { endOfPrefix } from "../entries.ts";
import { FRESH, freshBounds, hasEnded } from "../expiry.ts";

/** A condition on `entries`, with its parameters. */
export interface Where {
  sql: string;
  bound: readonly SqlValue[];
}

/** The time at which a list is read, and how others on the thread get their turn. */
export interface ListMoment {
  nowMs: number;
  pause(): Promise<void>;
}

/** Entries of one part. */
const PART = 500;
/**
 * An agent that has so large a share of the table is read in the order of the table: ten times as fast as in the order
 * of its keys, in which each row is on another page.
 */
const SHARE = 1 / 8;

/** That a row of `entries` is visible at a time. Nothing where nothing is gone: the index then has the answer. */
export async function visible(reader: Reader, agent: AgentState, nowMs: number): Promise<Where> {
  const fresh = freshAt(agent.policies, nowMs);
  if (fresh.cutoffMs < 0 && !(await hasEnded(reader, agent, nowMs))) return { sql: "", bound: [] };
  return { sql: `AND +${FRESH}`, bound: freshBounds(fresh) };
}

/**
 * Yields the visible entries whose keys begin with `prefix`, about 500 at a time, each as a condition.
 * @param onlyKeys nothing else of the entries is read, so that the index of the keys is enough where nothing expires
 */
export async function* partsOf(
  reader: Reader,
  agent: AgentState,
  prefix: string,
  moment: ListMoment,
  onlyKeys = false,
): AsyncGenerator<Where> {
  const { sql, bound } = await visible(reader, agent, moment.nowMs);
  const lastId = (await reader.value<number | null>("SELECT max(id) FROM entries")) ?? 0;
  const isDense = !(onlyKeys && sql === "") && prefix === "" && agent.liveEntries >= lastId * SHARE;
  const ranges = isDense ? idRanges(lastId) : keyRanges(reader, agent, prefix);
  // Without the plus SQLite would read the agent's whole index for each part.
  const own = isDense ? "id > ? AND id <= ? AND +agent = ?" : "key >= ? AND key < ? AND agent = ?";
  for await (const range of ranges) {
    await moment.pause();
    yield { sql: `${own} AND live_to IS NULL ${sql}`, bound: [...range, agent.firstSeq, ...bound] };
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

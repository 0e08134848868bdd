/** Reads the entries of a workspace that are present after its newest event, in the order of their tree. */
import type { StateLeaf } from "../../../log/state/tree.ts";
import { freshAt } from "../../../screen/retention.ts";
import type { Reader } from "../../../store/transaction.ts";
import { goOn } from "../../../store/walk.ts";
import { readAgent } from "../agents.ts";
import { loadWorkspacePolicies } from "../configs.ts";
import { FRESH, freshBounds } from "../expiry.ts";
import { SWEPT } from "../sweeps.ts";

const AGENTS_AT_ONCE = 500;
const ENTRIES_AT_ONCE = 500;

const AGENTS = `SELECT agent_id FROM agents a WHERE agent_id > ?
  AND EXISTS (SELECT 1 FROM entries WHERE agent = a.first_seq AND live_to IS NULL) ORDER BY agent_id LIMIT ?`;

const ENTRIES = `SELECT key, written_seq, (SELECT details ->> '$.value_digest' FROM events WHERE seq = written_seq)
  FROM entries WHERE agent = ? AND live_to IS NULL AND ${FRESH} AND key > ? ORDER BY key LIMIT ?`;

/** When the newest sweep of an agent was, ms: it removed what had expired then, also if the clock was set back later. */
const SWEPT_AT = `SELECT time FROM events INDEXED BY events_of_expiry
  WHERE agent_id = ? AND ${SWEPT} ORDER BY agent_seq DESC LIMIT 1`;

type EntryTuple = [key: string, writtenSeq: number, digest: string];

/**
 * Yields the leaves of the present state, some at a time. What is set aside counts. The reader must see one state of the file.
 * @param nowMs the time of the newest event, at which it is decided what has expired
 */
export async function* presentLeaves(reader: Reader, nowMs: number): AsyncGenerator<StateLeaf[]> {
  const workspacePolicies = await loadWorkspacePolicies(reader);
  for (let after = ""; ; ) {
    const agents = await reader.all<[string]>(AGENTS, [after, AGENTS_AT_ONCE]);
    for (const [agentId] of agents) {
      const agent = await readAgent(reader, agentId, workspacePolicies);
      if (agent === null) throw new Error("an agent vanished inside its own snapshot");
      const sweptMs = (await reader.value<number>(SWEPT_AT, [agentId])) ?? nowMs;
      const fresh = freshBounds(freshAt(agent.policies, { nowMs: Math.max(nowMs, sweptMs), seesSetAside: true }));
      yield* leavesOf(reader, agentId, [agent.firstSeq, ...fresh]);
    }
    const [last] = agents.at(-1) ?? [];
    if (last === undefined || agents.length < AGENTS_AT_ONCE) return;
    after = goOn(after, last);
  }
}

async function* leavesOf(reader: Reader, agentId: string, bound: readonly number[]): AsyncGenerator<StateLeaf[]> {
  for (let after: string | null = null; ; ) {
    // No key is empty.
    const rows: EntryTuple[] = await reader.all<EntryTuple>(ENTRIES, [...bound, after ?? "", ENTRIES_AT_ONCE]);
    yield rows.map(([key, version, value_digest]) => ({ agent_id: agentId, key, value_digest, version }));
    const last: string | undefined = rows.at(-1)?.[0];
    if (last === undefined || rows.length < ENTRIES_AT_ONCE) return;
    after = goOn(after ?? "", last);
  }
}

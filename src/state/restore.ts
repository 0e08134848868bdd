/**
 * The way back to a checkpoint's data. Only the difference between then and now is touched; it is
 * held in memory by key, so a restore costs what changed since, not what the agent holds.
 */
import type { JsonObject } from "../json.ts";
import type { Reader, Transaction } from "../store/transaction.ts";
import type { AgentState } from "./agents.ts";
import { countExpired, type Moment } from "./entries.ts";

/** What restoring would change, before anything is changed. */
export interface RestorePlan {
  /** Ids of the past versions that come back. */
  comeBack: number[];
  /** Ids of the present versions that end. */
  end: number[];
  /** Keys that the checkpoint's state does not hold. */
  removed: number;
  /** Keys that are now as they were then. */
  unchanged: number;
}

type PastRow = [id: number, key: string, writtenSeq: number];
type PresentRow = [id: number, key: string, writtenSeq: number, fresh: number];

/**
 * Compares the state at `asOfSeq` with the present. Entries written before `cutoffMs` are gone on
 * both sides.
 */
export async function planRestore(
  reader: Reader,
  agent: AgentState,
  asOfSeq: number,
  cutoffMs: number,
): Promise<RestorePlan> {
  const past = await reader.all<PastRow>(
    `SELECT id, key, written_seq FROM entries
     WHERE agent = ? AND live_to > ? AND live_from <= ? AND updated_at >= ?`,
    [agent.firstSeq, asOfSeq, asOfSeq, cutoffMs],
  );
  const changed = await reader.all<PresentRow>(
    `SELECT id, key, written_seq, updated_at >= ? FROM entries
     WHERE agent = ? AND live_to IS NULL AND live_from > ?`,
    [cutoffMs, agent.firstSeq, asOfSeq],
  );
  const pastByKey = new Map(past.map((row) => [row[1], row]));
  // Restored earlier already: the same write is the present one again.
  const ending = changed.filter(([, key, writtenSeq, fresh]) => {
    const same = fresh === 1 && pastByKey.get(key)?.[2] === writtenSeq;
    if (same) pastByKey.delete(key);
    return !same;
  });
  const endingFresh = ending.filter(([, , , fresh]) => fresh === 1);
  const expired = await countExpired(reader, agent, cutoffMs);
  return {
    comeBack: Array.from(pastByKey.values(), ([id]) => id),
    end: ending.map(([id]) => id),
    removed: endingFresh.filter(([, key]) => !pastByKey.has(key)).length,
    unchanged: agent.liveEntries - expired - endingFresh.length,
  };
}

/** A past version as screening wants it. */
export async function readVersion(
  reader: Reader,
  id: number,
): Promise<{ key: string; value: string; metadata: JsonObject }> {
  const row = await reader.get<[string, string, string]>(
    "SELECT key, value, metadata FROM entries WHERE id = ?",
    [id],
  );
  if (row === undefined) throw new Error("a version vanished inside its own transaction");
  return { key: row[0], value: JSON.parse(row[1]) as string, metadata: JSON.parse(row[2]) as JsonObject };
}

/**
 * Carries out a plan. What ends is kept as history, since the safety checkpoint of the same
 * operation sees it; what comes back keeps the write that it is from, so its retention goes on.
 */
export async function restoreEntries(tx: Transaction, plan: RestorePlan, moment: Moment): Promise<void> {
  for (const id of plan.end) {
    await tx.run("UPDATE entries SET live_to = ? WHERE id = ?", [moment.seq, id]);
  }
  for (const id of plan.comeBack) {
    await tx.run(
      `INSERT INTO entries (agent, key, value, metadata, written_seq, created_seq, live_from, created_at, updated_at)
       SELECT agent, key, value, metadata, written_seq, created_seq, ?, created_at, updated_at
       FROM entries WHERE id = ?`,
      [moment.seq, id],
    );
  }
}

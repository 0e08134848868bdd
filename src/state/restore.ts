/**
 * The way back to a checkpoint's data. Only the difference between then and now is touched; it is held in memory by
 * key, so a restore costs what changed since, not what the agent holds.
 */
import type { Reader, Transaction } from "../store/transaction.ts";
import type { AgentState } from "./agents.ts";
import { countExpired, type Moment } from "./entries.ts";

/** What restoring would change, before anything is changed. */
export interface RestorePlan {
  /** Ids of the past versions that are restored. */
  comeBack: number[];
  /** Ids of the present versions that end. */
  end: number[];
  /** Keys that the checkpoint's state does not hold. */
  removed: number;
  /** Keys whose present entry equals the checkpoint's. */
  unchanged: number;
}

/**
 * Whether a restore leaves the present version of a key as it is: it is not expired, and the version that is to come
 * back was written by the same event, so an earlier restore brought it back already.
 */
export const staysPresent = (
  present: { written: number; timeMs: number },
  cutoffMs: number,
  wanted: number | undefined,
): boolean => present.timeMs >= cutoffMs && wanted === present.written;

type PastRow = [id: number, key: string, writtenSeq: number];
type PresentRow = [id: number, key: string, writtenSeq: number, updatedAt: number];

/** Compares the state at `asOfSeq` with the present. Entries written before `cutoffMs` are gone on both sides. */
export async function planRestore(reader: Reader, agent: AgentState, asOfSeq: number, cutoffMs: number) {
  const past = await reader.all<PastRow>(
    `SELECT id, key, written_seq FROM entries
     WHERE agent = ? AND live_to > ? AND live_from <= ? AND updated_at >= ?`,
    [agent.firstSeq, asOfSeq, asOfSeq, cutoffMs],
  );
  const changed = await reader.all<PresentRow>(
    `SELECT id, key, written_seq, updated_at FROM entries
     WHERE agent = ? AND live_to IS NULL AND live_from > ?`,
    [agent.firstSeq, asOfSeq],
  );
  const pastByKey = new Map(past.map((row) => [row[1], row]));
  const ending = changed.filter(([, key, written, timeMs]) => {
    const stays = staysPresent({ written, timeMs }, cutoffMs, pastByKey.get(key)?.[2]);
    if (stays) pastByKey.delete(key);
    return !stays;
  });
  const endingFresh = ending.filter(([, , , updatedAt]) => updatedAt >= cutoffMs);
  const expired = await countExpired(reader, agent, cutoffMs);
  return {
    comeBack: Array.from(pastByKey.values(), ([id]) => id),
    end: ending.map(([id]) => id),
    removed: endingFresh.filter(([, key]) => !pastByKey.has(key)).length,
    unchanged: agent.liveEntries - expired - endingFresh.length,
  };
}

/**
 * Carries out a plan. What ends is kept as history, since the safety checkpoint of the same operation sees it; what
 * comes back keeps the time of its write, so its retention continues.
 */
export async function restoreEntries(tx: Transaction, plan: RestorePlan, moment: Moment): Promise<void> {
  for (const id of plan.end) {
    await moment.pause();
    await tx.run("UPDATE entries SET live_to = ? WHERE id = ?", [moment.seq, id]);
  }
  for (const id of plan.comeBack) {
    await moment.pause();
    await tx.run(
      `INSERT INTO entries (agent, key, value, metadata, written_seq, created_seq, live_from, created_at, updated_at)
       SELECT agent, key, value, metadata, written_seq, created_seq, ?, created_at, updated_at
       FROM entries WHERE id = ?`,
      [moment.seq, id],
    );
  }
}

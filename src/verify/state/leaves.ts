/** Computes from the log which entries were present at a position, also after their versions were dropped. */
import { prunedBefore } from "../../core/rows/log/pruning.ts";
import type { StateLeaf } from "../../log/state/tree.ts";
import type { Reader } from "../../store/transaction.ts";
import { pagesOfLog } from "../events/log-pages.ts";
import { addTo } from "../rows/expected/census.ts";
import { loadHistories } from "../rows/expected/histories.ts";
import { areKeptRows, beginWithKept, readKeptState } from "../rows/expected/kept-rows.ts";
import { Replay } from "../rows/expected/replay.ts";

/**
 * Returns the leaves of the state after event `seq`, in order; null when the log no longer tells which entries there were,
 * since an erasure or a pruning took what says so.
 * @param timeMs the time of that event
 * @param pause gives other work a turn, between pages of events
 */
export async function leavesAfter(
  reader: Reader,
  seq: number,
  timeMs: number,
  pause: () => Promise<void>,
): Promise<StateLeaf[] | null> {
  const before = await prunedBefore(reader);
  const stated = before === 0 ? null : await readKeptState(reader);
  const listed = stated !== null && (await areKeptRows(reader, stated));
  const start = listed ? stated.seq : -1;
  if (seq <= start) return null;
  const histories = await loadHistories(reader, { scope: "workspace" }, listed ? 0 : before, start);
  const replay = new Replay(histories, Number.POSITIVE_INFINITY);
  if (listed) await beginWithKept(reader, replay, histories);
  for await (const page of pagesOfLog(reader, seq)) {
    for (const stored of page) addTo(replay, stored);
    await pause();
  }
  return replay.leavesAfter(seq, timeMs);
}

/** Finds the events that a prune must keep because a sink has not delivered them yet. */
import { windowLimits } from "../../core/rows/log/events.ts";
import type { Reader } from "../../store/transaction.ts";
import { firstPosition } from "./batch.ts";
import { listSinks } from "./stored.ts";

/** The events that are kept for sinks. */
export interface Hold {
  /** The first position that is kept. */
  from: number;
  /** The sinks that have not delivered the event at this position. */
  sinks: readonly string[];
}

/**
 * Returns the events that a prune must keep for sinks: from the first event that a sink has not delivered, but not
 * events before `sinceMs`. Null when no event is kept.
 */
export async function holdOf(reader: Reader, sinceMs: number): Promise<Hold | null> {
  const { first: recent } = await windowLimits(reader, null, { startMs: sinceMs }, { after: -1, fromSeq: 0 });
  if (recent === null) return null;
  const nexts = (await listSinks(reader)).map((sink) => ({
    id: sink.id,
    next: Math.max(recent, sink.position === null ? firstPosition(sink) : sink.position + 1),
  }));
  const from = Math.min(...nexts.map(({ next }) => next));
  return nexts.length === 0 ? null : { from, sinks: nexts.filter(({ next }) => next === from).map(({ id }) => id) };
}

/** Returns the explanation why a prune ends where it does. */
export const holdWords = ({ from, sinks }: Hold, days: number): string =>
  `Events from ${from} on are kept for ${days} days (sink_hold_days) for sinks that have not delivered them: ${sinks.join(", ")}.`;

/** Reads the next events for a sink. Writers never wait for a reader. */

import { headOf, scanEvents } from "../../core/rows/log/events.ts";
import { prunedBefore } from "../../core/rows/log/pruning.ts";
import { newestSeal } from "../../core/rows/log/seals.ts";
import { type PresentedEvent, presentEvent } from "../../log/present.ts";
import type { SinkFilter, SinkProgress } from "../../sink.ts";
import type { Reader } from "../../store/transaction.ts";
import { fits } from "../../trail-filter.ts";
import { bodyForm, emptyBytes, itemBytes } from "./body.ts";
import type { SinkConfig } from "./config.ts";
import { eventLine, type Line, type PositionRecord, recordLine } from "./lines.ts";

/** The most events of a batch, and the most bytes of its body with all that is in it. One event may be larger. */
const MAX_EVENTS = 500;
const MAX_BYTES = 1024 * 1024;
/** The position record with the most bytes. */
const WIDEST: PositionRecord = {
  type: "position",
  position: Number.MAX_SAFE_INTEGER,
  hash: "0".repeat(64),
  seal_size: Number.MAX_SAFE_INTEGER,
};

/** What is sent to a receiver at once, in order. */
export interface Message {
  /** Constant when the message is sent again. */
  id: string;
  /** Events and gaps. */
  lines: readonly Line[];
  /** The record of its end; null for a test. */
  position: Line | null;
}

/** The next events of a log. The lines are empty when the filter excludes all of them. */
export interface Batch extends Message {
  /** The first and the last position that the batch covers. */
  from: number;
  to: number;
  /** The position of the last event that matches the filter; -1 when none does. */
  lastWanted: number;
  /** The last position of the newest gap that was reported to the receiver; -1 before the first. */
  gapEnd: number;
}

/** The result of reading after a position. */
interface BatchResult {
  /** Null when there is nothing new. */
  batch: Batch | null;
  /** The position of the newest event. */
  head: number;
}

/** Returns the first position that a new sink delivers. */
export function firstPosition({ start, createdSeq }: Pick<SinkConfig, "start" | "createdSeq">): number {
  if (typeof start === "number") return start;
  return start === "beginning" ? 0 : createdSeq + 1;
}

type Placed = Pick<SinkConfig, "start" | "createdSeq"> & Pick<SinkProgress, "position">;

/** Returns the number of events that a sink has not delivered, when `head` is the position of the newest one. */
export function lagAt(sink: Placed, head: number): number {
  const next = sink.position === null ? firstPosition(sink) : sink.position + 1;
  return Math.max(head + 1 - next, 0);
}

/** Returns the number of events that a sink has not delivered. */
export const eventsBehind = async (reader: Reader, sink: Placed): Promise<number> => lagAt(sink, await headOf(reader));

/** The most positions that are searched for events to be sent again. */
const MAX_LOOKED_BACK = 10_000;

/**
 * Returns the position of the first of the last `count` events before `end` that match a sink's filter, but not before
 * `first`, and not more than {@link MAX_LOOKED_BACK} positions back.
 */
export async function positionBack(reader: Reader, { filter }: SinkConfig, count: number, first: number, end: number) {
  const least = Math.max(first, end - MAX_LOOKED_BACK);
  let found = end;
  let left = count;
  for (let to = end - 1; to >= least && left > 0; to -= MAX_EVENTS) {
    const stored = await scanEvents(reader, null, { from: Math.max(least, to - MAX_EVENTS + 1), to });
    for (const event of stored.map(presentEvent).reverse()) {
      if (left === 0 || !isWanted(filter, event)) continue;
      found = event.seq;
      left -= 1;
    }
  }
  return found;
}

/**
 * Reads events from the position `next` on. Pruned events are reported as one gap up to the end of the pruning, unless
 * it was reported before: `toldGapEnd` is the last position of the newest reported gap.
 */
export async function readBatch(
  reader: Reader,
  sink: SinkConfig,
  { next, toldGapEnd }: { next: number; toldGapEnd: number },
  nowMs: number,
): Promise<BatchResult> {
  const head = await headOf(reader);
  if (head < next) return { batch: null, head };
  const { format, includeDetails, workspaceId } = sink;
  const stored = await scanEvents(reader, null, { from: next, limit: MAX_EVENTS });
  // The seal is read after the events. It may cover more than the batch.
  const sealSize = (await newestSeal(reader))?.size ?? null;
  const lines: Line[] = [];
  const form = bodyForm(sink, nowMs);
  let bytes = emptyBytes(form) + itemBytes(form, recordLine(WIDEST, format, workspaceId, nowMs));
  let gapEnd = toldGapEnd;
  let lastWanted = -1;
  let last: PositionRecord | null = null;
  for (const one of stored) {
    const event = presentEvent(one);
    const expected: number = last === null ? next : last.position + 1;
    if (event.seq > expected && expected > gapEnd) {
      gapEnd = Math.max(event.seq, await prunedBefore(reader)) - 1;
      const gap = recordLine({ type: "gap", from: expected, to: gapEnd }, format, workspaceId, nowMs);
      bytes += itemBytes(form, gap);
      lines.push(gap);
    }
    if (isWanted(sink.filter, event)) {
      const line = eventLine(event, format, includeDetails);
      const size = itemBytes(form, line);
      if (last !== null && bytes + size > MAX_BYTES) break;
      bytes += size;
      lines.push(line);
      lastWanted = event.seq;
    }
    last = { type: "position", position: event.seq, hash: event.hash, seal_size: sealSize };
  }
  if (last === null) return { batch: null, head };
  const { position: to } = last;
  const position = recordLine(last, format, workspaceId, nowMs);
  return { batch: { id: `${sink.id}_${next}_${to}`, from: next, to, lines, position, lastWanted, gapEnd }, head };
}

/** Returns the message that tests a sink. */
export function testMessage({ id, format, workspaceId }: SinkConfig, nowMs: number): Message {
  const line = recordLine({ type: "test", sink_id: id }, format, workspaceId, nowMs);
  return { id: `${id}_test_${nowMs}`, lines: [line], position: null };
}

const isWanted = ({ agents, ...filter }: SinkFilter, event: PresentedEvent): boolean =>
  fits({ ...filter, agentIds: agents }, event);

/** Returns the lines of a message, the record of its position last. */
export const linesOf = ({ lines, position }: Message): readonly Line[] =>
  position === null ? lines : [...lines, position];

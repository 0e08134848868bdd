/** Reads the next events for a sink. It only reads, so a writer never waits for it. */
import { presentEvent } from "../log/present.ts";
import type { SinkFilter, SinkStart } from "../sink.ts";
import { headOf, scanEvents, seqOfSinkCreation } from "../state/events.ts";
import { prunedBefore } from "../state/pruning.ts";
import { newestSeal } from "../state/seals.ts";
import type { Reader } from "../store/transaction.ts";
import type { SinkConfig } from "./config.ts";
import { eventLine, type Line, type PositionRecord, recordLine } from "./lines.ts";

/** The most events, and the most bytes of them, in a batch. One event may be larger. */
const MAX_EVENTS = 500;
const MAX_BYTES = 1024 * 1024;

/** What a receiver is sent at once, in order. */
export interface Message {
  /** The same when it is sent again. */
  id: string;
  /** Events and gaps. */
  lines: readonly Line[];
  /** How far it reaches; null for a test. */
  position: Line | null;
}

/** The next events of a log. The lines are empty when the filter leaves all of them out. */
export interface Batch extends Message {
  /** The first and the last position that it covers. */
  from: number;
  to: number;
  /** The position of the last event that the sink wants; -1 when the filter leaves all of them out. */
  lastWanted: number;
  /** The last position of the newest gap that a receiver was told of; -1 before the first. */
  gapEnd: number;
}

/** What there is to deliver behind a position. */
interface Found {
  /** Null when there is nothing new. */
  batch: Batch | null;
  /** The position of the newest event. */
  head: number;
}

/** Returns the first position that a new sink delivers. */
export async function firstPosition(reader: Reader, id: string, start: SinkStart): Promise<number> {
  if (typeof start === "number") return start;
  if (start === "beginning") return 0;
  // A prune may have removed the event of the creation, and all before it.
  return ((await seqOfSinkCreation(reader, id)) ?? -1) + 1;
}

/** Returns the number of events behind a sink that is not being delivered to at the moment. */
export async function eventsBehind(reader: Reader, sink: Pick<SinkConfig, "id" | "start">, position: number | null) {
  const next = position === null ? await firstPosition(reader, sink.id, sink.start) : position + 1;
  return Math.max((await headOf(reader)) + 1 - next, 0);
}

/** Positions that are looked at, at most, for events to be sent again. */
const MAX_LOOKED_BACK = 10_000;

/**
 * Returns the position of the first of the last `count` events before `end` that a sink wants, but no position before
 * `first`, and none that is very far back.
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
 * Reads what follows from the position `next` on. What a pruning removed is one gap up to the end of the pruning, unless
 * it was told before: `toldGapEnd` is the last position of the newest gap that was.
 */
export async function readBatch(
  reader: Reader,
  sink: SinkConfig,
  { next, toldGapEnd }: { next: number; toldGapEnd: number },
  nowMs: number,
): Promise<Found> {
  const head = await headOf(reader);
  if (head < next) return { batch: null, head };
  const { format, includeDetails, workspaceId } = sink;
  const stored = await scanEvents(reader, null, { from: next, limit: MAX_EVENTS });
  // Read after the events: a seal that covers more than the batch is no contradiction.
  const sealSize = (await newestSeal(reader))?.size ?? null;
  const lines: Line[] = [];
  let bytes = 0;
  let gapEnd = toldGapEnd;
  let lastWanted = -1;
  let last: PositionRecord | null = null;
  for (const one of stored) {
    const event = presentEvent(one);
    const expected: number = last === null ? next : last.position + 1;
    if (event.seq > expected && expected > gapEnd) {
      gapEnd = Math.max(event.seq, await prunedBefore(reader)) - 1;
      lines.push(recordLine({ type: "gap", from: expected, to: gapEnd }, format, workspaceId, nowMs));
    }
    if (isWanted(sink.filter, event)) {
      const line = eventLine(event, format, includeDetails);
      const size = Buffer.byteLength(line.text);
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

/** Returns what shows that a sink works. */
export function testMessage({ id, format, workspaceId }: SinkConfig, nowMs: number): Message {
  const line = recordLine({ type: "test", sink_id: id }, format, workspaceId, nowMs);
  return { id: `${id}_test_${nowMs}`, lines: [line], position: null };
}

function isWanted(
  { operations, results, agents }: SinkFilter,
  event: { operation: string; result: string; agent_id: string | null },
): boolean {
  if (operations?.includes(event.operation) === false || results?.includes(event.result) === false) return false;
  return agents === undefined || (event.agent_id !== null && agents.includes(event.agent_id));
}

/** Returns the lines of a message, that of its position last. */
export const linesOf = ({ lines, position }: Message): readonly Line[] =>
  position === null ? lines : [...lines, position];

/** Reads single events of the audit log, and ranges of events in order. */
import { type AgentLimit, isWithin } from "../../../agent-id.ts";
import { eventId, positionOf, randomOf } from "../../../ids.ts";
import { bodyOf, presentEventJson } from "../../../log/present.ts";
import type { StoredEvent } from "../../../log/rows.ts";
import type { TimeWindow } from "../../../operation-facts.ts";
import { ERASING } from "../../../operations.ts";
import { pageOf } from "../../../store/packed.ts";
import { after, type MaybePromise, type Reader } from "../../../store/transaction.ts";
import { type SqlValue, sqlTexts } from "../../../store/values.ts";
import { type FileEvent, packedEvent, unpackedEvents } from "./stored-events.ts";

/** SQL: the condition that an event has an id. @see positionedId */
export const HAS_ID = "seq = ? AND random = ?";

/** Returns the parameters of {@link HAS_ID}; those of no event for a text that is no id of one. */
export function positionedId(id: string): [seq: number, random: Uint8Array] {
  const seq = positionOf(id);
  return seq === null ? [NONE, NO_BYTES] : [seq, randomOf(id)];
}

const NONE = -1;
const NO_BYTES = new Uint8Array();

/** Returns the events of a query. @param rest what follows the columns @param place the number by which it orders them */
export function readEvents(
  reader: Reader,
  rest: string,
  parameters: readonly SqlValue[],
  place?: string,
): MaybePromise<FileEvent[]> {
  return after(reader.value<Buffer | null>(pageOf(packedEvent("events", place), rest), parameters), unpackedEvents);
}

/**
 * Returns an event of the agents in a limit; one of another agent is not found. `json`: the event as the API shows it.
 */
export async function readEvent(reader: Reader, id: string, limit: AgentLimit) {
  const [stored] = await readEvents(reader, `FROM events WHERE ${HAS_ID}`, positionedId(id));
  if (stored === undefined) return undefined;
  const { agent_id: agentId } = bodyOf(stored);
  if (!isWithin(limit, agentId)) return undefined;
  return { stored, json: presentEventJson(stored), seq: stored.seq, agentId };
}

/** Returns the position of the newest event. */
export async function headOf(reader: Reader): Promise<number> {
  return (await reader.value<number>("SELECT seq FROM head")) as number;
}

/** Returns the positions of an event of the agents in a limit: in the log and in its chain, which is that of `agentId`. */
export async function findPosition(reader: Reader, id: string, limit: AgentLimit) {
  const sql = `SELECT seq, agent_id, agent_seq FROM events WHERE ${HAS_ID}`;
  const row = await reader.get<[number, string | null, number]>(sql, positionedId(id));
  return row && isWithin(limit, row[1]) ? { seq: row[0], agentId: row[1], agentSeq: row[2] } : undefined;
}

/** Returns a window as the limits of times, ms: the first inside, and the first behind it. */
export const timesIn = ({ startMs, endMs }: TimeWindow): [from: number, to: number] => [
  startMs ?? Number.MIN_SAFE_INTEGER,
  endMs ?? Number.MAX_SAFE_INTEGER,
];

/**
 * Returns the numbers of the first and the last event in a window of time: `seq` for the whole log, or `agent_seq` for
 * an agent's chain, with numbers greater than `after` and positions from `fromSeq` on. Nulls when there is none. The
 * order is that of the log: if the clock was set back, events between these two may be outside the window.
 *
 * @param agentId null for the whole log
 */
export async function windowLimits(
  reader: Reader,
  agentId: string | null,
  window: TimeWindow,
  { after, fromSeq }: { after: number; fromSeq: number },
): Promise<{ first: number | null; last: number | null }> {
  const number = agentId === null ? "seq" : "agent_seq";
  const bound: SqlValue[] = agentId === null ? [after, fromSeq] : [agentId, after, fromSeq];
  bound.push(...timesIn(window));
  const limits = await reader.get<[number | null, number | null]>(
    `SELECT min(${number}), max(${number}) FROM events
     WHERE ${agentId === null ? "" : "agent_id = ? AND "}${number} > ? AND seq >= ? AND time >= ? AND time < ?`,
    bound,
  );
  const [first, last] = limits ?? [null, null];
  return { first, last };
}

/** Returns the event with a number: `seq` in the log, or `agent_seq` in an agent's chain. */
export async function eventAt(
  reader: Reader,
  agentId: string | null,
  number: number,
): Promise<StoredEvent | undefined> {
  return (await scanEvents(reader, agentId, { from: number, to: number }))[0];
}

/**
 * Returns the first `limit` events with a number from `from` to `to`, inclusive, in order: by `seq` for the log, or by
 * `agent_seq` for an agent's chain.
 */
export async function scanEvents(
  reader: Reader,
  agentId: string | null,
  { from, to = Number.MAX_SAFE_INTEGER, limit = ALL }: { from: number; to?: number; limit?: number },
): Promise<StoredEvent[]> {
  const [rest, named] =
    agentId === null
      ? ["FROM events WHERE seq BETWEEN ? AND ? ORDER BY seq LIMIT ?", []]
      : ["FROM events WHERE agent_id = ? AND agent_seq BETWEEN ? AND ? ORDER BY agent_seq LIMIT ?", [agentId]];
  return readEvents(reader, rest, [...named, from, to, limit]);
}

/** A `LIMIT` that limits nothing. */
const ALL = -1;

/** Returns the erasures after position `last` that erased details of events at positions `first` to `last`. */
export async function erasuresOf(
  reader: Reader,
  agentId: string | null,
  { first, last }: { first: number; last: number },
): Promise<StoredEvent[]> {
  return readEvents(
    reader,
    `FROM events
     WHERE seq > ?1 AND operation IN (${sqlTexts(ERASING)}) AND result = 'ok' AND (?2 IS NULL OR agent_id = ?2)
       AND EXISTS (SELECT 1 FROM json_each(details, '$.erased') AS erased
         WHERE erased.value ->> 0 <= ?1 AND erased.value ->> 1 >= ?3)
     ORDER BY seq`,
    [last, agentId, first],
  );
}

/** SQL: the random bytes in the id of the event that wrote an entry, for {@link versionOf}. */
export const WRITTEN_RANDOM = "(SELECT random FROM events WHERE seq = written_seq)";

/**
 * Returns the version of an entry: the id of the event that wrote it.
 * @param random {@link WRITTEN_RANDOM}
 * @throws when the event is missing
 */
export function versionOf(writtenSeq: number, random: Uint8Array | null): string {
  if (random === null) throw new Error("an entry names an event that is not there");
  return eventId(writtenSeq, random);
}

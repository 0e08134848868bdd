/** Reads events that stored rows name, together with these rows by joins, and events that problems name. */
import { orNull } from "../../failure.ts";
import type { JsonObject } from "../../json.ts";
import { type RecordedEffect, recordedEffect } from "../../log/effects.ts";
import { type AuditEventBody, EventFormatError, parseEvent } from "../../log/event.ts";
import type { EffectKind } from "../../operation-facts.ts";
import type { Reader } from "../../store/transaction.ts";
import { decodeText } from "../columns.ts";
import type { ReportedProblem } from "../report-schema.ts";

/** An event that a stored row names. The log itself is verified elsewhere. */
export interface NamedEvent {
  event: AuditEventBody;
  /** Null when erased or unreadable. */
  details: JsonObject | null;
  effect: RecordedEffect;
  /** The time of the event, ms since the Unix epoch. */
  timeMs: number;
}

/** Returns the kind of a named event's effect, even if its details are erased. */
export const kindOf = ({ effect }: NamedEvent): EffectKind | "none" =>
  effect.kind === "unknown" ? effect.of : effect.kind;

/** SQL: two columns with the event of a joined `events` table. */
export const eventColumns = (table: string): string =>
  `octet_length(${table}.body), CAST(${table}.body || coalesce(${table}.details, '') AS BLOB)`;

export type EventColumns = [bodyLength: number | null, bodyAndDetails: Buffer | null];

/** Returns the event in these two columns; null when there is none, or the bytes are not an event. */
export function readNamedEvent(...[length, bytes]: EventColumns): NamedEvent | null {
  if (length === null || bytes === null) return null;
  const event = orNull(EventFormatError, () => parseEvent(bytes.toString("latin1", 0, length)));
  if (event === null) return null;
  const details = readDetails(bytes.subarray(length));
  return { event, details, effect: recordedEffect(event, details), timeMs: Date.parse(event.timestamp) };
}

function readDetails(bytes: Buffer): JsonObject | null {
  const text = decodeText(bytes);
  // The log's own verification reports details that are not JSON.
  return text === null || text === "" ? null : orNull(SyntaxError, () => JSON.parse(text) as JsonObject);
}

/** Adds the event at the position of each problem that has a position but no event. */
export async function nameEvents(reader: Reader, problems: readonly ReportedProblem[]): Promise<void> {
  for (const problem of problems) {
    if (problem.seq === null || problem.operation !== null) continue;
    const sql = `SELECT ${eventColumns("e")} FROM events e WHERE seq = ?`;
    const { event = null } = readNamedEvent(...((await reader.get<EventColumns>(sql, [problem.seq])) ?? NOTHING)) ?? {};
    if (event?.seq !== problem.seq) continue;
    const { id, agent_id, agent_seq, operation, timestamp } = event;
    Object.assign(problem, { id, agent_id, agent_seq, operation, timestamp });
  }
}

const NOTHING: EventColumns = [null, null];

/** Events that stored rows name, joined to these rows and read with them, and events that problems name. */
import { orNull } from "../../failure.ts";
import type { JsonObject } from "../../json.ts";
import { type RecordedEffect, recordedEffect } from "../../log/effects.ts";
import { type AuditEventBody, EventFormatError, parseEvent } from "../../log/event.ts";
import type { EffectKind } from "../../operation-facts.ts";
import type { Reader } from "../../store/transaction.ts";
import { decodeText } from "../columns.ts";
import type { ReportedProblem } from "../report-schema.ts";

/** An event as a stored row needs it. The log itself is verified elsewhere. */
export interface NamedEvent {
  event: AuditEventBody;
  /** Null when erased or unreadable. */
  details: JsonObject | null;
  effect: RecordedEffect;
  /** Its time, ms since the Unix epoch. */
  timeMs: number;
}

/** The kind of a named event's effect, also when its details are erased. */
export const kindOf = ({ effect }: NamedEvent): EffectKind | "none" =>
  effect.kind === "unknown" ? effect.of : effect.kind;

/** SQL: two columns that hold the event of a joined `events` table. */
export const eventColumns = (table: string): string =>
  `octet_length(${table}.body), CAST(${table}.body || coalesce(${table}.details, '') AS BLOB)`;

/** What {@link eventColumns} reads. */
export type EventColumns = [bodyLength: number | null, bodyAndDetails: Buffer | null];

/** The event in its two columns; null when there is none, or it is no event. */
export function readNamedEvent(...[length, bytes]: EventColumns): NamedEvent | null {
  if (length === null || bytes === null) return null;
  const event = orNull(EventFormatError, () => parseEvent(bytes.toString("latin1", 0, length)));
  if (event === null) return null;
  const details = readDetails(bytes.subarray(length));
  return { event, details, effect: recordedEffect(event, details), timeMs: Date.parse(event.timestamp) };
}

function readDetails(bytes: Buffer): JsonObject | null {
  const text = decodeText(bytes);
  // The log's own verification reports what is not JSON.
  return text === null || text === "" ? null : orNull(SyntaxError, () => JSON.parse(text) as JsonObject);
}

/** Adds to each problem with a position, but without an event, what the event of that position says of itself. */
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

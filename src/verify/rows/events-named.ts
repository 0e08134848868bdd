/** Reads events that stored rows name, together with these rows by joins, and events that problems name. */
import { packedEvent, unpackedEvents } from "../../core/rows/log/stored-events.ts";
import { orNull } from "../../failure.ts";
import type { JsonObject } from "../../json.ts";
import { type RecordedEffect, recordedEffect } from "../../log/effects.ts";
import { type AuditEventBody, EventFormatError } from "../../log/event.ts";
import { bodyOf } from "../../log/present.ts";
import type { EffectKind } from "../../operation-facts.ts";
import type { Reader } from "../../store/transaction.ts";
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

/** SQL: a column with the event of a joined `events` table. */
export const eventColumn = (table: string): string => `CAST(${packedEvent(table)} AS BLOB)`;

/** Returns the event in this column; null when there is none, or the columns are not those of an event. */
export function readNamedEvent(column: Buffer): NamedEvent | null {
  const [stored] = unpackedEvents(column);
  // A join that found no event leaves all columns NULL.
  if (stored?.seq == null) return null;
  const event = orNull(EventFormatError, () => bodyOf(stored));
  if (event === null) return null;
  const details = readDetails(stored.details);
  return { event, details, effect: recordedEffect(event, details), timeMs: Date.parse(event.timestamp) };
}

/** The log's own verification reports details that are not JSON. */
const readDetails = (text: string | null): JsonObject | null =>
  text === null ? null : orNull(SyntaxError, () => JSON.parse(text) as JsonObject);

/** Adds the event at the position of each problem that has a position but no event. */
export async function nameEvents(reader: Reader, problems: readonly ReportedProblem[]): Promise<void> {
  for (const problem of problems) {
    if (problem.seq === null || problem.operation !== null) continue;
    const column = await reader.value<Buffer>(`SELECT ${eventColumn("e")} FROM events e WHERE seq = ?`, [problem.seq]);
    const { event = null } = (column && readNamedEvent(column)) || {};
    if (event?.seq !== problem.seq) continue;
    const { id, agent_id, agent_seq, operation, timestamp } = event;
    Object.assign(problem, { id, agent_id, agent_seq, operation, timestamp });
  }
}

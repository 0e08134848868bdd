/**
 * The columns of an event in a file, and the event in them: what differs from event to event, of which the canonical
 * text follows (docs/audit-format.md, "A workspace's file").
 */
import { EVENT_RANDOM_BYTES, eventId, FIRST_MOMENT_MS, LAST_MOMENT_MS, showTime } from "../../../ids.ts";
import { AUDIT_FORMAT, type AuditEventBody, isInForm, textOf } from "../../../log/event.ts";
import type { StoredEvent } from "../../../log/rows.ts";
import { type ColumnType, PackedRows, packed, typesOf } from "../../../store/packed.ts";

/** An event in the file. */
export interface FileEvent extends StoredEvent {
  canonical: string;
  details: string | null;
  salt: string | null;
  hash: string;
  seq: number;
  /** The number by which a query orders its events; 0 when it has none. */
  place: number;
  /** False when a column has another type than its declared one. */
  typed: boolean;
}

/**
 * The columns that events are read from, with their types, in the order of the constants below. Those of bytes are
 * beside each other, so that their hex is made at once.
 */
const COLUMNS: Readonly<Record<string, ColumnType>> = {
  ...{ seq: "integer", actor: "text", agent_id: "text?", agent_seq: "integer", blocked_by: "text?" },
  ...{ config_version: "integer?", operation: "text", result: "text", time: "integer", details: "text?" },
  ...{ random: "blob", details_commitment: "blob", previous_hash: "blob", hash: "blob", details_salt: "blob?" },
};
const [SEQ, ACTOR, AGENT_ID, AGENT_SEQ, BLOCKED_BY, CONFIG_VERSION] = [0, 1, 2, 3, 4, 5] as const;
const [OPERATION, RESULT, TIME, DETAILS, RANDOM] = [6, 7, 8, 9, 10] as const;
const [COMMITMENT, PREVIOUS, HASH, SALT, WORKSPACE, PLACE] = [11, 12, 13, 14, 15, 16] as const;
const COUNT = 17;
const TYPES = typesOf(Object.values(COLUMNS));

/**
 * SQL: an event as one value, for `pageOf` and {@link unpackedEvents}.
 * @param place the number by which the query orders its events
 */
export const packedEvent = (table = "events", place = "0"): string =>
  packed([...Object.keys(COLUMNS).map((column) => `${table}.${column}`), "(SELECT workspace_id FROM head)", place]);

/** Returns the events of a page; null is an empty one. */
export function unpackedEvents(page: Buffer | null | undefined): FileEvent[] {
  if (page == null) return [];
  const rows = new PackedRows(page, COUNT);
  const events: FileEvent[] = [];
  while (rows.next()) events.push(eventOf(rows));
  return events;
}

function eventOf(rows: PackedRows): FileEvent {
  const members = membersIn(rows);
  const canonical = textOf(members);
  return {
    body: isInForm(members, canonical) ? members : undefined,
    canonical,
    seq: rows.integer(SEQ) as number,
    place: rows.integer(PLACE) ?? 0,
    typed: rows.areOf(TYPES),
    hash: rows.hex(HASH),
    // Bytes that are not UTF-8 do not match the commitment, which is then reported.
    details: rows.isNull(DETAILS) ? null : (rows.text(DETAILS) ?? rows.latin1(DETAILS)),
    salt: rows.isNull(SALT) ? null : rows.hex(SALT),
  };
}

/** Returns the members of an event. Columns of other types have texts that no member has. */
function membersIn(rows: PackedRows): AuditEventBody {
  const textOrNull = (index: number) => (rows.isNull(index) ? null : rows.latin1(index));
  const version = textOrNull(CONFIG_VERSION);
  return {
    actor: rows.latin1(ACTOR),
    agent_id: textOrNull(AGENT_ID),
    agent_seq: rows.integer(AGENT_SEQ) ?? 0,
    blocked_by: textOrNull(BLOCKED_BY),
    config_version: version === null ? null : `v${version}`,
    details_commitment: rows.hex(COMMITMENT),
    format: AUDIT_FORMAT,
    id: idIn(rows),
    operation: rows.latin1(OPERATION),
    previous_hash: rows.hex(PREVIOUS),
    result: rows.latin1(RESULT) as AuditEventBody["result"],
    seq: rows.integer(SEQ) ?? 0,
    timestamp: timeIn(rows),
    workspace_id: rows.latin1(WORKSPACE),
  };
}

function idIn(rows: PackedRows): string {
  const random = rows.bytesOf(RANDOM);
  return random.length === EVENT_RANDOM_BYTES ? eventId(rows.integer(SEQ) ?? 0, random) : "";
}

/** The moments that RFC 3339 can name with a year of four digits are the only ones that an event can have. */
function timeIn(rows: PackedRows): string {
  const ms = rows.integer(TIME);
  return ms === null || ms < FIRST_MOMENT_MS || ms > LAST_MOMENT_MS ? "" : showTime(ms);
}

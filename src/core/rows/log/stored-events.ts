/**
 * The columns of an event in a file, and the event in them: what differs from event to event, of which the canonical
 * text follows (docs/audit-format.md, "A workspace's file").
 */
import { eventId, FIRST_MOMENT_MS, LAST_MOMENT_MS, showTime } from "../../../ids.ts";
import { AUDIT_FORMAT, type AuditEventBody, isInForm, textOf } from "../../../log/event.ts";
import type { StoredEvent } from "../../../log/rows.ts";
import { PackedRows, packed } from "../../../store/packed.ts";

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

/** The columns that events are read from, in the order of the constants below. */
const COLUMNS = [
  ...["seq", "actor", "agent_id", "agent_seq", "blocked_by", "config_version", "details_commitment", "random"],
  ...["operation", "previous_hash", "result", "time", "hash", "details", "details_salt"],
];
const [SEQ, ACTOR, AGENT_ID, AGENT_SEQ, BLOCKED_BY, CONFIG_VERSION, COMMITMENT, RANDOM] = [
  0, 1, 2, 3, 4, 5, 6, 7,
] as const;
const [OPERATION, PREVIOUS, RESULT, TIME, HASH, DETAILS, SALT, WORKSPACE, PLACE] = [
  8, 9, 10, 11, 12, 13, 14, 15, 16,
] as const;
const COUNT = 17;

/**
 * SQL: an event as one value, for `pageOf` and {@link eventsIn}.
 * @param place the number by which the query orders its events
 */
export const packedEvent = (table = "events", place = "0"): string =>
  packed([...COLUMNS.map((column) => `${table}.${column}`), "(SELECT workspace_id FROM head)", place]);

/** Returns the events of a page; null is an empty one. */
export function eventsIn(page: Buffer | null | undefined): FileEvent[] {
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
    typed: isTyped(rows),
    hash: rows.hex(HASH),
    // Bytes that are not UTF-8 do not match the commitment, which is then reported.
    details: rows.isNull(DETAILS) ? null : (rows.text(DETAILS) ?? rows.latin1(DETAILS)),
    salt: rows.isNull(SALT) ? null : rows.hex(SALT),
  };
}

/** Whether every column has its declared type. */
const isTyped = (rows: PackedRows): boolean =>
  TEXTS.every((index) => rows.isText(index)) &&
  INTEGERS.every((index) => rows.integer(index) !== null) &&
  BLOBS.every((index) => rows.isBlob(index)) &&
  OPTIONAL_TEXTS.every((index) => rows.isText(index) || rows.isNull(index)) &&
  (rows.isNull(CONFIG_VERSION) || rows.integer(CONFIG_VERSION) !== null) &&
  (rows.isNull(SALT) || rows.isBlob(SALT));

const TEXTS = [ACTOR, OPERATION, RESULT];
const INTEGERS = [SEQ, AGENT_SEQ, TIME];
const BLOBS = [COMMITMENT, RANDOM, PREVIOUS, HASH];
const OPTIONAL_TEXTS = [AGENT_ID, BLOCKED_BY, DETAILS];

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

const RANDOM_BYTES = 8;

function idIn(rows: PackedRows): string {
  const random = rows.bytesOf(RANDOM);
  return random.length === RANDOM_BYTES ? eventId(rows.integer(SEQ) ?? 0, random) : "";
}

/** The moments that RFC 3339 can name with a year of four digits are the only ones that an event can have. */
function timeIn(rows: PackedRows): string {
  const ms = rows.integer(TIME);
  return ms === null || ms < FIRST_MOMENT_MS || ms > LAST_MOMENT_MS ? "" : showTime(ms);
}

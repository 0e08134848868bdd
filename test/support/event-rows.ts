/** Reads the events of a file as it stores them, and changes them as somebody with the disk would. */
import { type FileEvent, packedEvent, unpackedEvents } from "../../src/core/rows/log/stored-events.ts";
import { eventId, randomOf } from "../../src/ids.ts";
import { type AuditEventBody, canonicalEvent, parseEvent } from "../../src/log/event.ts";
import { eventHash } from "../../src/log/hash.ts";
import type { Connection } from "../../src/store/connection.ts";
import { pageOf } from "../../src/store/packed.ts";
import type { SqlValue } from "../../src/store/values.ts";

/** The stored columns of an event but its number. */
const STORED = [
  ...["agent_id", "agent_seq", "operation", "result", "blocked_by", "actor", "config_version", "time", "random"],
  ...["previous_hash", "details_commitment", "hash", "entries", "details", "details_salt"],
] as const;

type Stored = (typeof STORED)[number];

/** The columns that the hash covers. */
export const HASHED: readonly Stored[] = STORED.slice(0, STORED.indexOf("hash"));

/** SQL: an event beside another number. @param values SQL of columns that differ */
export const doubled = (seq: string, values: Partial<Record<Stored, string>> = {}): string =>
  `INSERT INTO events (seq, ${STORED.join(", ")}) SELECT ${seq}, ${STORED.map((name) => values[name] ?? name).join(", ")} FROM events`;

/** Returns the stored events. @param rest SQL after `FROM events` */
export const storedEvents = (
  connection: Connection,
  rest = "ORDER BY seq",
  bound: readonly SqlValue[] = [],
): FileEvent[] => unpackedEvents(connection.value<Buffer | null>(pageOf(packedEvent(), `FROM events ${rest}`), bound));

/** Returns the members of the event at a position. */
export const memberOf = (connection: Connection, seq: number): AuditEventBody =>
  parseEvent(storedEvents(connection, "WHERE seq = ?", [seq])[0]?.canonical ?? "");

/** Returns the id of the event at a position. */
export function idAt(connection: Connection, seq: number): string {
  const random = connection.value<Uint8Array>("SELECT random FROM events WHERE seq = ?", [seq]);
  return eventId(seq, random as Uint8Array);
}

type Change = readonly [sql: string, bound: readonly SqlValue[]];

/** Returns the statement that makes an event have these members, and the hash that it had. */
export const setMembers = (seq: number, body: AuditEventBody): Change => update(seq, columnsOf(body));

/** Returns the statement that makes an event have these members, and their hash. */
export const setEvent = (seq: number, body: AuditEventBody): Change =>
  update(seq, { ...columnsOf(body), hash: bytes(eventHash(canonicalEvent(body))) });

function update(seq: number, columns: Partial<Record<Stored, SqlValue>>): Change {
  const set = Object.keys(columns).map((name) => `${name} = ?`);
  return [`UPDATE events SET ${set.join(", ")} WHERE seq = ?`, [...Object.values(columns), seq]];
}

/** Adds an event after the last one. */
export function insertEvent(
  connection: Connection,
  body: AuditEventBody,
  { details, salt, entries = 0 }: { details: string | null; salt: string | null; entries?: number },
): void {
  const columns: Record<Stored, SqlValue> = {
    ...columnsOf(body),
    hash: bytes(eventHash(canonicalEvent(body))),
    ...{ entries, details, details_salt: salt === null ? null : bytes(salt) },
  };
  const values = STORED.map((name) => columns[name]);
  const sql = `INSERT INTO events (seq, ${STORED.join(", ")}) VALUES (?${", ?".repeat(STORED.length)})`;
  connection.run(sql, [body.seq, ...values]);
}

type Hashed = Exclude<Stored, "hash" | "entries" | "details" | "details_salt">;

const columnsOf = (body: AuditEventBody): Record<Hashed, SqlValue> => ({
  ...{ agent_id: body.agent_id, agent_seq: body.agent_seq, operation: body.operation, result: body.result },
  ...{ blocked_by: body.blocked_by, actor: body.actor },
  config_version: body.config_version === null ? null : Number(body.config_version.slice(1)),
  time: Date.parse(body.timestamp),
  random: randomOf(body.id),
  previous_hash: bytes(body.previous_hash),
  details_commitment: bytes(body.details_commitment),
});

const bytes = (hex: string): Uint8Array => Buffer.from(hex, "hex");

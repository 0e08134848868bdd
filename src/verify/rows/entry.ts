/** Compares one stored version of an entry with the events that it names. Pure. */

import { orNull } from "../../failure.ts";
import { isSalt, valueDigest } from "../../log/hash.ts";
import { CanonicalJsonError } from "../../log/jcs.ts";
import { isJson } from "../../log/json-scan.ts";
import { RowForm, type RowOf } from "../columns.ts";
import type { Finding } from "../problems.ts";
import { kindOf, type NamedEvent } from "./events-named.ts";

/** The columns of `entries`. `value` and `metadata` are JSON texts, as stored. */
export const ENTRY = new RowForm("e", {
  id: "integer",
  agent: "integer",
  key: "text",
  value: "text",
  metadata: "text",
  salt: "blob",
  written_seq: "integer",
  created_seq: "integer",
  live_from: "integer",
  live_to: "integer?",
  created_at: "integer",
  updated_at: "integer",
  expires_at: "integer?",
  quarantined: "integer?",
});
export type StoredRow = RowOf<typeof ENTRY>;

/** The columns with a row's key and the positions between which it is visible. */
export type StoredLife = Omit<StoredRow, "id" | "agent" | "value" | "metadata" | "salt">;

/** Events by their positions; null when the bytes are not an event. */
export type NamedEvents = ReadonlyMap<number, NamedEvent | null>;

/** A row with the events at the positions that it names; null for a missing event. */
export type StoredVersion = StoredRow & {
  written: NamedEvent | null;
  created: NamedEvent | null;
  from: NamedEvent | null;
  to: NamedEvent | null;
};

const mismatch = (message: string): Finding => ({ code: "content_mismatch", message });
const orphan = (message: string): Finding => ({ code: "content_orphan", message });

/** Returns the positions of the events that a row names. */
export const namedBy = ({ written_seq, created_seq, live_from, live_to }: StoredLife): number[] => [
  ...[written_seq, created_seq, live_from],
  ...(live_to === null ? [] : [live_to]),
];

/** Returns a row with the events that it names. */
export function withEvents(row: StoredRow, named: NamedEvents): StoredVersion {
  const at = (seq: number | null) => (seq === null ? null : (named.get(seq) ?? null));
  const { written_seq, created_seq, live_from, live_to } = row;
  return { ...row, written: at(written_seq), created: at(created_seq), from: at(live_from), to: at(live_to) };
}

/** Makes all checks that need only the row and its events. Returns the first problem, or null. */
export function entryProblem(row: StoredVersion, agentId: string | null): Finding | null {
  return contentProblem(row, agentId) ?? originProblem(row, agentId) ?? lifeProblem(row, agentId);
}

/** Checks the key, value and metadata, and when they were written. */
function contentProblem(row: StoredVersion, agentId: string | null): Finding | null {
  const { written } = row;
  if (written === null || !isWrite(written, agentId)) {
    return orphan("a stored entry names an event that did not write it");
  }
  if (written.details === null) {
    const message = "a stored entry cannot be proved: the details of its event are erased";
    return { code: "content_unprovable", message };
  }
  const { effect } = written;
  const isSame = effect.kind === "put" && effect.key === row.key && effect.digest === digestOf(row);
  // The hashed text can be divided differently in only one way, which leaves metadata that is not JSON.
  if (!isSame || !isJson(row.metadata)) {
    return mismatch("a stored entry is not what its event says was written");
  }
  if (row.updated_at !== written.timeMs) return mismatch("a stored entry has another time than its event");
  if (row.expires_at !== effect.expiresAtMs) return mismatch("a stored entry ends at another time than its event says");
  return null;
}

/** Checks the event with which the key began. */
function originProblem(row: StoredVersion, agentId: string | null): Finding | null {
  const { created } = row;
  if (
    created === null ||
    !isWrite(created, agentId) ||
    row.created_seq > row.written_seq ||
    !isAboutKey(created, row)
  ) {
    return orphan("a stored entry says that it was created by an event that did not write its key");
  }
  if (row.created_at !== created.timeMs) {
    return mismatch("a stored entry has another time of creation than the event that created it");
  }
  return null;
}

/** Checks the positions between which the row was the present version. */
function lifeProblem(row: StoredVersion, agentId: string | null): Finding | null {
  if (row.live_from !== row.written_seq && !(row.live_from > row.written_seq && isRestore(row.from, agentId))) {
    return orphan("a stored entry is live since an event that neither wrote nor restored it");
  }
  if (row.live_to === null) return null;
  if (row.live_to <= row.live_from || !couldHaveEnded(row, agentId)) {
    return orphan("a stored entry ended with an event that could not end it");
  }
  return null;
}

/**
 * Returns the digest of a row's content, hex; null when its key has no canonical form, or its salt is none. The hashed text is built from
 * the columns as they are stored, so that every byte counts.
 */
export const digestOf = ({ key, metadata, value, salt }: StoredRow): string | null =>
  isSalt(salt) ? orNull(CanonicalJsonError, () => valueDigest(salt, key, metadata, value)) : null;

const isWrite = (named: NamedEvent, agentId: string | null): boolean =>
  kindOf(named) === "put" && named.event.agent_id === agentId;

/** Whether a write or a deletion is about the row's key. (An erasure of the key would have removed the row.) */
function isAboutKey({ effect }: NamedEvent, { key }: StoredVersion): boolean {
  return (effect.kind === "put" || effect.kind === "end") && effect.key === key;
}

function isRestore(named: NamedEvent | null, agentId: string | null): boolean {
  if (named === null || named.event.agent_id !== agentId) return false;
  const { effect } = named;
  return effect.kind === "restore" ? effect.restored > 0 : kindOf(named) === "restore";
}

function couldHaveEnded(row: StoredVersion, agentId: string | null): boolean {
  if (row.to === null || row.to.event.agent_id !== agentId) return false;
  const { effect } = row.to;
  switch (kindOf(row.to)) {
    case "put":
    case "end":
      return isAboutKey(row.to, row);
    case "end_prefix":
      return effect.kind === "unknown" || (effect.kind === "end_prefix" && row.key.startsWith(effect.prefix));
    case "restore":
      return true;
    default:
      return false;
  }
}

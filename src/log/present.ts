/** Converts events between their stored form and the form that the API and the exports show. */
import { HASH_FORM } from "../details.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import {
  AUDIT_FORMAT,
  type AuditEventBody,
  canonicalEvent,
  EventFormatError,
  MEMBERS,
  parseEvent,
  quotedOrNull,
  rangeProblem,
  textOf,
} from "./event.ts";
import { eventHash, isSalt, SALT_FORM, saltedDigest } from "./hash.ts";
import { CanonicalJsonError, canonicalJson, parseCanonicalObject } from "./jcs.ts";
import { parseStrictJson } from "./json-scan.ts";
import { canonicalText, hexOf, type StoredEvent } from "./rows.ts";

/** An event as shown. `details` and `details_salt` are null once erased. */
export interface PresentedEvent extends AuditEventBody {
  details: JsonObject | null;
  details_salt: string | null;
  hash: string;
}

/** The stored form of a shown event: text throughout, with the hash that was shown. */
export interface ExportedEvent extends StoredEvent {
  canonical: string;
  salt: string | null;
  hash: string;
}

/** The members of a shown event, in the order in which they are shown. */
export const PRESENTED_MEMBERS = [
  "id",
  "seq",
  "workspace_id",
  "agent_id",
  "agent_seq",
  "operation",
  "result",
  "blocked_by",
  "actor",
  "config_version",
  "timestamp",
  "details",
  "details_salt",
  "details_commitment",
  "previous_hash",
  "hash",
  "format",
] as const satisfies readonly (keyof PresentedEvent)[];

/** Returns what a stored event says. @throws EventFormatError when the stored bytes are not an event */
export const bodyOf = (stored: StoredEvent): AuditEventBody => stored.body ?? parseEvent(canonicalText(stored));

/**
 * Returns the JSON text of an event as shown, from its stored form. The hash is computed, never copied.
 * @throws EventFormatError when the stored bytes are not an event
 */
export function presentEventJson(stored: StoredEvent): string {
  const text = canonicalText(stored);
  return renderEvent({ ...stored, canonical: text }, eventHash(text));
}

/** {@link presentEventJson} with the hash given. */
export function renderEvent(stored: StoredEvent & { canonical: string }, hash: string): string {
  const event = bodyOf(stored);
  const salt = stored.salt === null ? "null" : `"${hexOf(stored.salt)}"`;
  return (
    `{"id":"${event.id}","seq":${event.seq},"workspace_id":"${event.workspace_id}"` +
    `,"agent_id":${quotedOrNull(event.agent_id)},"agent_seq":${event.agent_seq}` +
    `,"operation":"${event.operation}","result":"${event.result}","blocked_by":${quotedOrNull(event.blocked_by)}` +
    `,"actor":"${event.actor}","config_version":${quotedOrNull(event.config_version)}` +
    `,"timestamp":"${event.timestamp}","details":${stored.details ?? "null"},"details_salt":${salt}` +
    `,"details_commitment":"${event.details_commitment}","previous_hash":"${event.previous_hash}"` +
    `,"hash":"${hash}","format":"${AUDIT_FORMAT}"}`
  );
}

/** The form of each member's JSON text in the order of {@link PRESENTED_MEMBERS}, each with one capture. */
const FORMS = new Map<string, string>([
  ...MEMBERS,
  ["details", "(?:null|(\\{[^]*\\}))"],
  ["details_salt", `(?:null|"(${SALT_FORM})")`],
  ["hash", `"(${HASH_FORM})"`],
]);
const SHOWN = new RegExp(`${PRESENTED_MEMBERS.map((name) => `"${name}":${FORMS.get(name)}`).join(",")}\\}$`, "y");

/** An event with its body and its details as values. */
type ParsedEvent = ExportedEvent & { body: AuditEventBody; said: JsonObject | null };

/**
 * Parses the text that {@link renderEvent} makes of an event, whose first member begins after `lead`. Null for any other
 * text, which may still be an event. It is the same as `storedFromPresented(JSON.parse(text))`, at a fraction of its
 * cost.
 */
export function parseRendered(text: string, lead = "{"): ParsedEvent | null {
  if (!text.startsWith(lead)) return null;
  SHOWN.lastIndex = lead.length;
  const match = SHOWN.exec(text);
  if (match === null) return null;
  const details = match[12] ?? null;
  const said = details === null ? null : parseCanonicalObject(details);
  if (details !== null && said === null) return null;
  const body: AuditEventBody = {
    actor: match[9] as string,
    agent_id: match[4] ?? null,
    agent_seq: Number(match[5]),
    blocked_by: match[8] ?? null,
    config_version: match[10] ?? null,
    details_commitment: match[14] as string,
    format: AUDIT_FORMAT,
    id: match[1] as string,
    operation: match[6] as string,
    previous_hash: match[15] as string,
    result: match[7] as AuditEventBody["result"],
    seq: Number(match[2]),
    timestamp: match[11] as string,
    workspace_id: match[3] as string,
  };
  if (rangeProblem(body) !== null) return null;
  return { body, said, canonical: textOf(body), details, salt: match[13] ?? null, hash: match[16] as string };
}

/** {@link presentEventJson} as an object. */
export const presentEvent = (stored: StoredEvent): PresentedEvent =>
  JSON.parse(presentEventJson(stored)) as PresentedEvent;

/**
 * Turns a shown event back into the stored form, canonical bytes included.
 * @param shown the result of JSON.parse; unknown members are refused
 * @throws EventFormatError when a member is missing, unknown, of a wrong type or malformed
 */
export function storedFromPresented(shown: JsonValue): ExportedEvent {
  if (shown === null || typeof shown !== "object" || Array.isArray(shown)) {
    throw new EventFormatError("an event is not a JSON object");
  }
  for (const member of PRESENTED_MEMBERS) {
    if (!Object.hasOwn(shown, member)) throw new EventFormatError(`${member} is missing`);
  }
  if (Object.keys(shown).length !== PRESENTED_MEMBERS.length) {
    throw new EventFormatError("an event has members that the format does not know");
  }
  const { details, details_salt: salt, hash, ...body } = shown;
  if (typeof hash !== "string") throw new EventFormatError("hash has the wrong type or form");
  const canonical = canonicalOf(body);
  return { canonical, details: detailsText(details as JsonValue), salt: saltText(salt as JsonValue), hash };
}

/** Returns the stored form of a shown event with an unknown envelope, of which only the hash is known. */
export function storedFromNewer({ details, details_salt, hash, ...body }: JsonObject): ExportedEvent {
  return { canonical: canonicalJson(body), details: null, salt: null, hash: String(hash) };
}

/**
 * Returns the canonical text of an event that is given by its 14 members alone.
 * @throws EventFormatError when a member is missing, unknown, of a wrong type or malformed
 */
export function canonicalFromMembers(body: JsonObject): string {
  const beside = ["details", "details_salt", "hash"];
  const members = PRESENTED_MEMBERS.filter((member) => !beside.includes(member));
  if (Object.keys(body).length !== members.length || !members.every((member) => Object.hasOwn(body, member))) {
    throw new EventFormatError("an event does not have the members of its format");
  }
  return canonicalOf(body);
}

const NULLABLE: ReadonlySet<string> = new Set(
  MEMBERS.flatMap(([name, form]) => (form.startsWith("(?:null|") ? [name] : [])),
);

function canonicalOf(body: JsonObject): string {
  // canonicalEvent checks the text of the members. It cannot check their types: null would be written as a word.
  for (const [member, value] of Object.entries(body)) {
    const isNumber = member === "seq" || member === "agent_seq";
    const typed = value === null ? NULLABLE.has(member) : typeof value === (isNumber ? "number" : "string");
    if (!typed) throw new EventFormatError(`${member} has the wrong type or form`);
  }
  return canonicalEvent(body as unknown as AuditEventBody);
}

function detailsText(details: JsonValue): string | null {
  if (details === null) return null;
  if (typeof details !== "object" || Array.isArray(details)) {
    throw new EventFormatError("details has the wrong type or form");
  }
  try {
    return canonicalJson(details);
  } catch (error) {
    if (error instanceof CanonicalJsonError) throw new EventFormatError(`details: ${error.message}`);
    throw error;
  }
}

/**
 * Returns the stored form of an event that is given by its exact bytes, and the exact text of its details.
 * @throws EventFormatError when a part is not in its form
 */
export function storedFromLeaf({ leaf, details, details_salt: salt, ...others }: JsonObject): ExportedEvent {
  if (typeof leaf !== "string" || Object.keys(others).length > 0) {
    throw new EventFormatError("a leaf is given with other members than those of its form");
  }
  const hasDetails = typeof details === "string";
  if (!hasDetails && details !== null) throw new EventFormatError("details has the wrong type or form");
  const text = hasDetails ? detailsText(parseStrictJson(details) as JsonValue) : null;
  if (text !== details) throw new EventFormatError("details are not in canonical form");
  parseEvent(leaf);
  return { canonical: leaf, details: text, salt: saltText(salt as JsonValue), hash: eventHash(leaf) };
}

function saltText(salt: JsonValue): string | null {
  if (salt === null) return null;
  if (typeof salt !== "string" || !isSalt(salt)) throw new EventFormatError("details_salt has the wrong type or form");
  return salt;
}

/** Returns the details of an event; null when they are erased, or do not match the commitment, or the hash is wrong. */
export function genuineDetails(stored: ExportedEvent, event: AuditEventBody): JsonObject | null {
  const { canonical, details, salt, hash } = stored;
  if (details === null || salt === null || eventHash(canonical) !== hash) return null;
  return saltedDigest(salt, details) === event.details_commitment ? (JSON.parse(details) as JsonObject) : null;
}

/**
 * # Format governd.audit/1: an event of the audit log
 *
 * ## Canonical bytes
 * An event is the RFC 8785 (JCS) text of one JSON object with exactly these members. They are the record: everything
 * that is shown of an event is read from them. All of it is printable ASCII without quotes or backslashes inside the
 * strings, so the text has no escapes and each character is one byte. JCS sorts the members, so they have this order:
 *
 *   actor               string   `key_<typeid>`, `usr_<typeid>`, `cli` or `system`: who asked
 *   agent_id            string?  the agent, 1 to 128 of A-Z a-z 0-9 . _ : @ ~ -; null: the workspace itself
 *   agent_seq           integer  1, 2, 3 … within that agent, or within the workspace's own events
 *   blocked_by          string?  `policy:<name>`, or null
 *   config_version      string?  `v<n>`: the agent's config in force when this was decided, or null
 *   details_commitment  string   hex SHA-256(salt ‖ JCS(details))
 *   format              string   `governd.audit/1`
 *   id                  string   `aud_<typeid>`
 *   operation           string   two lower-case words with a dot between, such as `data.write`
 *   previous_hash       string   hash of the same agent's event before this one; 64 zeros for its first
 *   result              string   `ok`, `allowed`, `blocked`, `not_found`, `conflict` or `denied`
 *   seq                 integer  0, 1, 2 … within the workspace, without gaps
 *   timestamp           string   RFC 3339, UTC, three decimals, `Z`; the server's clock, never used for order
 *   workspace_id        string   `ws_<typeid>`
 *
 * `string?` is a string or null. Integers are at most 2^53 - 1. A name is 1 to 64 of a-z 0-9 _ and
 * begins with a letter. A typeid is the 26 characters of a UUID in TypeID's base32 (the first is
 * 0 to 7). Hashes are 64 lower-case hex digits.
 *
 * ## Hash and chains
 *   hash = hex SHA-256(0x00 ‖ canonical bytes)
 * This is also the leaf hash of RFC 6962, so leaf number `seq` of the workspace's Merkle tree is
 * the hash of event `seq`. Each agent has its chain by `agent_seq` and `previous_hash`; the
 * workspace's own events (agent_id null) are one more chain. seq 0 is `workspace.create`, the
 * genesis: agent_id null, agent_seq 1, previous_hash 64 zeros, result `ok`.
 *
 * ## Details
 * Details are a JSON object beside the event. They are bound to it by the commitment alone, with a random salt of 16
 * bytes, so that details and salt can be erased while hash, chains and tree stand. Members that the verifier knows:
 *   data.write, allowed            key, value_digest = hex SHA-256 of JCS({key, metadata, value})
 *   config.update, config.rollback version, config_digest = hex SHA-256 of JCS(config)
 *   checkpoint.create              checkpoint_id, as_of_seq, entry_count, label, metadata
 *   checkpoint.restore             checkpoint_id, safety_checkpoint_id, safety_entry_count; with a new
 *                                  config also config_version and config_digest
 *   workspace.create               signing_key = hex SHA-256 of the raw Ed25519 public key that seals
 *   seal.rotate_key                signing_key of the key that seals from here on
 *   log.restore                    head_seq, head_hash: the last event that the backup held, which is the
 *                                  one before this; backup_created_at; backup_digest = hex SHA-256 of its
 *                                  manifest; links_revoked_at, rows_left_out, and the
 *                                  members that begin an epoch: see restores.ts
 *
 * ## Worked example
 * The second event of a workspace, the first of agent `support-bot`:
 *   salt     000102030405060708090a0b0c0d0e0f
 *   details  {"key":"greeting","value_digest":"76d824964ace95584456c1259f1fe0c7df125838c4cf1a00b42eef84256391af"}
 *   bytes    (one line)
 *   {"actor":"key_01h455vb4pex5vsknk084sn02q","agent_id":"support-bot","agent_seq":1,"blocked_by":null,
 *   "config_version":null,"details_commitment":
 *   "0ff4766cb23f74ed962cd7c7223983157a996f9caf1c0c352903c344172ed5df","format":"governd.audit/1",
 *   "id":"aud_01h455vb4pex5vsknk084sn02r","operation":"data.write","previous_hash":
 *   "0000000000000000000000000000000000000000000000000000000000000000","result":"allowed","seq":1,
 *   "timestamp":"2026-01-02T03:04:05.678Z","workspace_id":"ws_01h455vb4pex5vsknk084sn02q"}
 *   hash     f855a6eb3df99681ab8326f726102cf9bd5361f22ef49223902fc529749bc431
 * (value "Hello", metadata {}.) test/vectors holds more, with the values in between.
 */
import type { EventName } from "../operations.ts";
import { ZERO_HASH } from "./hash.ts";

/** The format that every event names. */
export const AUDIT_FORMAT = "governd.audit/1";

/** The operation of the first event of every log. */
export const GENESIS = "workspace.create" satisfies EventName;

/** The result of an operation. */
export type AuditResult = "ok" | "allowed" | "blocked" | "not_found" | "conflict" | "denied";

/** The hashed part of an event. The comment at the head of this file describes the members. */
export interface AuditEventBody {
  actor: string;
  agent_id: string | null;
  agent_seq: number;
  blocked_by: string | null;
  config_version: string | null;
  details_commitment: string;
  format: typeof AUDIT_FORMAT;
  id: string;
  operation: string;
  previous_hash: string;
  result: AuditResult;
  seq: number;
  timestamp: string;
  workspace_id: string;
}

/** Bytes are not an event of this format. The message says what is wrong and never repeats the content. */
export class EventFormatError extends Error {
  override readonly name = "EventFormatError";
}

const TYPE_ID = "[0-7][0-9a-hjkmnp-tv-z]{25}";
const HASH = "[0-9a-f]{64}";
const NAME = "[a-z][a-z0-9_]{0,63}";
const COUNT = "0|[1-9][0-9]{0,15}";

/** The form of each member's JSON text, in canonical order, each with one capture. */
const MEMBERS: readonly (readonly [keyof AuditEventBody, string])[] = [
  ["actor", `"(key_${TYPE_ID}|usr_${TYPE_ID}|cli|system)"`],
  ["agent_id", `(?:null|"([A-Za-z0-9._:@~-]{1,128})")`],
  ["agent_seq", "([1-9][0-9]{0,15})"],
  ["blocked_by", `(?:null|"(policy:${NAME})")`],
  ["config_version", `(?:null|"(v[1-9][0-9]{0,15})")`],
  ["details_commitment", `"(${HASH})"`],
  ["format", `"(governd\\.audit/1)"`],
  ["id", `"(aud_${TYPE_ID})"`],
  ["operation", `"(${NAME}\\.${NAME})"`],
  ["previous_hash", `"(${HASH})"`],
  ["result", `"(ok|allowed|blocked|not_found|conflict|denied)"`],
  ["seq", `(${COUNT})`],
  [
    "timestamp",
    `"([0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\\.[0-9]{3}Z)"`,
  ],
  ["workspace_id", `"(ws_${TYPE_ID})"`],
];

// The object is flat and needs no escapes, so one regular expression matches every valid text. Parsing and the check of
// canonical form are one step.
const EVENT = new RegExp(`^\\{${MEMBERS.map(([name, form]) => `"${name}":${form}`).join(",")}\\}$`);

/**
 * Returns the canonical text of an event, for hashing and storing.
 * @throws EventFormatError when a member is malformed, so that nothing is written that {@link parseEvent} would refuse
 */
export function canonicalEvent(body: AuditEventBody): string {
  const text =
    `{"actor":"${body.actor}","agent_id":${quotedOrNull(body.agent_id)},"agent_seq":${body.agent_seq}` +
    `,"blocked_by":${quotedOrNull(body.blocked_by)},"config_version":${quotedOrNull(body.config_version)}` +
    `,"details_commitment":"${body.details_commitment}","format":"${body.format}","id":"${body.id}"` +
    `,"operation":"${body.operation}","previous_hash":"${body.previous_hash}","result":"${body.result}"` +
    `,"seq":${body.seq},"timestamp":"${body.timestamp}","workspace_id":"${body.workspace_id}"}`;
  if (!EVENT.test(text)) throw new EventFormatError(whatIsWrong(text));
  checkRanges(body);
  return text;
}

/**
 * Parses the canonical text of an event. It is the inverse of {@link canonicalEvent}.
 * @throws EventFormatError for anything that is not exactly canonical: another order, white space, escapes, an unknown
 *   or missing member, a wrong type, a malformed id or number
 */
export function parseEvent(canonical: string): AuditEventBody {
  const match = EVENT.exec(canonical);
  if (match === null) throw new EventFormatError(whatIsWrong(canonical));
  const body: AuditEventBody = {
    actor: match[1] as string,
    agent_id: match[2] ?? null,
    agent_seq: Number(match[3]),
    blocked_by: match[4] ?? null,
    config_version: match[5] ?? null,
    details_commitment: match[6] as string,
    format: AUDIT_FORMAT,
    id: match[8] as string,
    operation: match[9] as string,
    previous_hash: match[10] as string,
    result: match[11] as AuditResult,
    seq: Number(match[12]),
    timestamp: match[13] as string,
    workspace_id: match[14] as string,
  };
  checkRanges(body);
  return body;
}

/**
 * Returns what is wrong with the genesis, seq 0, or with another event that claims to be one; null when nothing is.
 * Looks only at the event itself.
 */
export function genesisProblem(body: AuditEventBody): string | null {
  const isCreate = body.operation === GENESIS;
  if (body.seq !== 0) return isCreate ? `${GENESIS} may stand at seq 0 only` : null;
  if (!isCreate) return `seq 0 is not ${GENESIS}`;
  if (body.agent_id !== null || body.agent_seq !== 1 || body.previous_hash !== ZERO_HASH) {
    return "seq 0 does not begin the workspace's own chain";
  }
  return body.result === "ok" ? null : "seq 0 has a result other than ok";
}

/** Returns the JSON text of null or of a string that needs no escapes. */
export function quotedOrNull(value: string | null): string {
  return value === null ? "null" : `"${value}"`;
}

/** Checks what the regular expression cannot: integers beyond 2^53 - 1, and days that a month does not have. */
function checkRanges(body: AuditEventBody): void {
  if (!Number.isSafeInteger(body.seq)) throw new EventFormatError("seq is beyond 2^53 - 1");
  if (!Number.isSafeInteger(body.agent_seq)) throw new EventFormatError("agent_seq is beyond 2^53 - 1");
  const day = body.timestamp.charCodeAt(8) * 10 + body.timestamp.charCodeAt(9) - 528;
  if (day > 28 && day > daysInMonth(body.timestamp)) throw new EventFormatError("timestamp is no day");
}

function daysInMonth(timestamp: string): number {
  return new Date(
    Date.UTC(2000 + (Number(timestamp.slice(0, 4)) % 400), Number(timestamp.slice(5, 7)), 0),
  ).getUTCDate();
}

/** Returns what is wrong with the first malformed member. Only error paths call it. */
function whatIsWrong(text: string): string {
  let rest = text;
  for (const [index, [name, form]] of MEMBERS.entries()) {
    const lead = index === 0 ? "{" : ",";
    const match = new RegExp(`^\\${lead}"${name}":(?:${form})(?=[,}])`).exec(rest);
    if (match === null) {
      const present = rest.startsWith(`${lead}"${name}":`);
      return present ? `${name} has the wrong type or form` : `${name} is not where canonical form has it`;
    }
    rest = rest.slice(match[0].length);
  }
  return "something follows workspace_id";
}

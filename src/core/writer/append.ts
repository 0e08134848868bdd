/** Appends an event: makes its canonical bytes and salted details. */
import { EVENT_RANDOM_BYTES, type RandomPool, randomOf } from "../../ids.ts";
import type { JsonObject } from "../../json.ts";
import { AUDIT_FORMAT, type AuditEventBody, canonicalEvent, formProblem } from "../../log/event.ts";
import { eventHash, SALT_BYTES, saltedDigest } from "../../log/hash.ts";
import { canonicalJson } from "../../log/jcs.ts";
import { HASH_BYTES } from "../../log/merkle.ts";
import type { EventName } from "../../operations.ts";
import type { MaybePromise, Transaction } from "../../store/transaction.ts";
import type { AgentState } from "../rows/agents.ts";
import { showVersion } from "../rows/configs.ts";

/** Where columns of bytes begin in the last parameter of {@link INSERT}. The random bytes of the id come first. */
const PREVIOUS_AT = EVENT_RANDOM_BYTES;
const COMMITMENT_AT = PREVIOUS_AT + HASH_BYTES;
const HASH_AT = COMMITMENT_AT + HASH_BYTES;
const SALT_AT = HASH_AT + HASH_BYTES;

/** SQL: a column of bytes. */
const part = (at: number, length: number): string => `substr(?12, ${at + 1}, ${length})`;

/** Its last parameter has all columns of bytes, since each parameter of bytes costs as much as the rest of the row. */
const INSERT = `INSERT INTO events (seq, agent_id, agent_seq, operation, result, blocked_by, actor, config_version, time,
    entries, details, random, previous_hash, details_commitment, hash, details_salt)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ${part(0, EVENT_RANDOM_BYTES)},
    ${part(PREVIOUS_AT, HASH_BYTES)}, ${part(COMMITMENT_AT, HASH_BYTES)}, ${part(HASH_AT, HASH_BYTES)},
    ${part(SALT_AT, SALT_BYTES)})`;

/** The last parameter of {@link INSERT}. The driver copies it when it binds it. */
const bytes = Buffer.allocUnsafeSlow(SALT_AT + SALT_BYTES);

/** The members of an event that do not follow from its chain or its details. */
type NewEvent = Pick<
  AuditEventBody,
  "actor" | "blocked_by" | "id" | "result" | "seq" | "timestamp" | "workspace_id"
> & {
  operation: EventName;
  details: JsonObject;
  /** The number of the agent's present entries after it. */
  entries: number;
};

/** An agent's new head: the position of the event in the agent's chain, and its hash. */
interface Appended {
  agentSeq: number;
  hash: string;
}

/**
 * Appends an event to the log and to the chain of `agent`, which is a fresh state if this is the agent's first event.
 * Returns the agent's new head.
 *
 * @throws Error when the event does not have the form that the row of its operation states, which would be a defect
 */
export function appendEvent(
  tx: Transaction,
  random: RandomPool,
  agent: AgentState,
  event: NewEvent,
): MaybePromise<Appended> {
  const problem = formProblem({ ...event, agent_id: agent.agentId }, event.details, null);
  if (problem !== null) throw new Error(`${event.operation} ${event.result}: ${problem.message}`);
  const salt = random.take(SALT_BYTES);
  const details = canonicalJson(event.details);
  const commitment = saltedDigest(salt, details);
  const agentSeq = agent.headSeq + 1;
  const canonical = canonicalEvent({
    actor: event.actor,
    agent_id: agent.agentId,
    agent_seq: agentSeq,
    blocked_by: event.blocked_by,
    config_version: showVersion(agent.configVersion),
    details_commitment: commitment,
    format: AUDIT_FORMAT,
    id: event.id,
    operation: event.operation,
    previous_hash: agent.headHash,
    result: event.result,
    seq: event.seq,
    timestamp: event.timestamp,
    workspace_id: event.workspace_id,
  });
  const hash = eventHash(canonical);
  bytes.set(randomOf(event.id), 0);
  bytes.write(agent.headHash, PREVIOUS_AT, "hex");
  bytes.write(commitment, COMMITMENT_AT, "hex");
  bytes.write(hash, HASH_AT, "hex");
  bytes.set(salt, SALT_AT);
  const inserted = tx.run(INSERT, [
    event.seq,
    agent.agentId,
    agentSeq,
    event.operation,
    event.result,
    event.blocked_by,
    event.actor,
    agent.configVersion,
    Date.parse(event.timestamp),
    event.entries,
    details,
    bytes,
  ]);
  const appended = { agentSeq, hash };
  if (agentSeq === 1) return begin(tx, agent, event.seq, inserted).then(() => appended);
  return inserted instanceof Promise ? inserted.then(() => appended) : appended;
}

/** Adds the row of an agent whose first event is at a position. */
async function begin(tx: Transaction, { agentId }: AgentState, seq: number, inserted: MaybePromise<void>) {
  await inserted;
  await tx.run("INSERT INTO agents (first_seq, agent_id) VALUES (?, ?)", [seq, agentId]);
}

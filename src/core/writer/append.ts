/** Appends an event: makes its canonical bytes and salted details, and moves the head of its chain. */
import type { RandomPool } from "../../ids.ts";
import type { JsonObject } from "../../json.ts";
import { AUDIT_FORMAT, type AuditEventBody, canonicalEvent, formProblem } from "../../log/event.ts";
import { eventHash, SALT_BYTES, saltedDigest } from "../../log/hash.ts";
import { canonicalJson } from "../../log/jcs.ts";
import type { EventName } from "../../operations.ts";
import type { MaybePromise, Transaction } from "../../store/transaction.ts";
import type { AgentState } from "../rows/agents.ts";
import { showVersion } from "../rows/configs.ts";

/** The members of an event that do not follow from its chain or its details. */
type NewEvent = Pick<
  AuditEventBody,
  "actor" | "blocked_by" | "id" | "result" | "seq" | "timestamp" | "workspace_id"
> & { operation: EventName; details: JsonObject };

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
  const body = canonicalEvent({
    actor: event.actor,
    agent_id: agent.agentId,
    agent_seq: agent.headSeq + 1,
    blocked_by: event.blocked_by,
    config_version: showVersion(agent.configVersion),
    details_commitment: saltedDigest(salt, details),
    format: AUDIT_FORMAT,
    id: event.id,
    operation: event.operation,
    previous_hash: agent.headHash,
    result: event.result,
    seq: event.seq,
    timestamp: event.timestamp,
    workspace_id: event.workspace_id,
  });
  const hash = eventHash(body);
  const sql = "INSERT INTO events (seq, body, hash, details, details_salt) VALUES (?, ?, ?, ?, ?)";
  const inserted = tx.run(sql, [event.seq, body, hash, details, salt.toHex()]);
  const appended = { agentSeq: agent.headSeq + 1, hash };
  return inserted instanceof Promise ? inserted.then(() => appended) : appended;
}

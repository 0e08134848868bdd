/** Appending one event: its canonical bytes, its salted details, and the head of its chain. */
import type { RandomPool } from "../ids.ts";
import type { JsonObject } from "../json.ts";
import { AUDIT_FORMAT, type AuditEventBody, canonicalEvent } from "../log/event.ts";
import { detailsCommitment, eventHash, SALT_BYTES } from "../log/hash.ts";
import { canonicalJson } from "../log/jcs.ts";
import type { EventName } from "../operations.ts";
import type { AgentState } from "../state/agents.ts";
import { showVersion } from "../state/configs.ts";
import type { MaybePromise, Transaction } from "../store/transaction.ts";

/** An event without what follows from its chain and its details. */
type NewEvent = Pick<
  AuditEventBody,
  "actor" | "blocked_by" | "id" | "result" | "seq" | "timestamp" | "workspace_id"
> & { operation: EventName; details: JsonObject };

/** The position of an event in its agent's chain, and its hash: the agent's new head. */
interface Appended {
  agentSeq: number;
  hash: string;
}

/**
 * Appends an event to the log and to the chain of `agent` (for an agent that begins with it, its fresh state). Returns
 * the event's position in that chain, and its hash: the agent's new head.
 */
export function appendEvent(
  tx: Transaction,
  random: RandomPool,
  agent: AgentState,
  event: NewEvent,
): MaybePromise<Appended> {
  const salt = random.take(SALT_BYTES);
  const details = canonicalJson(event.details);
  const body = canonicalEvent({
    actor: event.actor,
    agent_id: agent.agentId,
    agent_seq: agent.headSeq + 1,
    blocked_by: event.blocked_by,
    config_version: showVersion(agent.configVersion),
    details_commitment: detailsCommitment(salt, details),
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

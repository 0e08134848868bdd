/**
 * The sweep: what is past its retention or a time of its own is removed, one event per agent and sweep, and answers stored
 * for retries end.
 */
import { OPERATIONS } from "../operations.ts";
import { freshAt, RETENTION } from "../policy/retention.ts";
import type { AgentDirectory } from "../state/agents.ts";
import { hasAnswers, removeEndedAnswers } from "../state/answers.ts";
import { agentsWithEnded, countExpiredVersions } from "../state/expiry.ts";
import type { Reader } from "../store/transaction.ts";
import type { OperationRequest, Principal } from "./contract.ts";
import type { Job } from "./job.ts";
import { answered, type Context, subjectOf } from "./operation.ts";
import type { WorkspaceWriter } from "./perform.ts";
import { earlierReply } from "./retries.ts";

/** Versions removed in one transaction, so that a large sweep never holds up other operations. */
const VERSIONS_AT_ONCE = 5_000;
/** Stored answers removed in one transaction. */
const ANSWERS_AT_ONCE = 5_000;
/** Before a configuration changes, all of it goes. */
const EVERYTHING = Number.MAX_SAFE_INTEGER;

/** Agents whose configuration in force has a retention period. */
async function agentsWithRetention(reader: Reader): Promise<string[]> {
  const rows = await reader.all<[string]>(
    `SELECT a.agent_id FROM agents a JOIN configs c ON c.agent = a.first_seq
     WHERE c.version = (SELECT max(version) FROM configs WHERE agent = a.first_seq)
       AND c.config ->> '$.policies.${RETENTION}' IS NOT NULL`,
  );
  return rows.map(([agentId]) => agentId);
}

type FindAgent = (reader: Reader, context: Context) => ReturnType<AgentDirectory["find"]>;

/** Removes what is gone of one agent, at most `limit` versions; records nothing if there is none. */
function expiryJob(workspaceId: string, findAgent: FindAgent, limit: number): Job {
  const principal: Principal = { actor: "system", workspaceId, scope: "full", agents: null };
  return {
    operation: "data.expire",
    principal,
    async run(reader, context) {
      const agent = await findAgent(reader, context);
      if (agent === null) return null;
      const fresh = freshAt(agent.policies, context.nowMs);
      const { versions: count, live } = await countExpiredVersions(reader, agent, fresh, limit);
      if (count === 0) return null;
      return answered(agent, { count }, "{}", { effect: { kind: "expire", count, fresh, live } });
    },
  };
}

/**
 * What goes before an operation that may put another configuration into force: what is past its retention until then is
 * gone, and a longer retention must not bring it back. Null for all others.
 */
export function expiryBefore({ name, input, principal, retry }: OperationRequest): Job | null {
  const { effect } = OPERATIONS[name];
  if (effect !== "add_config" && effect !== "restore") return null;
  const job = expiryJob(principal.workspaceId, (reader, context) => subjectOf(reader, context, input), EVERYTHING);
  if (retry === undefined) return job;
  // An operation that is not done again has nothing before it.
  const run: Job["run"] = async (reader, context) =>
    (await earlierReply(reader, retry, context.nowMs)) === null ? job.run(reader, context) : null;
  return { ...job, run };
}

/** Sweeps a workspace until nothing that has ended is left. */
export async function sweepWorkspace(reader: Reader, writer: WorkspaceWriter): Promise<void> {
  if (await hasAnswers(reader)) {
    while ((await writer.derive((tx, nowMs) => removeEndedAnswers(tx, nowMs, ANSWERS_AT_ONCE))) > 0);
  }
  const ended = await agentsWithEnded(reader, writer.nowMs());
  for (const agentId of new Set([...(await agentsWithRetention(reader)), ...ended])) {
    const job = expiryJob(writer.workspaceId, (_, { agents }) => agents.find(agentId), VERSIONS_AT_ONCE);
    // Nothing is recorded once nothing is left, or when the workspace cannot be written.
    while ((await writer.perform([job]))[0]?.auditId);
  }
}

/** The retention sweep: what is past its retention is removed, one event per agent and sweep. */
import { OPERATIONS, type OperationInputs, type OperationName } from "../operations.ts";
import { RETENTION, retentionCutoff } from "../policy/retention.ts";
import type { AgentDirectory } from "../state/agents.ts";
import { countExpiredVersions } from "../state/entries.ts";
import type { Reader } from "../store/transaction.ts";
import type { Principal } from "./contract.ts";
import type { Job } from "./job.ts";
import { answered, type Context, subjectOf } from "./operation.ts";
import type { WorkspaceWriter } from "./perform.ts";

/** Versions removed in one transaction, so that a large sweep never holds up other operations. */
const VERSIONS_AT_ONCE = 5_000;
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

/** Removes what is past one agent's retention, at most `limit` versions; records nothing if there is none. */
function expiryJob(workspaceId: string, findAgent: FindAgent, limit: number): Job {
  const principal: Principal = { actor: "system", workspaceId, scope: "full", agents: null };
  return {
    operation: "data.expire",
    principal,
    async run(reader, context) {
      const agent = await findAgent(reader, context);
      if (agent === null) return null;
      const cutoffMs = retentionCutoff(agent.policies, context.nowMs);
      const { versions: count, live } = await countExpiredVersions(reader, agent, cutoffMs, limit);
      if (count === 0) return null;
      return answered(agent, { count }, "{}", { effect: { kind: "expire", count, cutoffMs, live } });
    },
  };
}

/**
 * What goes before an operation that may put another configuration into force: what is past its retention until then is
 * gone, and a longer retention must not bring it back. Null for all others.
 */
export function expiryBefore(name: OperationName, input: OperationInputs[OperationName], workspaceId: string) {
  const { effect } = OPERATIONS[name];
  if (effect !== "add_config" && effect !== "restore") return null;
  return expiryJob(workspaceId, (reader, context) => subjectOf(reader, context, input), EVERYTHING);
}

/** Sweeps every agent of a workspace until nothing expired is left. */
export async function sweepWorkspace(reader: Reader, writer: WorkspaceWriter): Promise<void> {
  for (const agentId of await agentsWithRetention(reader)) {
    const job = expiryJob(writer.workspaceId, (_, { agents }) => agents.find(agentId), VERSIONS_AT_ONCE);
    // Nothing is recorded once nothing is left, or when the workspace cannot be written.
    while ((await writer.perform([job]))[0]?.auditId);
  }
}

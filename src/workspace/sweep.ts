/**
 * The sweep: what is past its retention or a time of its own is removed, one event per agent and sweep, and answers stored
 * for retries end.
 */
import { OPERATIONS } from "../operations.ts";
import type { Floor } from "../policy/floor.ts";
import { freshAt, RETENTION, retentionCutoff } from "../policy/retention.ts";
import type { AgentDirectory } from "../state/agents.ts";
import { hasAnswers, removeEndedAnswers } from "../state/answers.ts";
import { agentsThatSet, loadFloor } from "../state/configs.ts";
import { agentsWithEnded, countExpiredVersions } from "../state/expiry.ts";
import type { Reader } from "../store/transaction.ts";
import { type OperationRequest, systemPrincipal } from "./contract.ts";
import type { Job } from "./job.ts";
import { answered, type Context, subjectOf } from "./operation.ts";
import type { WorkspaceWriter } from "./perform.ts";

/** Versions removed in one transaction, so that a large sweep never holds up other operations. */
const VERSIONS_AT_ONCE = 5_000;
/** Stored answers removed in one transaction. */
const ANSWERS_AT_ONCE = 5_000;
/** Before a configuration changes, all of it goes. */
const EVERYTHING = Number.MAX_SAFE_INTEGER;

/** Agents with entries that are past the retention of a floor. */
async function agentsPastFloor(reader: Reader, { policies }: Floor, nowMs: number): Promise<string[]> {
  if (policies[RETENTION] === null) return [];
  const rows = await reader.all<[string]>(
    `SELECT agent_id FROM agents WHERE agent_id IS NOT NULL
       AND EXISTS (SELECT 1 FROM entries WHERE agent = first_seq AND updated_at < ?)`,
    [retentionCutoff(policies, nowMs)],
  );
  return rows.map(([agentId]) => agentId);
}

type FindAgent = (reader: Reader, context: Context) => ReturnType<AgentDirectory["find"]>;

/** Removes what is gone of one agent, at most `limit` versions; records nothing if there is none. */
function expiryJob(workspaceId: string, findAgent: FindAgent, limit: number): Job {
  const principal = systemPrincipal(workspaceId);
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
 * What goes before an operation that may put other policies into force: what is past its retention until then is gone,
 * and a longer retention must not bring it back. Undefined for all others.
 */
export function expiryBefore({ name, input, principal }: OperationRequest): Job["before"] {
  const { effect } = OPERATIONS[name];
  if (effect !== "add_config" && effect !== "restore") return undefined;
  const jobFor = (findAgent: FindAgent) => expiryJob(principal.workspaceId, findAgent, EVERYTHING);
  if ("floor" in input) {
    return async (reader, { agents, nowMs }) => {
      await agents.find(null);
      const past = await agentsPastFloor(reader, agents.floor, nowMs);
      return past.map((agentId) => jobFor((_, context) => context.agents.find(agentId)));
    };
  }
  return async () => [jobFor((reader, context) => subjectOf(reader, context, input))];
}

/**
 * Sweeps a workspace until nothing that has ended is left. `giveWay` lets the other workspaces of the thread have their
 * turn, between two transactions.
 */
export async function sweepWorkspace(
  reader: Reader,
  writer: WorkspaceWriter,
  giveWay: () => Promise<void> = async () => {},
): Promise<void> {
  if (await hasAnswers(reader)) {
    while ((await writer.derive((tx, nowMs) => removeEndedAnswers(tx, nowMs, ANSWERS_AT_ONCE))) > 0) await giveWay();
  }
  const nowMs = writer.nowMs();
  const past = await agentsPastFloor(reader, await loadFloor(reader), nowMs);
  const ended = await agentsWithEnded(reader, nowMs);
  for (const agentId of new Set([...(await agentsThatSet(reader, RETENTION)), ...past, ...ended])) {
    const job = expiryJob(writer.workspaceId, (_, { agents }) => agents.find(agentId), VERSIONS_AT_ONCE);
    // Nothing is recorded once nothing is left, or when the workspace cannot be written.
    while ((await writer.perform([job]))[0]?.auditId) await giveWay();
    await giveWay();
  }
}

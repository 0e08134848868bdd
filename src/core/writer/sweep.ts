/**
 * Sweeps a workspace: removes entries that are past their retention or expiry, and history that is past its days, with one
 * event per agent and sweep; and answers that were stored for retries.
 */
import { OPERATIONS } from "../../operations.ts";
import { HISTORY, historyCutoff } from "../../screen/history.ts";
import { freshAt, RETENTION, retentionCutoff, type WithRetention } from "../../screen/retention.ts";
import type { WorkspacePolicies } from "../../screen/workspace-policies.ts";
import type { Reader } from "../../store/transaction.ts";
import type { AgentDirectory } from "../rows/agents.ts";
import { hasAnswers, removeEndedAnswers } from "../rows/answers.ts";
import { agentsThatSet, loadWorkspacePolicies } from "../rows/configs.ts";
import { agentsWithEnded, countExpiredVersions } from "../rows/expiry.ts";
import { agentsWithPastHistory, findPastHistory, SLACK_MS } from "../rows/history.ts";
import { type OperationRequest, systemPrincipal } from "./contract.ts";
import type { Job } from "./job.ts";
import { answered, type Context, subjectOf, unchanged } from "./operation.ts";
import type { WorkspaceWriter } from "./perform.ts";

/** The most versions removed in one transaction, so that a large sweep does not delay other operations. */
const VERSIONS_AT_ONCE = 5_000;
/** The most stored answers removed in one transaction. */
const ANSWERS_AT_ONCE = 5_000;
/** The limit before a configuration changes: all versions past their time are removed at once. */
const EVERYTHING = Number.MAX_SAFE_INTEGER;

/** Returns the agents with versions that are past the retention or the history of workspace policies. */
async function agentsPast(reader: Reader, { policies }: WorkspacePolicies, nowMs: number): Promise<Set<string>> {
  const past = await agentsWithPastHistory(reader, historyCutoff(policies, nowMs));
  return new Set([...(await agentsPastRetention(reader, policies, nowMs)), ...past]);
}

async function agentsPastRetention(reader: Reader, policies: WithRetention, nowMs: number): Promise<string[]> {
  if (policies[RETENTION] === null) return [];
  const rows = await reader.all<[string]>(
    `SELECT agent_id FROM agents WHERE agent_id IS NOT NULL
       AND EXISTS (SELECT 1 FROM entries WHERE agent = first_seq AND updated_at < ?)`,
    [retentionCutoff(policies, nowMs)],
  );
  return rows.map(([agentId]) => agentId);
}

type FindAgent = (reader: Reader, context: Context) => ReturnType<AgentDirectory["find"]>;

/** Returns the job that removes at most about `limit` versions of one agent. It records nothing if there are none. */
function expiryJob(workspaceId: string, findAgent: FindAgent, limit: number, slackMs = SLACK_MS): Job {
  const principal = systemPrincipal(workspaceId);
  return {
    operation: "data.expire",
    principal,
    async run(reader, context) {
      const agent = await findAgent(reader, context);
      if (agent === null) return unchanged();
      const fresh = freshAt(agent.policies, context);
      const { versions: expired, live } = await countExpiredVersions(reader, agent, fresh, limit);
      // What has expired is removed first, so that the rest is history.
      const past =
        expired < limit
          ? await findPastHistory(reader, agent, fresh, { limit, slackMs })
          : { count: 0, through: agent.historyFrom };
      const { through } = past;
      const count = expired + past.count;
      if (count === 0) return unchanged();
      const effect = { kind: "expire", count, through, fresh, expired, live } as const;
      return answered(agent, { count, through }, "{}", { effect });
    },
  };
}

/**
 * Returns the jobs to run before an operation that may put other policies into force; undefined for other operations.
 * The jobs remove versions that are past their time, which longer ones must not bring back.
 */
export function expiryBefore({ name, input, principal }: OperationRequest): Job["before"] {
  const { effect } = OPERATIONS[name];
  if (effect !== "add_config" && effect !== "restore") return undefined;
  const jobFor = (findAgent: FindAgent) => expiryJob(principal.workspaceId, findAgent, EVERYTHING, 0);
  if ("workspacePolicies" in input) {
    return async (reader, { agents, nowMs }) => {
      await agents.find(null);
      const past = await agentsPast(reader, agents.workspacePolicies, nowMs);
      return Array.from(past, (agentId) => jobFor((_, context) => context.agents.find(agentId)));
    };
  }
  return async () => [jobFor((reader, context) => subjectOf(reader, context, input))];
}

/**
 * Sweeps a workspace until nothing expired is left.
 * @param giveWay gives other workspaces of the thread their turn, between two transactions
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
  const past = await agentsPast(reader, await loadWorkspacePolicies(reader), nowMs);
  const own = [...(await agentsThatSet(reader, RETENTION)), ...(await agentsThatSet(reader, HISTORY))];
  for (const agentId of new Set([...own, ...past, ...(await agentsWithEnded(reader, nowMs))])) {
    const job = expiryJob(writer.workspaceId, (_, { agents }) => agents.find(agentId), VERSIONS_AT_ONCE);
    // A job without an event means that nothing is left, or that the workspace cannot be written.
    while ((await writer.perform([job]))[0]?.auditId) await giveWay();
    await giveWay();
  }
}

/** Operations on agents as a whole: overviews, suspending and resuming, and the check that suspension makes. */

import { itemCount, listBody } from "../../core/lists.ts";
import { showVersion } from "../../core/rows/configs.ts";
import { type AgentOverview, findOverview, listOverviews } from "../../core/rows/overview.ts";
import type { Suspension } from "../../core/rows/suspension.ts";
import { asItIs, type Decided, findingsIn, reportedOf, Screening } from "../../core/writer/decided.ts";
import {
  answered,
  type Context,
  noAgent,
  type OperationsOf,
  type Outcome,
  operation,
  type Run,
  refused,
  refusedByPolicy,
  subjectOf,
} from "../../core/writer/operation.ts";
import type { JsonObject } from "../../json.ts";
import type { OperationInputs, OperationName } from "../../operations.ts";
import { recorded } from "../../screen/decide.ts";
import type { Reader } from "../../store/transaction.ts";

/** Returns an agent as the API shows it. */
function showAgent(overview: AgentOverview): JsonObject {
  const { suspension } = overview;
  return {
    agent_id: overview.agentId,
    state: suspension === null ? "active" : "suspended",
    entries: overview.entries,
    checkpoints: overview.checkpoints,
    events: overview.events,
    config_version: showVersion(overview.configVersion),
    policies: JSON.parse(overview.policies) as JsonObject,
    first_activity_at: overview.firstActivityAt,
    last_activity_at: overview.lastActivityAt,
    blocked_24h: overview.blockedByHour.reduce((sum, count) => sum + count, 0),
    blocked_by_hour: [...overview.blockedByHour],
    suspended_at: suspension?.at ?? null,
    suspended_by: suspension?.by ?? null,
    suspended_reason: suspension?.reason ?? null,
  };
}

const listAgents = operation("agent.list", {
  async look(reader, context, input) {
    const { overviews, next } = await listOverviews(reader, input, context);
    return { items: overviews.map((agent) => JSON.stringify(showAgent(agent))), next };
  },
  async run(_tx, context, input, { items, next }) {
    const { prefix, contains } = input;
    const policies = await context.agents.policiesOfWorkspace();
    const asked = contains === undefined ? {} : recorded("contains", contains, policies);
    const details = { ...recorded("prefix", prefix, policies), ...asked, count: itemCount(items) };
    return answered(null, details, listBody("agent.list", input, items, next));
  },
});

const readAgentOverview = operation("agent.read", {
  async look(reader, context, { agentId }) {
    const found = await findOverview(reader, agentId, context);
    return found === null ? null : showAgent(found);
  },
  async run(_reader, context, { agentId }, found) {
    const agent = await context.agents.find(agentId);
    if (found === null) return noAgent(agent, agentId);
    return answered(agent, {}, JSON.stringify(found));
  },
});

type Suspending = OperationInputs["agent.suspend"];

const reasons = new Screening<"agent.suspend" | "agent.resume", Suspending>(
  asItIs(({ reason }) => ({ key: "", value: reason ?? "", metadata: {}, valueName: "reason" })),
);

/** Suspends or resumes an agent. A request that changes nothing also succeeds and is recorded. */
async function setSuspended(
  suspended: boolean,
  reader: Reader,
  context: Context,
  input: Suspending,
  found: Decided | undefined,
): Promise<Outcome> {
  const { agentId, reason } = input;
  const agent = await context.agents.find(agentId);
  const overview = agent === null ? null : await findOverview(reader, agentId, context);
  if (agent === null || overview === null) return noAgent(null, agentId);
  const decision = reasons.decide(input, agent.policies, context.nowMs, found);
  if (!decision.allowed) return refusedByPolicy(agent, decision);
  const suspension: Suspension | null = suspended
    ? { at: context.timestamp, by: context.principal.actor, reason }
    : null;
  const stateBefore = agent.suspended ? "suspended" : "active";
  const details: JsonObject = { reason, state_before: stateBefore, ...reportedOf(decision) };
  const shown = showAgent({
    ...overview,
    // Includes the event of this operation, which is not appended yet.
    events: agent.headSeq + 1,
    suspension,
  });
  return answered(agent, details, JSON.stringify({ ...shown, ...findingsIn(decision) }), {
    effect: { kind: suspended ? "suspend" : "resume", reason },
  });
}

function suspending(suspended: boolean) {
  const run: Run<"agent.suspend" | "agent.resume", Decided> = (reader, context, input, found) =>
    setSuspended(suspended, reader, context, input, found);
  return { look: reasons.look, run };
}

export const agentOperations: OperationsOf<"agent"> = {
  "agent.suspend": suspending(true),
  "agent.resume": suspending(false),
  "agent.list": listAgents,
  "agent.read": readAgentOverview,
};

const SUSPENDED =
  "The agent is suspended: its data and checkpoints are unavailable to keys, and to people for changes. An operator can resume it with POST /v1/agents/{agent_id}/resume.";

/** Returns the operation with a check before it: for a suspended agent the operation is refused, which is recorded. */
export function refusingSuspended(operation: Run<OperationName>): Run<OperationName> {
  const checked: Run<OperationName> = async (reader, context, input, prepared) => {
    const agent = await subjectOf(reader, context, input);
    if (agent === null || !agent.suspended) return operation(reader, context, input, prepared);
    const details: JsonObject = "checkpointId" in input ? { checkpoint_id: input.checkpointId } : {};
    return refused(agent, "denied", details, { code: "agent_suspended", detail: SUSPENDED });
  };
  return (reader, context, input, prepared) => {
    // The agent's state is cached in most cases, so the check itself needs no promise.
    const agent = "agentId" in input && input.agentId !== null ? context.agents.known(input.agentId) : undefined;
    const run = agent?.suspended === false ? operation : checked;
    return run(reader, context, input, prepared);
  };
}

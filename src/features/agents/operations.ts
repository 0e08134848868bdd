/** Operations on agents as such: all of them at a glance, and the switch that suspends one. */
import type { JsonObject, JsonValue } from "../../json.ts";
import { encodeCursor, listFilters } from "../../lists.ts";
import { showVersion } from "../../state/configs.ts";
import { type AgentOverview, findOverview, listOverviews } from "../../state/overview.ts";
import type { Suspension } from "../../state/suspension.ts";
import type { Reader } from "../../store/transaction.ts";
import {
  answered,
  type Context,
  type Inquiry,
  knownAgent,
  notFound,
  type Operation,
  type OperationsOf,
  type Outcome,
} from "../../workspace/operation.ts";

const NO_AGENT = "This agent never began: nothing was written, configured or checkpointed for it.";

/** An agent as the API shows it. */
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

/** A page of agents, and whether there are more. */
interface FoundAgents extends JsonObject {
  agents: JsonObject[];
  hasMore: boolean;
}

const listAgents: Inquiry<"agent.list", FoundAgents & JsonValue> = {
  async query(reader, { nowMs }, { prefix, page }) {
    const { limit, offset, after } = page;
    const wanted = { prefix, after: after === undefined ? "" : String(after), offset, limit: limit + 1 };
    const found = await listOverviews(reader, wanted, nowMs);
    return { agents: found.slice(0, limit).map(showAgent), hasMore: found.length > limit };
  },
  async record(_tx, _context, input, { agents, hasMore }) {
    const last = agents.at(-1)?.agent_id as string | undefined;
    const cursor =
      hasMore && last !== undefined ? encodeCursor(listFilters("agent.list", input), last) : null;
    return answered(
      null,
      { prefix: input.prefix, count: agents.length },
      JSON.stringify({ data: agents, has_more: hasMore, next_cursor: cursor }),
    );
  },
};

const readAgentOverview: Inquiry<"agent.read", JsonValue> = {
  async query(reader, { nowMs }, { agentId }) {
    const found = await findOverview(reader, agentId, nowMs);
    return found === null ? null : showAgent(found);
  },
  async record(reader, context, { agentId }, found) {
    const agent = await knownAgent(reader, context, agentId);
    if (found === null) return notFound(agent, agentId, "agent_not_found", NO_AGENT, {});
    return answered(agent, {}, JSON.stringify(found));
  },
};

const suspendAgent: Operation<"agent.suspend"> = (reader, context, input) =>
  turn(reader, context, input, true);

const resumeAgent: Operation<"agent.resume"> = (reader, context, input) =>
  turn(reader, context, input, false);

/** What is so already stays as it is, and is recorded all the same: it was asked for. */
async function turn(
  reader: Reader,
  context: Context,
  { agentId, reason }: { agentId: string; reason: string | null },
  suspended: boolean,
): Promise<Outcome> {
  const agent = await knownAgent(reader, context, agentId);
  // The overview reads the heads in the file; those of this transaction's earlier events must be there.
  await context.writeHeads();
  const found = agent === null ? null : await findOverview(reader, agentId, context.nowMs);
  if (agent === null || found === null) return notFound(null, agentId, "agent_not_found", NO_AGENT, {});
  const suspension: Suspension | null = suspended
    ? { at: context.timestamp, by: context.principal.actor, reason }
    : null;
  const details: JsonObject = { reason, state_before: agent.suspended ? "suspended" : "active" };
  const shown = showAgent({
    ...found,
    // This operation's own event is still to come.
    events: agent.headSeq + 1,
    lastActivityAt: context.timestamp,
    suspension,
  });
  return answered(agent, details, JSON.stringify(shown), {
    effect: { kind: suspended ? "suspend" : "resume", reason },
  });
}

/** What runs each operation of this feature. */
export const agentOperations: OperationsOf<"agent"> = {
  "agent.suspend": suspendAgent,
  "agent.resume": resumeAgent,
  "agent.list": listAgents,
  "agent.read": readAgentOverview,
};

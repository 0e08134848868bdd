/** Operations on checkpoints. They run on the workspace's thread. */
import type { JsonObject } from "../../json.ts";
import { encodeCursor, listFilters } from "../../lists.ts";
import { canonicalJson } from "../../log/jcs.ts";
import { retentionCutoff } from "../../policy/retention.ts";
import { AgentDirectory, type AgentState } from "../../state/agents.ts";
import { NO_EFFECT } from "../../state/apply.ts";
import { type Checkpoint, findCheckpoint, listCheckpoints } from "../../state/checkpoints.ts";
import { showVersion } from "../../state/configs.ts";
import { countExpired } from "../../state/entries.ts";
import type { Reader } from "../../store/transaction.ts";
import {
  answered,
  type Context,
  knownAgent,
  notFound,
  type Operation,
  type OperationsOf,
  type Outcome,
  type ProblemAnswer,
  requireAgentAllowed,
} from "../../workspace/operation.ts";

const NO_CHECKPOINT =
  "There is no checkpoint with this id. GET /v1/checkpoints lists an agent's checkpoints.";

/** The members of a checkpoint as the API shows them, without its state. */
function showCheckpoint(agentId: string, checkpoint: Checkpoint): string {
  const { id, label, createdAt, createdBy, configVersion, entryCount, asOfSeq } = checkpoint;
  const rest = JSON.stringify({
    created_at: createdAt,
    created_by: createdBy,
    config_version: showVersion(configVersion),
    entry_count: entryCount,
    audit_seq: asOfSeq,
  });
  return (
    `{"id":"${id}","agent_id":${JSON.stringify(agentId)},"label":${JSON.stringify(label)},` +
    `"metadata":${checkpoint.metadata},${rest.slice(1)}`
  );
}

/** The checkpoint with its agent, when there is one and the key may touch that agent. */
export async function findAllowed(
  reader: Reader,
  context: Context,
  id: string,
): Promise<{ checkpoint: Checkpoint; agent: AgentState; agentId: string } | null> {
  const checkpoint = await findCheckpoint(reader, id);
  if (checkpoint === undefined) return null;
  const agent = await context.agents.findByFirstSeq(reader, checkpoint.agent);
  requireAgentAllowed(context.principal, agent.agentId);
  return { checkpoint, agent, agentId: agent.agentId as string };
}

/** An id that nobody has belongs to no agent: it is recorded among the workspace's own events. */
export function noCheckpoint(id: string): Outcome<ProblemAnswer> {
  return notFound(null, null, "checkpoint_not_found", NO_CHECKPOINT, { checkpoint_id: id });
}

/** Entries that a checkpoint made now would hold: the live ones that are not past their retention. */
export async function countPresent(reader: Reader, agent: AgentState, nowMs: number): Promise<number> {
  return agent.liveEntries - (await countExpired(reader, agent, retentionCutoff(agent.policies, nowMs)));
}

export const createCheckpoint: Operation<"checkpoint.create"> = async (reader, context, input) => {
  const known = await knownAgent(reader, context, input.agentId);
  const agent = known ?? AgentDirectory.fresh(input.agentId, context.seq);
  const checkpoint: Checkpoint = {
    id: context.ids.next("cp"),
    agent: agent.firstSeq,
    asOfSeq: context.seq,
    configVersion: agent.configVersion,
    entryCount: await countPresent(reader, agent, context.nowMs),
    label: input.label,
    metadata: canonicalJson(input.metadata),
    createdAt: context.timestamp,
    createdBy: context.principal.actor,
  };
  const { id, asOfSeq, entryCount, label } = checkpoint;
  const { metadata } = input;
  const details = { checkpoint_id: id, as_of_seq: asOfSeq, entry_count: entryCount, label, metadata };
  return answered(agent, details, showCheckpoint(input.agentId, checkpoint), {
    status: 201,
    effect: { kind: "add_checkpoint", id, asOfSeq, entryCount, label, metadata },
  });
};

const listAgentCheckpoints: Operation<"checkpoint.list"> = async (reader, context, input) => {
  const agent = await knownAgent(reader, context, input.agentId);
  const { limit, offset, after } = input.page;
  const before = after === undefined ? null : Number(after);
  const found =
    agent === null ? [] : await listCheckpoints(reader, agent.firstSeq, { before, offset, limit: limit + 1 });
  const page = found.slice(0, limit);
  const hasMore = found.length > limit;
  const last = page.at(-1);
  const cursor = hasMore && last ? encodeCursor(listFilters("checkpoint.list", input), last.eventSeq) : null;
  const data = page.map(({ checkpoint }) => showCheckpoint(input.agentId, checkpoint)).join(",");
  const details: JsonObject = agent === null ? { agent_id: input.agentId } : {};
  return answered(
    agent,
    { ...details, count: page.length },
    `{"data":[${data}],"has_more":${hasMore},"next_cursor":${JSON.stringify(cursor)}}`,
  );
};

const readCheckpoint: Operation<"checkpoint.read"> = async (reader, context, { checkpointId }) => {
  const found = await findAllowed(reader, context, checkpointId);
  if (found === null) return noCheckpoint(checkpointId);
  const { checkpoint, agent, agentId } = found;
  return {
    agent,
    result: "ok",
    details: { checkpoint_id: checkpoint.id },
    effect: NO_EFFECT,
    answer: {
      kind: "stream",
      contentType: "application/json",
      body: {
        kind: "checkpoint",
        checkpointId: checkpoint.id,
        head: showCheckpoint(agentId, checkpoint).slice(0, -1),
        cutoffMs: retentionCutoff(agent.policies, context.nowMs),
      },
    },
  };
};

export const removeCheckpoint: Operation<"checkpoint.delete"> = async (reader, context, { checkpointId }) => {
  const found = await findAllowed(reader, context, checkpointId);
  if (found === null) return noCheckpoint(checkpointId);
  const { id } = found.checkpoint;
  return answered(found.agent, { checkpoint_id: id }, `{"deleted":1,"audit_id":"${context.auditId}"}`, {
    effect: { kind: "remove_checkpoint", id },
  });
};

/** What runs each operation of this feature, but for a restore (`restore.ts`). */
export const checkpointOperations: Omit<OperationsOf<"checkpoint">, "checkpoint.restore"> = {
  "checkpoint.create": createCheckpoint,
  "checkpoint.list": listAgentCheckpoints,
  "checkpoint.read": readCheckpoint,
  "checkpoint.delete": removeCheckpoint,
};

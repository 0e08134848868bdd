/** Operations on checkpoints, except restoring one (restore.ts). They run on the workspace's thread. */
import { EMPTY_PAGE, listBody } from "../../core/lists.ts";
import type { AgentState } from "../../core/rows/agents.ts";
import { type Checkpoint, findCheckpoint, listCheckpoints, positionOf } from "../../core/rows/checkpoints.ts";
import { atOneMoment } from "../../core/rows/listing/moment.ts";
import { asItIs, type Decided, findingsIn, reportedOf, Screening } from "../../core/writer/decided.ts";
import {
  answered,
  finished,
  naming,
  type OperationsOf,
  operation,
  type Run,
  refusedByPolicy,
} from "../../core/writer/operation.ts";
import { canonicalJson } from "../../log/jcs.ts";
import { readAt, recallOf } from "../../log/recall.ts";
import type { OperationInputs } from "../../operations.ts";
import { freshAt } from "../../screen/retention.ts";
import { countHeld, findAllowed, noCheckpoint, showCheckpoint, writesOfState } from "./checkpoint.ts";
import { compareCheckpoints } from "./compare.ts";
import { restoreCheckpoint } from "./restore.ts";

/** The label is the value: it and the metadata are stored as they are. */
const labels = new Screening<"checkpoint.create", OperationInputs["checkpoint.create"]>(
  asItIs(({ label, metadata }) => ({ key: "", value: label ?? "", metadata, valueName: "label" })),
);

const create: Run<"checkpoint.create", Decided> = async (reader, context, input, found) => {
  const known = await context.agents.find(input.agentId);
  const agent = known ?? context.agents.fresh(input.agentId, context.seq);
  const decision = labels.decide(input, agent.policies, context.nowMs, found);
  if (!decision.allowed) return refusedByPolicy(agent, decision);
  const checkpoint: Checkpoint = {
    id: context.ids.next("cp"),
    agent: agent.firstSeq,
    agentId: input.agentId,
    asOfSeq: context.seq,
    eventSeq: context.seq,
    configVersion: agent.configVersion,
    entryCount: await countHeld(reader, agent, context),
    label: input.label,
    metadata: canonicalJson(input.metadata),
    createdAt: context.timestamp,
    createdBy: context.principal.actor,
  };
  const { id, asOfSeq, entryCount, label } = checkpoint;
  const { metadata } = input;
  const stated = { checkpoint_id: id, as_of_seq: asOfSeq, entry_count: entryCount, label, metadata };
  const details = { ...stated, ...reportedOf(decision) };
  return answered(agent, details, showCheckpoint(checkpoint, findingsIn(decision)), {
    status: 201,
    effect: { kind: "add_checkpoint", id, asOfSeq, entryCount, label, metadata },
  });
};

export const createCheckpoint = { look: labels.look, run: create };

const listAgentCheckpoints: Run<"checkpoint.list"> = async (reader, context, input) => {
  const agent = await context.agents.find(input.agentId);
  const { items, last } = agent === null ? EMPTY_PAGE : await listCheckpoints(reader, agent.firstSeq, input);
  const shown = items.map((checkpoint) => showCheckpoint(checkpoint));
  const details = naming(agent, input.agentId, { count: items.length });
  return answered(agent, details, listBody("checkpoint.list", input, shown, last && positionOf(last, input)));
};

/** The event is recorded before the entries are streamed, so another thread finds out before which ones they are. */
const readCheckpoint = operation("checkpoint.read", {
  async look(reader, context, { checkpointId, page }) {
    const checkpoint = await findCheckpoint(reader, checkpointId, context.principal.agents);
    if (checkpoint === undefined) return null;
    return atOneMoment(reader, checkpoint.agentId, context, async (own, agent) => {
      const fresh = freshAt((agent as AgentState).policies, context);
      return { fresh, recall: recallOf(await writesOfState(own, checkpoint, fresh, page)) };
    });
  },
  async run(reader, context, { checkpointId, page }, looked) {
    const found = await findAllowed(reader, context, checkpointId);
    if (found === null || looked === null) return noCheckpoint(context, checkpointId);
    const { checkpoint, agent } = found;
    const { recall, readSeq } = looked;
    const details = { checkpoint_id: checkpoint.id, ...recall, ...readAt(readSeq, context.seq, recall) };
    return finished(agent, details, {
      kind: "stream",
      contentType: "application/json",
      body: {
        kind: "checkpoint",
        checkpointId: checkpoint.id,
        head: showCheckpoint(checkpoint).slice(0, -1),
        fresh: looked.fresh,
        ...(page && { page }),
      },
    });
  },
});

export const removeCheckpoint: Run<"checkpoint.delete"> = async (reader, context, { checkpointId }) => {
  const found = await findAllowed(reader, context, checkpointId);
  if (found === null) return noCheckpoint(context, checkpointId);
  const { id } = found.checkpoint;
  return answered(found.agent, { checkpoint_id: id }, `{"deleted":1,"audit_id":"${context.auditId}"}`, {
    effect: { kind: "remove_checkpoint", id },
  });
};

export const checkpointOperations: OperationsOf<"checkpoint"> = {
  "checkpoint.create": createCheckpoint,
  "checkpoint.list": { run: listAgentCheckpoints },
  "checkpoint.read": readCheckpoint,
  "checkpoint.compare": compareCheckpoints,
  "checkpoint.restore": restoreCheckpoint,
  "checkpoint.delete": { run: removeCheckpoint },
};

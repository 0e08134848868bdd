/** The HTTP routes of checkpoints. */
import { listInput } from "../../http/page.ts";
import { invalid, Problem } from "../../http/problem.ts";
import { route } from "../../http/route.ts";
import { Deleted } from "../../http/shapes.ts";
import {
  Checkpoint,
  CheckpointList,
  CheckpointsQuery,
  CheckpointWithState,
  CreateBody,
  RestoreBody,
  RestoreResult,
} from "./schema.ts";

const create = route({
  operation: "checkpoint.create",
  method: "POST",
  path: "/v1/checkpoints",
  body: CreateBody,
  input: ({ body }) => ({ agentId: body.agent_id, label: body.label ?? null, metadata: body.metadata ?? {} }),
  docs: {
    summary: "Make a checkpoint",
    description: "Keeps the agent's present state: its config and every entry. Nothing is copied.",
    status: 201,
    response: { description: "The checkpoint.", schema: Checkpoint },
    requestExample: { agent_id: "support-bot", label: "before the migration", metadata: { ticket: 4711 } },
  },
});

const list = route({
  operation: "checkpoint.list",
  method: "GET",
  path: "/v1/checkpoints",
  query: CheckpointsQuery,
  input: ({ query }) => listInput("checkpoint.list", { agentId: query.agent_id }, query),
  docs: {
    summary: "List checkpoints",
    description: "An agent's checkpoints, newest first, without their state.",
    response: { description: "One page of checkpoints.", schema: CheckpointList },
  },
});

const read = route({
  operation: "checkpoint.read",
  method: "GET",
  path: "/v1/checkpoints/:id",
  unfindable: "checkpoint_not_found",
  input: ({ params }) => ({ checkpointId: params.id }),
  docs: {
    summary: "Read a checkpoint with its state",
    description: "The checkpoint with its config and entries, streamed.",
    response: { description: "The checkpoint.", schema: CheckpointWithState },
  },
});

const restore = route({
  operation: "checkpoint.restore",
  method: "POST",
  path: "/v1/checkpoints/:id/restore",
  body: RestoreBody,
  bodyOptional: true,
  unfindable: "checkpoint_not_found",
  input: ({ params, body, principal }) => {
    const restoreConfig = (body.restore_config ?? true) && principal.scope !== "agent";
    const restoreData = body.restore_data ?? true;
    if (!restoreConfig && !restoreData) throw nothingToRestore(body.restore_config ?? true);
    return { checkpointId: params.id, restoreConfig, restoreData };
  },
  docs: {
    summary: "Restore a checkpoint",
    description:
      "Replaces the agent's data by the checkpoint's, and makes a new config version with the checkpoint's content, in one transaction. Restored entries are screened by the policies that will be in force. A key of scope `agent` restores data only.",
    response: { description: "Restored.", schema: RestoreResult },
    problems: ["restore_blocked"],
    requestExample: { restore_config: true, restore_data: true },
  },
});

function nothingToRestore(configWanted: boolean): Problem {
  if (configWanted) {
    return new Problem("forbidden", 'A key of scope "agent" restores data only. Use a key of scope "full".');
  }
  return invalid("Nothing is left to restore. Set restore_config or restore_data to true.", "restore_data");
}

const remove = route({
  operation: "checkpoint.delete",
  method: "DELETE",
  path: "/v1/checkpoints/:id",
  unfindable: "checkpoint_not_found",
  input: ({ params }) => ({ checkpointId: params.id }),
  docs: {
    summary: "Delete a checkpoint",
    description: "Frees what only this checkpoint keeps. The agent's present state does not change.",
    response: { description: "The deletion.", schema: Deleted },
  },
});

export const checkpointRoutes = [create, list, read, restore, remove];

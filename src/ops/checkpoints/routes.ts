/** The HTTP routes of checkpoints. */
import { Type as t } from "@sinclair/typebox";
import {
  AgentId,
  choice,
  DEFAULT_LIMIT,
  flag,
  hasControlCharacter,
  Label,
  MAX_LIMIT,
  Metadata,
  NEWEST_FIRST,
  oldestFirst,
  optionalInteger,
  PAGE_PARAMETERS,
} from "../../api/fields.ts";
import { listInput } from "../../api/page.ts";
import { route } from "../../api/route.ts";
import { Deleted, object } from "../../api/shapes.ts";
import { decodeCursor, filtersOfEntries } from "../../core/lists.ts";
import type { Page } from "../../operation-facts.ts";
import { invalid, Problem } from "../../problem.ts";
import {
  Checkpoint,
  CheckpointChanges,
  CheckpointList,
  CheckpointWithState,
  OtherCheckpoint,
  RestoreResult,
} from "./schema.ts";

/** Returns the requested page of a checkpoint's entries. @throws {Problem} for a cursor of another list */
function pageOfState(checkpointId: string, { limit, cursor }: { limit?: number; cursor?: string }): { page?: Page } {
  if (limit === undefined && cursor === undefined) return {};
  const page = { limit: limit ?? DEFAULT_LIMIT, offset: 0 };
  if (cursor === undefined) return { page };
  const after = decodeCursor(filtersOfEntries(checkpointId), cursor);
  if (typeof after === "string" && after.isWellFormed() && !hasControlCharacter(after))
    return { page: { ...page, after } };
  throw invalid('"cursor" does not belong to this checkpoint. Send next_cursor of the previous page.', "cursor");
}

export const checkpointRoutes = [
  route({
    operation: "checkpoint.create",
    at: "POST /v1/checkpoints",
    body: object({ agent_id: AgentId, label: t.Optional(Label), metadata: t.Optional(Metadata) }),
    input: ({ body }) => ({ agentId: body.agent_id, label: body.label ?? null, metadata: body.metadata ?? {} }),
    summary: "Make a checkpoint",
    description: "Keeps the agent's present state: its config and every entry. Nothing is copied.",
    status: 201,
    response: { description: "The checkpoint.", schema: Checkpoint },
    problems: ["blocked"],
  }),

  route({
    operation: "checkpoint.list",
    at: "GET /v1/checkpoints",
    query: object({
      agent_id: AgentId,
      sort: choice(["created_at", "label", "entry_count"], "What the checkpoints are sorted by", "created_at"),
      ...NEWEST_FIRST,
      ...PAGE_PARAMETERS,
    }),
    input: ({ query }) => {
      const { agent_id: agentId, sort } = query;
      const sorting = sort === undefined || sort === "created_at" ? {} : { sort };
      return listInput("checkpoint.list", { agentId, ...sorting, ...oldestFirst(query) }, query);
    },
    summary: "List checkpoints",
    description: "An agent's checkpoints without their state.",
    response: { description: "One page of checkpoints.", schema: CheckpointList },
  }),

  route({
    operation: "checkpoint.read",
    at: "GET /v1/checkpoints/:id",
    query: object({
      limit: optionalInteger(1, MAX_LIMIT, "How many entries to return instead of all"),
      cursor: PAGE_PARAMETERS.cursor,
    }),
    unfindable: "checkpoint_not_found",
    input: ({ params, query }) => ({ checkpointId: params.id, ...pageOfState(params.id, query) }),
    summary: "Read a checkpoint with its state",
    description: "The checkpoint with its config and entries, by key, streamed.",
    response: { description: "The checkpoint.", schema: CheckpointWithState, streamed: true },
  }),

  route({
    operation: "checkpoint.compare",
    at: "GET /v1/checkpoints/:id/changes",
    query: object({ to: t.Optional(OtherCheckpoint), ...PAGE_PARAMETERS }),
    unfindable: "checkpoint_not_found",
    input: ({ params, query }) =>
      listInput("checkpoint.compare", { checkpointId: params.id, to: query.to ?? null }, query),
    summary: "Compare a checkpoint",
    description: "How another checkpoint, or the present state, differs from it, by key.",
    response: { description: "One page of changes.", schema: CheckpointChanges },
  }),

  route({
    operation: "checkpoint.restore",
    at: "POST /v1/checkpoints/:id/restore",
    body: object({
      restore_config: flag("Whether to restore the config", true),
      restore_data: flag("Whether to restore the data", true),
    }),
    bodyOptional: true,
    unfindable: "checkpoint_not_found",
    input: ({ params, body, principal }) => {
      const { restore_config: wantsConfig = true, restore_data: restoreData = true } = body;
      const restoreConfig = wantsConfig && principal.scope !== "agent";
      if (restoreConfig || restoreData) return { checkpointId: params.id, restoreConfig, restoreData };
      if (!wantsConfig) {
        throw invalid("Nothing is left to restore. Set restore_config or restore_data to true.", "restore_data");
      }
      throw new Problem("forbidden", 'A key of scope "agent" restores data only. Use a key of scope "full".');
    },
    summary: "Restore a checkpoint",
    description:
      "Replaces the agent's data by the checkpoint's, and makes a new config version with the checkpoint's content, in one transaction. Restored entries are screened by the policies that will be in force. A key of scope `agent` restores data only.",
    response: { description: "Restored.", schema: RestoreResult },
    problems: ["restore_blocked"],
  }),

  route({
    operation: "checkpoint.delete",
    at: "DELETE /v1/checkpoints/:id",
    unfindable: "checkpoint_not_found",
    input: ({ params }) => ({ checkpointId: params.id }),
    summary: "Delete a checkpoint",
    description: "Frees what only this checkpoint keeps. The agent's present state does not change.",
    response: { description: "The deletion.", schema: Deleted },
  }),
];

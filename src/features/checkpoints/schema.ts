/** The shapes of checkpoints, in the words of the API. */
import { Type as t } from "@sinclair/typebox";
import { AgentId, Key, Label, Metadata, PAGE_PARAMETERS } from "../../http/fields.ts";
import { AuditId, anyObject, Count, closed, component, listOf, nullable, Time } from "../../http/shapes.ts";

export const CreateBody = t.Object(
  { agent_id: AgentId, label: t.Optional(Label), metadata: t.Optional(Metadata) },
  closed,
);

export const CheckpointsQuery = t.Object({ agent_id: AgentId, ...PAGE_PARAMETERS }, closed);

export const RestoreBody = t.Object(
  {
    restore_config: t.Optional(
      t.Boolean({ default: true, description: "Whether the config comes back: true or false." }),
    ),
    restore_data: t.Optional(
      t.Boolean({ default: true, description: "Whether the data come back: true or false." }),
    ),
  },
  closed,
);

const CheckpointId = t.String({ pattern: "^cp_[0-9a-z]{26}$", examples: ["cp_01jz8v6s3yf0abm5q2x9k7n4tc"] });
const VersionId = nullable(t.String({ pattern: "^v[1-9][0-9]*$" }));
const AnyMetadata = anyObject();

const checkpointMembers = {
  id: CheckpointId,
  agent_id: AgentId,
  label: nullable(t.String()),
  metadata: AnyMetadata,
  created_at: Time,
  created_by: t.String({ description: "The actor who made it." }),
  config_version: VersionId,
  entry_count: t.Integer({ minimum: 0, description: "Entries that were not expired at that moment." }),
  audit_seq: t.Integer({ minimum: 0, description: "The audit event that the state is as of." }),
};

export const Checkpoint = component("Checkpoint", t.Object(checkpointMembers, closed));

export const CheckpointList = component("CheckpointList", listOf(Checkpoint));

export const CheckpointWithState = component(
  "CheckpointWithState",
  t.Object(
    {
      ...checkpointMembers,
      state: t.Object(
        {
          config: nullable(
            t.Object(
              {
                version: t.String(),
                config: anyObject(),
                created_at: Time,
                created_by: t.String(),
              },
              closed,
            ),
          ),
          entries: t.Array(
            t.Object(
              { key: Key, value: t.String(), metadata: AnyMetadata, created_at: Time, updated_at: Time },
              closed,
            ),
          ),
        },
        closed,
      ),
    },
    closed,
  ),
);

export const RestoreResult = component(
  "RestoreResult",
  t.Object(
    {
      checkpoint_id: CheckpointId,
      agent_id: AgentId,
      config_version: VersionId,
      entries_restored: Count,
      entries_removed: Count,
      entries_unchanged: Count,
      safety_checkpoint_id: t.String({ description: "A checkpoint of the state before, to undo with." }),
      audit_id: AuditId,
    },
    closed,
  ),
);

/** The API's schemas of checkpoints. */
import { Type as t } from "@sinclair/typebox";
import { AgentId, Key, Label, Metadata } from "../../api/fields.ts";
import {
  Actor,
  AuditId,
  Count,
  component,
  countOf,
  listOf,
  NextCursor,
  nullable,
  oneOf,
  shape,
  Time,
  usuallyNull,
  VersionId,
} from "../../api/shapes.ts";
import { StoredConfig } from "../config/schema.ts";
import { Reported } from "../data/finding-schema.ts";
import { StateEntry } from "../data/schema.ts";

const CheckpointId = component(
  "CheckpointId",
  t.String({ pattern: "^cp_[0-9a-z]{26}$", examples: ["cp_01jz8v6s3yf0abm5q2x9k7n4tc"] }),
);

const checkpointMembers = {
  id: CheckpointId,
  agent_id: AgentId,
  label: nullable(Label),
  metadata: Metadata,
  created_at: Time,
  created_by: Actor,
  config_version: nullable(VersionId),
  entry_count: countOf("Entries that had not expired at that time."),
  audit_seq: countOf("The position in the trail at which the state was taken."),
  before_restore: t.Boolean({ description: "Whether a restore made it, of the state right before." }),
};

export const Checkpoint = shape("Checkpoint", { ...checkpointMembers, findings: Reported });

export const CheckpointList = component("CheckpointList", listOf(Checkpoint));

export const CheckpointWithState = shape("CheckpointWithState", {
  ...checkpointMembers,
  state: shape("CheckpointState", {
    config: nullable(
      shape("CheckpointConfig", { version: VersionId, config: StoredConfig, created_at: Time, created_by: Actor }),
    ),
    entries: t.Array(StateEntry),
    next_cursor: t.Optional(NextCursor),
  }),
});

export const OtherCheckpoint = {
  ...CheckpointId,
  description: "A later or earlier checkpoint of the agent; without it now.",
};

export const CheckpointChanges = component(
  "CheckpointChanges",
  listOf(
    shape("StateChange", {
      key: Key,
      change: oneOf(["added", "changed", "removed"]),
      from: usuallyNull(StateEntry),
      to: nullable(StateEntry),
    }),
    {
      added: Count,
      changed: Count,
      removed: Count,
      unchanged: Count,
      checkpoint: Checkpoint,
      from_config_version: nullable(VersionId),
      to_config_version: nullable(VersionId),
    },
  ),
);

export const RestoreResult = shape("RestoreResult", {
  checkpoint_id: CheckpointId,
  agent_id: AgentId,
  config_version: nullable(VersionId),
  entries_restored: Count,
  entries_removed: Count,
  entries_unchanged: Count,
  safety_checkpoint_id: { ...CheckpointId, description: "A checkpoint of the state before the restore, to undo it." },
  audit_id: AuditId,
  findings: Reported,
});

/** The API's schemas of policies. */
import { type Static, Type as t } from "@sinclair/typebox";
import { AgentId, Key } from "../../api/fields.ts";
import { Actor, component, listOf, nullable, object, PoliciesVersionId, shape, Time } from "../../api/shapes.ts";
import { Policies } from "../config/schema.ts";
import { Finding } from "../data/finding-schema.ts";
import { WriteBlocked } from "../data/schema.ts";

const RequireConfig = component(
  "RequireConfig",
  t.Boolean({ description: "Block writes by agents without a config: true or false.", examples: [false] }),
);
const ExceptionsFromAgents = component(
  "ExceptionsFromAgents",
  t.Boolean({
    description: "Let exceptions of configs weaken what these policies demand: true or false.",
    examples: [false],
  }),
);

export const WorkspacePoliciesBody = component(
  "WorkspacePolicies",
  object({
    policies: t.Optional(Policies),
    require_config: t.Optional(RequireConfig),
    exceptions_from_agents: t.Optional(ExceptionsFromAgents),
  }),
);

const members = { policies: Policies, require_config: RequireConfig, exceptions_from_agents: ExceptionsFromAgents };

export const PoliciesVersion = shape("WorkspacePoliciesVersion", {
  version: PoliciesVersionId,
  ...members,
  created_at: Time,
  created_by: Actor,
});

export const PoliciesInForce = shape(
  "WorkspacePoliciesInForce",
  { version: nullable(PoliciesVersionId), ...members, created_at: nullable(Time), created_by: nullable(Actor) },
  "The version in force. Before the first one, `version`, `created_at` and `created_by` are null.",
);

export const PoliciesVersionList = component("WorkspacePoliciesVersionList", listOf(PoliciesVersion));

const Allowed = shape(
  "CheckAllowed",
  {
    allowed: t.Literal(true),
    message: t.String({ examples: ["Nothing objects. Nothing was stored."] }),
    redacted: t.Optional(t.Literal(true)),
    redacted_value: t.Optional(t.String({ description: "What would be stored.", examples: ["to [redacted:email]"] })),
    findings: t.Optional(t.Array(Finding, { description: "What was found." })),
  },
  "A write of this would be stored.",
);

export const CheckResult = component(
  "CheckResult",
  t.Unsafe<Static<typeof Allowed> | Static<typeof WriteBlocked>>({ oneOf: [Allowed, WriteBlocked] }),
);

const Count = (description: string, example: number) => t.Integer({ minimum: 0, description, examples: [example] });

export const ReplayResult = shape(
  "ReplayResult",
  {
    examined: Count("Entries decided about.", 1200),
    unchanged: Count("Stored as they are, without a finding.", 1190),
    would_block: Count("Refused.", 1),
    would_redact: Count("Stored with what was found replaced.", 6),
    would_audit: Count("Stored, and what was found reported.", 3),
    samples: t.Array(
      component(
        "ReplaySample",
        object({
          agent_id: AgentId,
          key: Key,
          audit_id: t.String({
            description: "The version of the entry.",
            examples: ["aud_01jz8v6s3yf0abm5q2x9k7n4tc"],
          }),
          findings: t.Array(Finding),
        }),
      ),
      { maxItems: 100, description: "Entries with findings, at most 100." },
    ),
    as_of_seq: Count("The position in the log at which they were read.", 5301),
    blocked_before: t.Record(t.String(), t.Integer({ minimum: 1 }), {
      description: "Blocked operations of the past, by detector.",
      examples: [{ email: 4 }],
    }),
  },
  "What policies would decide about the stored entries.",
);

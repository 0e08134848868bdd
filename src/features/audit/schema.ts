/** The API's schemas of the audit trail, its seals and its proofs. */
import { Type as t } from "@sinclair/typebox";
import { AgentId } from "../../http/fields.ts";
import {
  anyObject,
  Count,
  component,
  countOf,
  Hash,
  listOf,
  nullable,
  object,
  oneOf,
  shape,
  Time,
} from "../../http/shapes.ts";
import { EVENT_NAMES } from "../../operations.ts";
import { ReportedProblem, Restore } from "../../verify/report-schema.ts";

/** Every result that an event can have. */
export const AUDIT_RESULTS = ["ok", "allowed", "blocked", "not_found", "conflict", "denied"] as const;

export const ACTIVITY_INTERVALS = ["minute", "hour", "day"] as const;

export const Activity = shape(
  "Activity",
  {
    interval: oneOf(ACTIVITY_INTERVALS),
    start_time: Time,
    end_time: Time,
    data: t.Array(
      object({
        start_time: Time,
        events: Count,
        allowed: t.Unsafe<number | null>({
          type: ["integer", "null"],
          minimum: 0,
          description: "Writes that were allowed; null when there are too many events to count.",
        }),
        blocked: countOf("Refused by a policy."),
        denied: countOf("Refused because the agent was suspended or the workspace was full."),
      }),
    ),
  },
  "Every interval of the window, oldest first, in UTC.",
);

export const AuditEvent = shape(
  "AuditEvent",
  {
    id: t.String({ pattern: "^aud_[0-9a-z]{26}$" }),
    seq: countOf("Position in the workspace's trail."),
    workspace_id: t.String(),
    agent_id: nullable(AgentId),
    agent_seq: t.Integer({ minimum: 1, description: "Position in the agent's chain." }),
    operation: oneOf(EVENT_NAMES),
    result: oneOf(AUDIT_RESULTS),
    blocked_by: nullable(t.String({ pattern: "^policy:" })),
    actor: t.String({ description: "`key_…`, `usr_…`, `cli` or `system`." }),
    config_version: nullable(t.String()),
    timestamp: Time,
    details: nullable(anyObject()),
    details_salt: nullable(t.String({ pattern: "^[0-9a-f]{32}$" })),
    details_commitment: Hash,
    previous_hash: Hash,
    hash: Hash,
    format: t.String({ examples: ["governd.audit/1"] }),
    proof: t.Optional(
      nullable(
        object(
          {
            leaf_index: Count,
            tree_size: Count,
            path: t.Array(Hash, { description: "From the leaf up (RFC 9162, 2.1.3)." }),
            seal: t.String({ description: "The seal of that size." }),
          },
          "With `proof=true`; null when the event cannot be sealed now.",
        ),
      ),
    ),
  },
  "`details` and `details_salt` are null once erased.",
);

export const AuditEventList = component("AuditEventList", listOf(AuditEvent));

const EventReference = nullable(object({ seq: Count, agent_seq: Count, id: t.String(), hash: Hash, timestamp: Time }));

const ControlRows = object(
  {
    verdict: t.Union([t.Literal("verified"), t.Literal("tampered"), t.Literal("undetermined")]),
    rows: t.Integer({ minimum: 0, description: "How many rows are as the log says." }),
    problems: t.Array(
      object({ code: t.String(), seq: nullable(Count), id: nullable(t.String()), message: t.String() }),
      { maxItems: 100, description: "`seq` and `id` name the event that says otherwise." },
    ),
  },
  "The workspace, its keys, members and invitations as `control.db` holds them, compared with the log. Null for one agent, and when the log itself is not valid.",
);

export const Verification = shape("Verification", {
  valid: t.Boolean({
    description: "The chain is intact, and every hash, commitment, stored entry and row of `control.db` agrees.",
  }),
  events_checked: Count,
  completeness: t.Union([t.Literal("complete"), t.Literal("partial"), t.Literal("unknown")], {
    description:
      "Whether every event up to `complete_through` is there, under a seal; a part of the log, the rest of which was pruned; or whether that cannot be established, as for one agent or without a seal.",
  }),
  complete_through: nullable(Count),
  chain_intact: t.Boolean({ description: "Every link is right and no number is missing." }),
  chain_start: EventReference,
  chain_end: EventReference,
  first_invalid: nullable(object({ seq: nullable(Count), id: nullable(t.String()), reason: t.String() })),
  control: nullable(ControlRows),
  restores: t.Array(component("DeclaredRestore", Restore), {
    description: "The restores from a backup that the log declares. Each begins an epoch; none is shown for one agent.",
  }),
  problem_count: Count,
  problems: t.Array(component("VerificationProblem", ReportedProblem), {
    description: "The first 100, as `governd verify --json` reports them.",
  }),
  verified_at: Time,
});

export const AuditExport = component(
  "AuditExport",
  t.Object(
    { format: t.String({ examples: ["governd.audit-export/2"] }), events: t.Array(AuditEvent) },
    { additionalProperties: true, description: "The json form. `governd verify` checks it offline." },
  ),
);

/** A C2SP tlog-checkpoint. */
export const Seal = t.String({
  description: "Origin, number of events and root of their tree, signed (C2SP tlog-checkpoint).",
  examples: [
    "governd.example.org/ws_01h455vb4pex5vsknk084sn02q\n120\nuTdt9lRY4OuE3HWVbvJY8l9X3XlUJ9NvJk3p5vFzT2w=\n\n— governd.example.org/ws_01h455vb4pex5vsknk084sn02q …\n",
  ],
});

export const Receipt = t.String({
  description:
    "The event, its inclusion proof and the seal (C2SP tlog-proof). `governd verify` needs only this file and the key.",
});

const sealingKey = {
  origin: t.String({ description: "The first line of its seals: a host and the workspace." }),
  verifier_key: t.String({ description: "The key in the form of C2SP signed-note." }),
  public_key: t.String({ description: "The key in PEM (SubjectPublicKeyInfo)." }),
  fingerprint: t.String({ pattern: "^[0-9a-f]{64}$", description: "SHA-256 of its 32 bytes." }),
  announced_seq: countOf("The event that announced the key."),
};

export const SealingKey = shape("SealingKey", { ...sealingKey, earlier: t.Array(object(sealingKey)) });

const Tree = object({ size: Count, root: t.String({ description: "Base64." }) });

export const Consistency = shape("Consistency", { from: Tree, to: Tree, proof: t.Array(Hash) });

export const Anchors = shape(
  "Anchors",
  {
    anchors: t.Array(
      object({
        kind: oneOf(["command", "webhook", "witness"]),
        name: nullable(t.String({ description: "A host, or a witness's name; null for a command." })),
        anchored_at: nullable(Time),
        seal_size: nullable(t.Integer({ minimum: 1, description: "Events that its newest seal covers." })),
        sealed_at: nullable(Time),
        pending_since: nullable(Time),
        failures: countOf("How often sending the waiting seal failed."),
      }),
    ),
  },
  "`anchored_at` is when the place accepted its newest seal, and `sealed_at` when that seal was made; both are null while the place has none. `pending_since` is null unless a newer seal waits.",
);

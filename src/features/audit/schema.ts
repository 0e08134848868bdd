/** The shapes of the audit trail, in the words of the API. */
import { Type as t } from "@sinclair/typebox";
import { AgentId, PAGE_PARAMETERS, Timestamp } from "../../http/fields.ts";
import { anyObject, Count, closed, component, listOf, nullable, oneOf, Time } from "../../http/shapes.ts";
import { EVENT_NAMES } from "../../operations.ts";

/** Every result that an event can have. */
export const AUDIT_RESULTS = ["ok", "allowed", "blocked", "not_found", "conflict", "denied"] as const;

export const EXPORT_FORMATS = ["json", "ndjson", "csv", "cloudevents", "ocsf"] as const;

const Scope = t.Literal("workspace", {
  type: "string",
  description: "In place of agent_id: workspace.",
});

const OptionalAgentId = t.Optional(AgentId);

const window = {
  start_time: t.Optional(Timestamp),
  end_time: t.Optional(Timestamp),
};

export const AuditQuery = t.Object(
  {
    agent_id: OptionalAgentId,
    scope: t.Optional(Scope),
    operations: t.Optional(
      t.String({
        description: "Operation names, separated by commas: events of these alone.",
        examples: ["data.write,data.delete"],
      }),
    ),
    result: t.Optional(
      t.Unsafe<string>(
        t.Union(
          AUDIT_RESULTS.map((result) => t.Literal(result)),
          { description: `Events with this result alone: ${AUDIT_RESULTS.join(", ")}.` },
        ),
      ),
    ),
    ...window,
    ...PAGE_PARAMETERS,
  },
  closed,
);

export const ReadQuery = t.Object(
  {
    proof: t.Optional(
      t.Boolean({
        default: false,
        description: "Whether to add the proof that the event is under the newest seal: true or false.",
      }),
    ),
  },
  closed,
);

const TreeSize = (description: string) =>
  t.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description });

export const ConsistencyQuery = t.Object(
  {
    from: TreeSize("The size of the older tree: an integer from 0."),
    to: t.Optional(
      TreeSize("The size of the newer tree, at most that of the newest seal, which is the default."),
    ),
  },
  closed,
);

export const StreamQuery = t.Object({ agent_id: OptionalAgentId, scope: t.Optional(Scope) }, closed);

export const ACTIVITY_INTERVALS = ["minute", "hour", "day"] as const;

export const ActivityQuery = t.Object(
  {
    agent_id: OptionalAgentId,
    scope: t.Optional(Scope),
    interval: t.Optional(
      t.Unsafe<(typeof ACTIVITY_INTERVALS)[number]>(
        t.Union(
          ACTIVITY_INTERVALS.map((interval) => t.Literal(interval)),
          { default: "hour", description: `The length of an interval: ${ACTIVITY_INTERVALS.join(", ")}.` },
        ),
      ),
    ),
    ...window,
  },
  closed,
);

export const Activity = component(
  "Activity",
  t.Object(
    {
      interval: oneOf(ACTIVITY_INTERVALS),
      start_time: Time,
      end_time: Time,
      data: t.Array(
        t.Object(
          {
            start_time: Time,
            events: Count,
            allowed: t.Unsafe<number | null>({
              type: ["integer", "null"],
              minimum: 0,
              description: "Writes that were allowed; null when the window holds too much to count them.",
            }),
            blocked: t.Integer({ minimum: 0, description: "Refused by a policy." }),
            denied: t.Integer({
              minimum: 0,
              description: "Refused since the agent was suspended, or the workspace was full.",
            }),
          },
          closed,
        ),
      ),
    },
    { ...closed, description: "Every interval of the window, oldest first, in UTC." },
  ),
);

export const VerifyBody = t.Object({ agent_id: OptionalAgentId, scope: t.Optional(Scope) }, closed);

export const ExportBody = t.Object(
  {
    agent_id: OptionalAgentId,
    scope: t.Optional(Scope),
    format: t.Optional(
      t.Unsafe<(typeof EXPORT_FORMATS)[number]>(
        t.Union(
          EXPORT_FORMATS.map((format) => t.Literal(format)),
          { default: "json", description: `The export's form: ${EXPORT_FORMATS.join(", ")}.` },
        ),
      ),
    ),
    ...window,
    cursor: t.Optional(
      t.String({
        maxLength: 512,
        description:
          "To continue an export that broke off: its `X-Export-Cursor`, a full stop, and the number of whole events received. All else must be as it was sent.",
      }),
    ),
  },
  closed,
);

const Hash = t.String({ pattern: "^[0-9a-f]{64}$" });

export const AuditEvent = component(
  "AuditEvent",
  t.Object(
    {
      id: t.String({ pattern: "^aud_[0-9a-z]{26}$" }),
      seq: t.Integer({ minimum: 0, description: "Position in the workspace's trail." }),
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
          t.Object(
            {
              leaf_index: Count,
              tree_size: Count,
              path: t.Array(Hash, { description: "From the leaf up (RFC 9162, 2.1.3)." }),
              seal: t.String({ description: "The seal of that size." }),
            },
            { ...closed, description: "With `proof=true`; null when the event cannot be sealed just now." },
          ),
        ),
      ),
    },
    { ...closed, description: "`details` and `details_salt` are null once erased." },
  ),
);

export const AuditEventList = component("AuditEventList", listOf(AuditEvent));

const EventReference = nullable(
  t.Object({ seq: Count, agent_seq: Count, id: t.String(), hash: Hash, timestamp: Time }, closed),
);

export const Verification = component(
  "Verification",
  t.Object(
    {
      valid: t.Boolean({
        description: "The chain is intact, and every hash, commitment and stored entry agrees.",
      }),
      events_checked: Count,
      chain_intact: t.Boolean({ description: "Every link and number follows." }),
      chain_start: EventReference,
      chain_end: EventReference,
      first_invalid: nullable(
        t.Object({ seq: nullable(Count), id: nullable(t.String()), reason: t.String() }, closed),
      ),
      verified_at: Time,
    },
    closed,
  ),
);

export const AuditExport = component(
  "AuditExport",
  t.Object(
    { format: t.String({ examples: ["governd.audit-export/1"] }), events: t.Array(AuditEvent) },
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
    "The event, its inclusion proof and the seal (C2SP tlog-proof). `governd verify` checks it alone.",
});

const sealingKey = {
  origin: t.String({ description: "What its seals begin with: a host and the workspace." }),
  verifier_key: t.String({ description: "The key in the form of C2SP signed-note." }),
  public_key: t.String({ description: "The key in PEM (SubjectPublicKeyInfo)." }),
  fingerprint: t.String({ pattern: "^[0-9a-f]{64}$", description: "SHA-256 of its 32 bytes." }),
  announced_seq: t.Integer({ minimum: 0, description: "The event that names it." }),
};

export const SealingKey = component(
  "SealingKey",
  t.Object({ ...sealingKey, earlier: t.Array(t.Object(sealingKey, closed)) }, closed),
);

const Tree = t.Object(
  { size: t.Integer({ minimum: 0 }), root: t.String({ description: "Base64." }) },
  closed,
);

export const Consistency = component(
  "Consistency",
  t.Object({ from: Tree, to: Tree, proof: t.Array(t.String({ pattern: "^[0-9a-f]{64}$" })) }, closed),
);

export const Anchors = component(
  "Anchors",
  t.Object(
    {
      anchors: t.Array(
        t.Object(
          {
            kind: oneOf(["command", "webhook", "witness"]),
            name: nullable(t.String({ description: "A host, or a witness's name; null for a command." })),
            anchored_at: nullable(Time),
            seal_size: nullable(
              t.Integer({ minimum: 1, description: "Events that its newest seal covers." }),
            ),
            sealed_at: nullable(Time),
            pending_since: nullable(Time),
            failures: t.Integer({ minimum: 0, description: "How often the seal that waits was refused." }),
          },
          closed,
        ),
      ),
    },
    {
      ...closed,
      description:
        "`anchored_at` is when its newest seal was taken, `sealed_at` when that was made; both are null while it is not known to have one. `pending_since` is null unless a newer one waits.",
    },
  ),
);

/** The API's schemas of the audit trail, its seals and its proofs. */
import { Type as t } from "@sinclair/typebox";
import { AgentId, Key } from "../../api/fields.ts";
import {
  Actor,
  anyObject,
  Count,
  component,
  countOf,
  EventId,
  Hash,
  listOf,
  nullable,
  oneOf,
  shape,
  Time,
  usuallyNull,
  VersionId,
  WorkspaceId,
} from "../../api/shapes.ts";
import { MOST_DEPTH } from "../../core/rows/lineage/walk.ts";
import { AUDIT_RESULTS } from "../../details.ts";
import { ACTIVITY_INTERVALS } from "../../operation-facts.ts";
import { EVENT_NAMES } from "../../operations.ts";
import { ReportedProblem, Restore } from "../../verify/report-schema.ts";

export const Activity = shape(
  "Activity",
  {
    interval: oneOf(ACTIVITY_INTERVALS),
    start_time: Time,
    end_time: Time,
    data: t.Array(
      shape("ActivityInterval", {
        start_time: Time,
        events: Count,
        allowed: t.Unsafe<number | null>({
          type: ["integer", "null"],
          minimum: 0,
          examples: [11],
          description: "Writes that were allowed; null when there are too many events to count.",
        }),
        blocked: countOf("Refused by a policy."),
        denied: countOf("Refused because the agent was suspended or the workspace was full."),
      }),
    ),
  },
  "Every interval of the window, oldest first, in UTC.",
);

export const EventName = component("EventName", oneOf(EVENT_NAMES));
export const AuditResultName = component("AuditResult", oneOf(AUDIT_RESULTS));

export const AuditEvent = shape(
  "AuditEvent",
  {
    id: EventId,
    seq: countOf("Position in the workspace's trail."),
    workspace_id: WorkspaceId,
    agent_id: nullable(AgentId),
    agent_seq: t.Integer({ minimum: 1, description: "Position in the agent's chain." }),
    operation: EventName,
    result: AuditResultName,
    blocked_by: usuallyNull(t.String({ pattern: "^policy:" })),
    actor: Actor,
    config_version: nullable(VersionId),
    timestamp: Time,
    details: nullable(anyObject({ examples: [{ key: "customers/42/summary" }] })),
    details_salt: nullable(t.String({ pattern: "^[0-9a-f]{32}$", examples: ["0f1e2d3c4b5a69788796a5b4c3d2e1f0"] })),
    details_commitment: Hash,
    previous_hash: Hash,
    hash: Hash,
    format: t.String({ examples: ["governd.audit/1"] }),
    proof: t.Optional(
      nullable(
        shape(
          "EventProof",
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

export const Lineage = component(
  "Lineage",
  listOf(
    shape(
      "LineageItem",
      {
        audit_id: { ...EventId, description: "The event of the write." },
        agent_id: AgentId,
        key: nullable(Key, { description: "The entry's key; null once erased." }),
        seq: countOf("Position in the workspace's trail."),
        timestamp: Time,
        from: { ...EventId, description: "The write from which it was reached, one step less away." },
        through: { ...EventId, description: "An event that showed one to the actor of the other." },
        depth: t.Integer({ minimum: 1, maximum: MOST_DEPTH, description: "The fewest steps between the two." }),
      },
      "A write that was stored.",
    ),
    {
      observed: t.Literal(true, {
        description: "This is what was shown before what was written. It does not say that one caused the other.",
      }),
    },
  ),
);

const EventReference = nullable(
  shape("EventReference", { seq: Count, agent_seq: Count, id: EventId, hash: Hash, timestamp: Time }),
);

export const Verification = shape("Verification", {
  valid: t.Boolean({ description: "The chain is intact, and every hash, commitment and stored row agrees." }),
  events_checked: Count,
  completeness: t.Union([t.Literal("complete"), t.Literal("partial"), t.Literal("unknown")], {
    description:
      "Whether every event up to `complete_through` is there, under a seal; a part of the log, the rest of which was pruned; or whether that cannot be established, as for one agent or without a seal.",
  }),
  complete_through: nullable(Count),
  chain_intact: t.Boolean({ description: "Every link is right and no number is missing." }),
  chain_start: EventReference,
  chain_end: EventReference,
  first_invalid: usuallyNull(
    shape("FirstInvalid", { seq: nullable(Count), id: nullable(EventId), reason: t.String() }),
  ),
  restores: t.Array(component("DeclaredRestore", Restore), {
    examples: [[]],
    description: "The restores from a backup that the log declares. Each begins an epoch; none is shown for one agent.",
  }),
  problem_count: { ...Count, examples: [0] },
  problems: t.Array(component("VerificationProblem", ReportedProblem), {
    examples: [[]],
    description: "The first 100, as `governd verify --json` reports them.",
  }),
  verified_at: Time,
});

export const AuditExport = component(
  "AuditExport",
  t.Object(
    { format: t.String({ examples: ["governd.audit-export/1"] }), events: t.Array(AuditEvent) },
    { additionalProperties: true, description: "The json form. `governd verify` checks it offline." },
  ),
);

const EXAMPLE_ORIGIN = "governd.example.org/ws_01h455vb4pex5vsknk084sn02q";

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
  examples: [
    "c2sp.org/tlog-proof@v1\nextra …\nindex 41\n…\n\ngovernd.example.org/ws_01h455vb4pex5vsknk084sn02q\n120\n…\n",
  ],
});

const sealingKey = {
  origin: t.String({
    description: "The first line of its seals: a host and the workspace.",
    examples: [EXAMPLE_ORIGIN],
  }),
  verifier_key: t.String({
    description: "The key in the form of C2SP signed-note.",
    examples: [`${EXAMPLE_ORIGIN}+f5a1c9d2+AZ8m…`],
  }),
  public_key: t.String({
    description: "The key in PEM (SubjectPublicKeyInfo).",
    examples: ["-----BEGIN PUBLIC KEY-----\n…\n-----END PUBLIC KEY-----\n"],
  }),
  fingerprint: { ...Hash, description: "SHA-256 over the byte 0x01 (Ed25519) and its 32 bytes." },
  announced_seq: countOf("The event that announced the key."),
};

export const SealingKey = shape("SealingKey", {
  ...sealingKey,
  earlier: t.Array(shape("EarlierSealingKey", sealingKey), { examples: [[]] }),
});

const Tree = shape("TreeHead", {
  size: Count,
  root: t.String({ description: "Base64.", examples: ["uTdt9lRY4OuE3HWVbvJY8l9X3XlUJ9NvJk3p5vFzT2w="] }),
});

export const Consistency = shape("Consistency", { from: Tree, to: Tree, proof: t.Array(Hash) });

export const Anchors = shape(
  "Anchors",
  {
    anchors: t.Array(
      shape("Anchor", {
        kind: oneOf(["command", "webhook", "witness", "timestamp"]),
        name: nullable(t.String({ description: "A host, or a witness's name; null for a command." }), {
          examples: [null],
        }),
        anchored_at: nullable(Time),
        seal_size: nullable(t.Integer({ minimum: 1, description: "Events that its newest seal covers." })),
        sealed_at: nullable(Time),
        pending_since: usuallyNull(Time),
        failures: countOf("How often sending the waiting seal failed."),
      }),
    ),
  },
  "`anchored_at` is when the place accepted its newest seal, and `sealed_at` when that seal was made; both are null while the place has none. `pending_since` is null unless a newer seal waits.",
);

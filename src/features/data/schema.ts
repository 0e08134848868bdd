/** The API's schemas of governed data. */
import { type Static, Type as t } from "@sinclair/typebox";
import { AgentId, Key, Metadata, Value } from "../../http/fields.ts";
import {
  Actor,
  AuditId,
  component,
  countOf,
  EventId,
  listOf,
  nullable,
  shape,
  Time,
  VersionId,
} from "../../http/shapes.ts";
import { DETECTORS } from "../../policy/detectors.ts";

/** The response to a deletion and to an erasure. */
export const DeletedOrErased = shape("DeletedOrErased", {
  deleted: countOf("How many entries were removed."),
  erased_events: t.Optional(countOf("With erase=true: audit events whose details are destroyed.")),
  audit_id: AuditId,
});

const EXAMPLE_DETECTOR = DETECTORS.email;

export const Finding = shape(
  "Finding",
  {
    policy: t.String({ description: "The policy that objects.", examples: [EXAMPLE_DETECTOR.policy] }),
    detector: t.String({ description: "What was recognised.", examples: ["email"] }),
    field: t.String({
      description:
        "Where it was found: `key`, `value` or a path into the metadata. A name in the path that itself matched is `*`.",
      examples: ["value", "metadata.a.b"],
    }),
    tier: t.Optional(
      t.Integer({
        minimum: 1,
        maximum: 2,
        description: "For personal data: 1 names a person or an account; 2 a device, an address or a wallet.",
      }),
    ),
    start: countOf("The position of the first UTF-16 code unit of the match."),
    end: countOf("The position after the last UTF-16 code unit of the match."),
  },
  "What a policy found and where. It never contains the text.",
);

const BlockedBy = t.String({ pattern: "^policy:", examples: [`policy:${EXAMPLE_DETECTOR.policy}`] });

const Stored = shape(
  "WriteStored",
  { allowed: t.Literal(true), audit_id: AuditId, message: t.String({ examples: ["Stored."] }) },
  "The entry is stored.",
);

const Blocked = shape(
  "WriteBlocked",
  {
    allowed: t.Literal(false),
    blocked_by: BlockedBy,
    message: t.String({ description: "What was found, and what to do." }),
    findings: t.Array(Finding),
  },
  "Blocked by a policy: nothing was stored.",
);

export const WriteResult = component(
  "WriteResult",
  t.Unsafe<Static<typeof Stored> | Static<typeof Blocked>>({ oneOf: [Stored, Blocked] }),
);

const stored = { key: Key, value: Value, metadata: Metadata, created_at: Time, updated_at: Time };

/** Entries of a checkpoint's state. */
export const StateEntry = shape("StateEntry", stored);

export const Entry = shape("Entry", { agent_id: AgentId, key: Key, value: Value });

export const FullEntry = shape("FullEntry", {
  agent_id: AgentId,
  ...stored,
  audit_id: { ...EventId, description: "The audit event that wrote the entry." },
  config_version: nullable({ ...VersionId, description: "The config in force when it was written." }),
  written_by: { ...Actor, description: "The actor who wrote it." },
  expires_at: nullable(Time),
});

export const EntryList = component(
  "EntryList",
  listOf(
    shape("EntryItem", {
      ...stored,
      size: countOf("Bytes of the value as UTF-8."),
      value: t.Optional({ ...Value, description: "Present with include_values=true." }),
    }),
  ),
);

const Found = shape("SearchHit", {
  key: Key,
  value: Value,
  metadata: Metadata,
  similarity: t.Number({ minimum: 0, maximum: 1, examples: [0.858678] }),
  updated_at: Time,
});

export const SearchResult = shape("SearchResult", {
  data: t.Array(Found),
  model: t.String({ description: "What ranked the results.", examples: ["governd-words-1"] }),
});

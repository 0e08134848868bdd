/** The shapes of governed data, in the words of the API. */
import { type Static, Type as t } from "@sinclair/typebox";
import {
  AgentId,
  flag,
  Key,
  Metadata,
  NonEmptyPrefix,
  PAGE_PARAMETERS,
  Prefix,
  Value,
} from "../../http/fields.ts";
import {
  AuditId,
  anyObject,
  component,
  countOf,
  listOf,
  nullable,
  object,
  shape,
  Time,
} from "../../http/shapes.ts";
import { DETECTORS } from "../../policy/detectors.ts";

/** Most and default results of one search. */
const MAX_SEARCH_LIMIT = 100;
export const DEFAULT_SEARCH_LIMIT = 10;
/** Most characters (UTF-16 code units) of a search's query. */
const MAX_QUERY_LENGTH = 8192;

export const WriteBody = object({
  agent_id: AgentId,
  key: Key,
  value: Value,
  metadata: t.Optional(Metadata),
});

export const EntryQuery = object({ agent_id: AgentId, key: Key });

export const ListQuery = object({
  agent_id: AgentId,
  prefix: t.Optional(Prefix),
  include_values: flag("Whether to answer the values too"),
  ...PAGE_PARAMETERS,
});

export const SearchBody = object({
  agent_id: AgentId,
  query: t.String({
    minLength: 1,
    maxLength: MAX_QUERY_LENGTH,
    description: `What to look for, in words: 1 to ${MAX_QUERY_LENGTH} characters.`,
    examples: ["when does the customer like to be called"],
  }),
  limit: t.Optional(
    t.Integer({
      minimum: 1,
      maximum: MAX_SEARCH_LIMIT,
      default: DEFAULT_SEARCH_LIMIT,
      description: `How many results: an integer from 1 to ${MAX_SEARCH_LIMIT}.`,
    }),
  ),
  prefix: t.Optional(Prefix),
  min_similarity: t.Optional(
    t.Number({
      minimum: 0,
      maximum: 1,
      default: 0,
      description: "Leave out results less similar than this: a number from 0 to 1.",
    }),
  ),
});

const Erase = flag("Whether to erase for good instead");

export const DeleteQuery = object({ agent_id: AgentId, key: Key, erase: Erase });

export const DeletePrefixQuery = object({ agent_id: AgentId, prefix: NonEmptyPrefix, erase: Erase });

/** The answer to a deletion, and to an erasure. */
export const DeletedOrErased = shape("DeletedOrErased", {
  deleted: countOf("Entries that are gone."),
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
        "Where: `key`, `value` or a path into the metadata, in which a name that itself matched is `*`.",
      examples: ["value", "metadata.a.b"],
    }),
    tier: t.Optional(
      t.Integer({
        minimum: 1,
        maximum: 2,
        description: "Of personal data: 1 names a person or an account, 2 a device, an address, a wallet.",
      }),
    ),
    start: countOf("First UTF-16 code unit of the match."),
    end: countOf("One past its last UTF-16 code unit."),
  },
  "Where a policy objects and to what kind of thing; never the text.",
);

const BlockedBy = t.String({ pattern: "^policy:", examples: [`policy:${EXAMPLE_DETECTOR.policy}`] });

const Stored = {
  ...object({ allowed: t.Literal(true), audit_id: AuditId, message: t.String() }),
  title: "Stored",
};

const Blocked = {
  ...object({
    allowed: t.Literal(false),
    blocked_by: BlockedBy,
    message: t.String(),
    findings: t.Array(Finding),
  }),
  title: "Blocked by a policy",
};

export const WriteResult = component(
  "WriteResult",
  t.Unsafe<Static<typeof Stored> | Static<typeof Blocked>>({ oneOf: [Stored, Blocked] }),
);

/** Free-form metadata as it is answered: whatever was stored. */
const AnyMetadata = anyObject();

export const Entry = shape("Entry", { agent_id: AgentId, key: Key, value: t.String() });

export const FullEntry = shape("FullEntry", {
  agent_id: AgentId,
  key: Key,
  value: t.String(),
  metadata: AnyMetadata,
  created_at: Time,
  updated_at: Time,
  audit_id: t.String({ description: "The audit event that wrote the entry." }),
  config_version: nullable(t.String({ description: "The config in force when it was written." })),
  written_by: t.String({ description: "The actor who wrote it." }),
  expires_at: nullable(Time),
});

export const EntryList = component(
  "EntryList",
  listOf(
    object({
      key: Key,
      size: countOf("Bytes of the value as UTF-8."),
      metadata: AnyMetadata,
      created_at: Time,
      updated_at: Time,
      value: t.Optional(t.String({ description: "Present with include_values=true." })),
    }),
  ),
);

export const SearchResult = shape("SearchResult", {
  data: t.Array(
    object({
      key: Key,
      value: t.String(),
      metadata: AnyMetadata,
      similarity: t.Number({ minimum: 0, maximum: 1 }),
      updated_at: Time,
    }),
  ),
  model: t.String({ description: "What ranked the results." }),
});

/** Entries of a checkpoint's state. */
export const StateEntry = object({
  key: Key,
  value: t.String(),
  metadata: AnyMetadata,
  created_at: Time,
  updated_at: Time,
});

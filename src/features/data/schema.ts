/** The shapes of governed data, in the words of the API. */
import { type Static, Type as t } from "@sinclair/typebox";
import { AgentId, Key, Metadata, NonEmptyPrefix, PAGE_PARAMETERS, Prefix, Value } from "../../http/fields.ts";
import { AuditId, anyObject, closed, component, listOf, nullable, Time } from "../../http/shapes.ts";
import { DETECTORS } from "../../policy/detectors.ts";

/** Most and default results of one search. */
export const MAX_SEARCH_LIMIT = 100;
export const DEFAULT_SEARCH_LIMIT = 10;
/** Most characters (UTF-16 code units) of a search's query. */
export const MAX_QUERY_LENGTH = 8192;

export const WriteBody = t.Object(
  { agent_id: AgentId, key: Key, value: Value, metadata: t.Optional(Metadata) },
  closed,
);

export const EntryQuery = t.Object({ agent_id: AgentId, key: Key }, closed);

export const ListQuery = t.Object(
  {
    agent_id: AgentId,
    prefix: t.Optional(Prefix),
    include_values: t.Optional(
      t.Boolean({ default: false, description: "Whether to answer the values too: true or false." }),
    ),
    ...PAGE_PARAMETERS,
  },
  closed,
);

export const SearchBody = t.Object(
  {
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
  },
  closed,
);

const Erase = t.Optional(
  t.Boolean({ default: false, description: "Whether to erase for good instead: true or false." }),
);

export const DeleteQuery = t.Object({ agent_id: AgentId, key: Key, erase: Erase }, closed);

export const DeletePrefixQuery = t.Object(
  { agent_id: AgentId, prefix: NonEmptyPrefix, erase: Erase },
  closed,
);

/** The answer to a deletion, and to an erasure. */
export const DeletedOrErased = component(
  "DeletedOrErased",
  t.Object(
    {
      deleted: t.Integer({ minimum: 0, description: "Entries that are gone." }),
      erased_events: t.Optional(
        t.Integer({ minimum: 0, description: "With erase=true: audit events whose details are destroyed." }),
      ),
      audit_id: AuditId,
    },
    closed,
  ),
);

const EXAMPLE_DETECTOR = DETECTORS.email;

export const Finding = component(
  "Finding",
  t.Object(
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
      start: t.Integer({ minimum: 0, description: "First UTF-16 code unit of the match." }),
      end: t.Integer({ minimum: 0, description: "One past its last UTF-16 code unit." }),
    },
    {
      ...closed,
      description: "Where a policy objects and to what kind of thing; never the text.",
    },
  ),
);

export const BlockedBy = t.String({ pattern: "^policy:", examples: [`policy:${EXAMPLE_DETECTOR.policy}`] });

const Stored = t.Object(
  { allowed: t.Literal(true), audit_id: AuditId, message: t.String() },
  { ...closed, title: "Stored" },
);

const Blocked = t.Object(
  {
    allowed: t.Literal(false),
    blocked_by: BlockedBy,
    message: t.String(),
    findings: t.Array(Finding),
  },
  { ...closed, title: "Blocked by a policy" },
);

export const WriteResult = component(
  "WriteResult",
  t.Unsafe<Static<typeof Stored> | Static<typeof Blocked>>({ oneOf: [Stored, Blocked] }),
);

/** Free-form metadata as it is answered: whatever was stored. */
const AnyMetadata = anyObject();

export const Entry = component("Entry", t.Object({ agent_id: AgentId, key: Key, value: t.String() }, closed));

export const FullEntry = component(
  "FullEntry",
  t.Object(
    {
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
    },
    closed,
  ),
);

export const EntryList = component(
  "EntryList",
  listOf(
    t.Object(
      {
        key: Key,
        size: t.Integer({ minimum: 0, description: "Bytes of the value as UTF-8." }),
        metadata: AnyMetadata,
        created_at: Time,
        updated_at: Time,
        value: t.Optional(t.String({ description: "Present with include_values=true." })),
      },
      closed,
    ),
  ),
);

export const SearchResult = component(
  "SearchResult",
  t.Object(
    {
      data: t.Array(
        t.Object(
          {
            key: Key,
            value: t.String(),
            metadata: AnyMetadata,
            similarity: t.Number({ minimum: 0, maximum: 1 }),
            updated_at: Time,
          },
          closed,
        ),
      ),
      model: t.String({ description: "What ranked the results." }),
    },
    closed,
  ),
);

/** Entries of a checkpoint's state. */
export const StateEntry = t.Object(
  { key: Key, value: t.String(), metadata: AnyMetadata, created_at: Time, updated_at: Time },
  closed,
);

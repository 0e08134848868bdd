/** The API's schemas of governed data. */
import { type Static, type TObject, type TProperties, Type as t } from "@sinclair/typebox";
import { AgentId, flag, Key, Metadata, optionalInteger, Timestamp, Value } from "../../api/fields.ts";
import { AsOfShown } from "../../api/moment.ts";
import {
  Actor,
  AuditId,
  component,
  countOf,
  EventId,
  listOf,
  nullable,
  object,
  shape,
  Time,
  VersionId,
} from "../../api/shapes.ts";
import { parseTimestamp } from "../../api/timestamp.ts";
import { Validator } from "../../api/validate.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import { type Expiry, ifVersion } from "../../operation-facts.ts";
import type { PartOf, PartRequest } from "../../operations.ts";
import { invalid, Problem, within } from "../../problem.ts";
import { BlockedBy, Finding } from "./finding-schema.ts";

/** Ten years, seconds. */
const MAX_TTL_SECONDS = 315_360_000;
const SECOND_MS = 1_000;

/** The members of a write besides the agent, alone and in a batch. */
export const WRITE = {
  key: Key,
  value: Value,
  metadata: t.Optional(Metadata),
  expires_at: t.Optional({
    ...Timestamp,
    description: "When the entry ends by itself: an RFC 3339 time in the future, such as 2027-01-31T08:00:00Z.",
    examples: ["2027-01-31T08:00:00Z"],
  }),
  ttl_seconds: optionalInteger(1, MAX_TTL_SECONDS, "After how many seconds the entry ends by itself"),
};

/** Returns the input of a write, alone or in a batch. */
export const writeInput = (agentId: string, body: Static<TObject<typeof WRITE>>) => ({
  agentId,
  key: body.key,
  value: body.value,
  metadata: body.metadata ?? {},
  ...expiryIn(body),
});

/** Returns the expiry time of a request. @throws {Problem} when the request states it twice */
function expiryIn({ expires_at: at, ttl_seconds: seconds }: Static<TObject<typeof WRITE>>): { expiry?: Expiry } {
  if (at !== undefined && seconds !== undefined) {
    throw invalid('Send "expires_at" or "ttl_seconds", not both.', "ttl_seconds");
  }
  if (seconds !== undefined) return { expiry: { afterMs: seconds * SECOND_MS } };
  return at === undefined ? {} : { expiry: { atMs: parseTimestamp(at) as number } };
}

const IF_VERSION_WORDS = "Apply only if the entry has this version (its `audit_id`)";

/** The version that an entry must have, as a member of a body. */
export const IF_VERSION = {
  if_version: t.Optional(
    component(
      "IfVersion",
      t.Union([EventId, t.Null()], { description: `${IF_VERSION_WORDS}, or, with null, only if it does not exist.` }),
    ),
  ),
};

/** The value of the query parameter for "the entry must not exist". */
export const NO_VERSION = "null";

/** The same as a query parameter. */
export const IfVersionText = t.String({
  pattern: `^(aud_[0-9a-z]{26}|${NO_VERSION})$`,
  description: `${IF_VERSION_WORDS}, or, with the word ${NO_VERSION}, only if it does not exist.`,
  examples: ["aud_01jz8v5q2pf0tbq3y8r6w1m9ck"],
});

/** The response to a deletion and to an erasure. */
export const DeletedOrErased = shape("DeletedOrErased", {
  deleted: countOf("How many entries were removed."),
  erased_events: t.Optional(countOf("With erase=true: audit events whose details are destroyed.")),
  audit_id: AuditId,
});

const Stored = shape(
  "WriteStored",
  {
    allowed: t.Literal(true),
    audit_id: AuditId,
    message: t.String({ examples: ["Stored."] }),
    redacted: t.Optional(
      t.Literal(true, { description: "What was found in mode `redact` is replaced in what is stored." }),
    ),
    findings: t.Optional(t.Array(Finding, { description: "What was found, with offsets in the text as sent." })),
  },
  "The entry is stored.",
);

export const WriteBlocked = shape(
  "WriteBlocked",
  {
    allowed: t.Literal(false),
    blocked_by: BlockedBy,
    message: t.String({ description: "What was found, and what to do." }),
    findings: t.Array(Finding),
    retry_after_seconds: t.Optional(
      t.Integer({ minimum: 1, description: "When a limit refuses it that time resolves: after how many seconds." }),
    ),
  },
  "Blocked by a policy: nothing was stored.",
);

export const WriteResult = component(
  "WriteResult",
  t.Unsafe<Static<typeof Stored> | Static<typeof WriteBlocked>>({ oneOf: [Stored, WriteBlocked] }),
);

/** Of what is set aside, which only people see. */
const MARKED = {
  quarantined: t.Optional(t.Literal(true, { description: "It is set aside: no program sees it. Absent otherwise." })),
};

const stored = { key: Key, value: Value, metadata: Metadata, created_at: Time, updated_at: Time, ...MARKED };

/** Entries of a checkpoint's state. */
export const StateEntry = shape("StateEntry", stored);

export const Entry = shape("Entry", {
  agent_id: AgentId,
  key: Key,
  value: Value,
  as_of: t.Optional(AsOfShown),
  ...MARKED,
});

/** The version of an entry in a result. */
const EntryVersion = component("EntryVersion", {
  ...EventId,
  description: "The version of the entry: the audit event that wrote it.",
});

export const FullEntry = shape("FullEntry", {
  agent_id: AgentId,
  ...stored,
  audit_id: EntryVersion,
  config_version: nullable({ ...VersionId, description: "The config in force when it was written." }),
  written_by: { ...Actor, description: "The actor who wrote it." },
  expires_at: nullable(Time),
  as_of: t.Optional(AsOfShown),
});

/** A page of the history of an entry. */
export const EntryVersionList = component(
  "EntryVersionList",
  listOf(
    shape("EntryVersionItem", {
      version: EntryVersion,
      key: Key,
      written_at: Time,
      written_by: { ...Actor, description: "The actor who wrote it." },
      ended_at: nullable({
        ...Time,
        description: "When it was overwritten, deleted or replaced; null: it is present.",
      }),
      ended_by: nullable(
        shape("VersionEnd", { audit_id: EventId, operation: t.String({ examples: ["data.write"] }) }, "What ended it."),
      ),
      reverted_from: t.Optional({ ...EntryVersion, description: "The version whose content it is, after a revert." }),
      quarantined: t.Boolean({ description: "Whether it is set aside." }),
      value: t.Optional({ ...Value, description: "Present with include_values=true." }),
      metadata: t.Optional(Metadata),
    }),
    { kept_since: { ...Time, description: "What ended before this time is gone." } },
  ),
);

const Group = shape("EntryGroup", {
  prefix: t.String({
    description: "What the keys begin with, up to and including the delimiter.",
    examples: ["notes/"],
  }),
  entries: countOf("How many entries have such a key."),
});

const LISTED = {
  ...stored,
  size: countOf("Bytes of the value as UTF-8."),
  audit_id: EntryVersion,
  expires_at: nullable(Time),
  value: t.Optional({ ...Value, description: "Present with include_values=true." }),
};

export const EntryList = component(
  "EntryList",
  listOf(
    shape("EntryItem", {
      ...LISTED,
      below: t.Optional(
        t.Array(t.Unsafe<Static<TObject<typeof LISTED>>>({ $ref: "#/components/schemas/EntryItem" }), {
          description: "With `below`: the entries below it, by key. They have no such member.",
        }),
      ),
    }),
    {
      prefixes: t.Optional(
        t.Array(Group, { description: "With `delimiter`: every group of the list, in the order of their keys." }),
      ),
      total: t.Optional(countOf("With `count=true`: the entries on all pages, without those in groups.")),
      as_of: t.Optional(AsOfShown),
    },
  ),
);

const Found = shape("SearchHit", {
  ...stored,
  similarity: t.Number({ minimum: 0, maximum: 1, examples: [0.858678] }),
  audit_id: EntryVersion,
  expires_at: nullable(Time),
  similar: t.Optional(t.Array(Key, { description: "With `collapse`: the keys of the results that became this one." })),
});

export const SearchResult = shape("SearchResult", {
  data: t.Array(Found),
  model: t.String({ description: "What ranked the results.", examples: ["governd-words-1"] }),
});

/** The most operations of a batch. */
const MAX_OPERATIONS = 1000;

const operation = <W extends string, P extends TProperties>(name: string, word: W, members: P) =>
  shape(name, { op: t.Literal(word), ...members });

/** The operations of a batch, by the value of `op`. */
const BATCH_OPERATIONS = {
  write: operation("BatchWrite", "write", { ...WRITE, ...IF_VERSION }),
  delete: operation("BatchDelete", "delete", { key: Key, ...IF_VERSION }),
  read: operation("BatchRead", "read", { key: Key }),
};

const WORDS = Object.keys(BATCH_OPERATIONS)
  .map((word) => `"${word}"`)
  .join(", ");

export const Batch = object({
  agent_id: AgentId,
  atomic: flag("Whether nothing is applied when a write is blocked or a precondition fails", true),
  operations: t.Array(t.Union(Object.values(BATCH_OPERATIONS)), {
    minItems: 1,
    maxItems: MAX_OPERATIONS,
    description: `1 to ${MAX_OPERATIONS} operations, each an object whose member "op" is one of ${WORDS}.`,
    examples: [
      [
        { op: "write", key: "customers/42/summary", value: "Prefers mornings.", if_version: null },
        { op: "delete", key: "customers/42/draft" },
        { op: "read", key: "customers/42/plan" },
      ],
    ],
  }),
});

type BatchOperation = Static<(typeof BATCH_OPERATIONS)[keyof typeof BATCH_OPERATIONS]>;

const VALIDATORS = new Map<JsonValue | undefined, Validator<TObject>>(
  Object.entries(BATCH_OPERATIONS).map(([word, schema]) => [word, new Validator(schema, "member")]),
);

/** Returns the problem with the first operation of a batch that is not valid, or null. */
export function explainBatch({ operations }: JsonObject): Problem | null {
  if (!Array.isArray(operations)) return null;
  for (const [index, one] of operations.entries()) {
    const problem = explainOperation(one);
    if (problem === null) continue;
    return within(`operations[${index}]`, problem);
  }
  return null;
}

function explainOperation(one: JsonValue): Problem | null {
  if (!isJsonObject(one)) return invalid("An operation is an object.");
  const validator = VALIDATORS.get(one.op);
  if (validator === undefined) return invalid(`The member "op" must be one of ${WORDS}.`, "op");
  try {
    validator.parse(one);
    return null;
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

/** Returns the request for one operation of a batch. */
export function partOfBatch(agentId: string, one: BatchOperation, index: number): PartRequest<PartOf<"data.batch">> {
  if (one.op === "write") {
    try {
      return { name: "data.write", input: { ...writeInput(agentId, one), ...conditionOf(one) } };
    } catch (error) {
      throw error instanceof Problem ? within(`operations[${index}]`, error) : error;
    }
  }
  const input = { agentId, key: one.key };
  return one.op === "read"
    ? { name: "data.read", input }
    : { name: "data.delete", input: { ...input, ...conditionOf(one) } };
}

const conditionOf = ({ if_version: version }: { if_version?: string | null }) =>
  version === undefined ? {} : { condition: ifVersion(version) };

const RESULTS = [
  Stored,
  WriteBlocked,
  shape("BatchDeleted", { deleted: countOf("1, or 0 when there is no such entry."), audit_id: AuditId }),
  shape("BatchFound", { found: t.Literal(true), ...stored, audit_id: EntryVersion, expires_at: nullable(Time) }),
  shape("BatchNotFound", { found: t.Literal(false), key: Key }, "There is no such entry."),
  shape(
    "BatchConflict",
    { conflict: t.Literal(true), current_version: nullable(EventId) },
    "`if_version` did not hold.",
  ),
  shape("BatchSkipped", { skipped: t.Literal(true) }, "Not carried out, since another operation was refused."),
];

export const BatchResult = shape("BatchResult", {
  applied: t.Boolean({ description: "False when the batch is atomic and an operation was refused." }),
  results: t.Array(t.Unsafe<Static<(typeof RESULTS)[number]>>({ oneOf: RESULTS }), {
    description: "One result for each operation, in order.",
  }),
});

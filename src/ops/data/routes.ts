/** The HTTP routes of governed data. */

import { isDeepStrictEqual } from "node:util";
import { Type as t } from "@sinclair/typebox";
import {
  AgentId,
  Below,
  Delimiter,
  FilterField,
  flag,
  Key,
  NonEmptyPrefix,
  optionalInteger,
  PAGE_PARAMETERS,
  Prefix,
  SORTING,
} from "../../api/fields.ts";
import { parseFilter } from "../../api/filter.ts";
import { AsOfField, asOfIn } from "../../api/moment.ts";
import { listInput } from "../../api/page.ts";
import { route } from "../../api/route.ts";
import { EventId, object } from "../../api/shapes.ts";
import { ifVersion, type VersionCondition } from "../../operation-facts.ts";
import { NO_MOMENT_CODES } from "../../operations.ts";
import { invalid } from "../../problem.ts";
import {
  Batch,
  BatchResult,
  DeletedOrErased,
  Entry,
  EntryList,
  EntryVersionList,
  explainBatch,
  FullEntry,
  IF_VERSION,
  IfVersionText,
  NO_VERSION,
  partOfBatch,
  SearchResult,
  WRITE,
  WriteResult,
  writeInput,
} from "./schema.ts";

/** The largest and the default number of results of one search. */
const MAX_SEARCH_LIMIT = 100;
const DEFAULT_SEARCH_LIMIT = 10;
/** The longest query of a search, UTF-16 code units. */
const MAX_QUERY_LENGTH = 8192;

const EntryQuery = object({ agent_id: AgentId, key: Key, as_of: t.Optional(AsOfField) });
const erase = flag("Whether to erase for good");

const ERASE =
  "With `erase=true` it is erased for good, also from every checkpoint, and the details of every audit event about it are destroyed; the events stay and still verify. This needs a key of scope `full`.";

interface ListRequest {
  agent_id: string;
  prefix?: string;
  include_values?: boolean;
  sort?: "key" | "updated_at";
  order?: "asc" | "desc";
  as_of?: string;
}

/** Returns the common input of lists and queries. Defaults are left out, so that cursors do not depend on them. */
const listedBy = ({ agent_id, prefix = "", include_values = false, sort, order, as_of }: ListRequest) => ({
  agentId: agent_id,
  prefix,
  includeValues: include_values,
  ...(sort === "updated_at" ? { sort } : {}),
  ...(order === "desc" ? { order } : {}),
  ...asOfIn(as_of),
});

/** Returns the condition of a request as a member of the input. @throws {Problem} when header and member differ */
function conditionIn(header: VersionCondition | undefined, version: string | null | undefined) {
  const member = version === undefined ? undefined : ifVersion(version);
  if (header !== undefined && member !== undefined && !isDeepStrictEqual(header, member)) {
    throw invalid(
      "if_version and the precondition header differ. Send one of them, or the same in both.",
      "if_version",
    );
  }
  const condition = member ?? header;
  return condition === undefined ? {} : { condition };
}

interface DeleteRequest {
  query: { agent_id: string; key: string; if_version?: string };
  condition: VersionCondition | undefined;
}

function toDelete({ query, condition }: DeleteRequest) {
  const version = query.if_version === NO_VERSION ? null : query.if_version;
  return { agentId: query.agent_id, key: query.key, ...conditionIn(condition, version) };
}

export const dataRoutes = [
  route({
    operation: "data.write",
    at: "POST /v1/data/write",
    body: object({ agent_id: AgentId, ...WRITE, ...IF_VERSION }),
    input: ({ body, condition }) => ({
      ...writeInput(body.agent_id, body),
      ...conditionIn(condition, body.if_version),
    }),
    conditional: true,
    summary: "Write an entry",
    description:
      "Screens key, value and metadata by the agent's policies, then stores the entry or blocks the write. Both return 200; `allowed` says which. A blocked write only adds an audit event. `audit_id` is the version of the stored entry, which the ETag has, too.",
    response: { etag: true, description: "Stored, or blocked by a policy.", schema: WriteResult },
  }),

  route({
    operation: "data.write",
    name: "data.revert",
    at: "POST /v1/data/revert",
    body: object({
      agent_id: AgentId,
      key: Key,
      version: { ...EventId, description: "The version whose content is written again: the `audit_id` of its write." },
      ...IF_VERSION,
    }),
    input: ({ body, condition }) => ({
      agentId: body.agent_id,
      key: body.key,
      revertTo: body.version,
      ...conditionIn(condition, body.if_version),
    }),
    conditional: true,
    summary: "Write an earlier version again",
    description:
      "Writes the content of a version as a new one, which does not end by itself, under the policies in force now. `GET /v1/data/versions` lists the versions. The event is a `data.write` with `reverted_from`.",
    response: { etag: true, description: "Stored, or blocked by a policy.", schema: WriteResult },
    problems: ["version_not_found", "version_gone", "version_quarantined"],
  }),

  route({
    operation: "data.batch",
    at: "POST /v1/data/batch",
    body: Batch,
    explain: explainBatch,
    input: ({ body }) => ({
      agentId: body.agent_id,
      atomic: body.atomic ?? true,
      parts: body.operations.map((one, index) => partOfBatch(body.agent_id, one, index)),
    }),
    summary: "Write, delete and read entries in one transaction",
    description:
      "The operations run in order, and each sees the effects of those before it. When the batch is atomic and a write is blocked or a precondition fails, nothing is applied: each refused operation says why, the others are skipped and leave no event. Otherwise each operation is decided on its own. A suspended agent or a full workspace refuses the whole batch.",
    response: { description: "The results, whether or not they were applied.", schema: BatchResult },
  }),

  route({
    operation: "data.read",
    at: "GET /v1/data/read",
    query: EntryQuery,
    input: ({ query }) => ({ agentId: query.agent_id, key: query.key, ...asOfIn(query.as_of) }),
    summary: "Read an entry",
    description:
      "Returns the value; `/v1/data/read-full` also returns the metadata and where the entry comes from. The ETag is the version of the entry.",
    response: { description: "The entry.", schema: Entry, etag: true },
    problems: ["entry_not_found", ...NO_MOMENT_CODES],
  }),

  route({
    operation: "data.read_full",
    at: "GET /v1/data/read-full",
    query: EntryQuery,
    input: ({ query }) => ({ agentId: query.agent_id, key: query.key, ...asOfIn(query.as_of) }),
    summary: "Read an entry with its metadata",
    description: "The entry, its metadata, its times, and the audit event that wrote it.",
    response: { description: "The entry.", schema: FullEntry, etag: true },
    problems: ["entry_not_found", ...NO_MOMENT_CODES],
  }),

  route({
    operation: "data.versions",
    at: "GET /v1/data/versions",
    query: object({
      agent_id: AgentId,
      key: Key,
      include_values: flag("Whether to return the values and metadata too"),
      limit: PAGE_PARAMETERS.limit,
      cursor: PAGE_PARAMETERS.cursor,
    }),
    input: ({ query: { agent_id: agentId, key, include_values: includeValues = false, ...page } }) =>
      listInput("data.versions", { agentId, key, includeValues }, page),
    summary: "List the versions of an entry",
    description:
      "Every write of the key that is kept, the newest first: the present version, and those that were overwritten, deleted or replaced by a restore within the days of its history. What ended before `kept_since` is gone.",
    response: { description: "One page of versions.", schema: EntryVersionList },
    problems: ["entry_not_found"],
  }),

  route({
    operation: "data.erase",
    name: "data.erase_version",
    at: "DELETE /v1/data/versions",
    query: object({
      agent_id: AgentId,
      key: Key,
      version: { ...EventId, description: "The version to erase: the `audit_id` of its write." },
    }),
    input: ({ query: { agent_id: agentId, key, version } }) => ({ agentId, key, version }),
    summary: "Erase one version of an entry",
    description:
      "Destroys the content of a version that has ended, also in checkpoints and stored answers, and the details of the event that wrote it. The event stays and still verifies. The other versions stay.",
    response: { description: "The erasure.", schema: DeletedOrErased },
    problems: ["version_not_found", "version_present"],
  }),

  route({
    operation: "data.list",
    at: "GET /v1/data/list",
    query: object({
      agent_id: AgentId,
      prefix: t.Optional(Prefix),
      include_values: flag("Whether to return the values too"),
      ...SORTING,
      count: flag("Whether to return how many entries the list has on all its pages"),
      delimiter: t.Optional(Delimiter),
      as_of: t.Optional(AsOfField),
      ...PAGE_PARAMETERS,
    }),
    input: ({ query }) =>
      listInput(
        "data.list",
        {
          ...listedBy(query),
          ...(query.count ? { count: true } : {}),
          ...(query.delimiter === undefined ? {} : { delimiter: query.delimiter }),
        },
        query,
      ),
    summary: "List entries",
    description:
      "Sorted by key in UTF-8 byte order, or by the time of the last write. With a delimiter, keys that contain it behind the prefix are grouped like files in folders: every page has all groups in `prefixes`, and grouped keys are not in `data`. A key that ends with its first delimiter is in `data`.",
    response: { description: "One page of entries.", schema: EntryList },
    problems: NO_MOMENT_CODES,
  }),

  route({
    operation: "data.query",
    at: "POST /v1/data/query",
    body: object({
      agent_id: AgentId,
      prefix: t.Optional(Prefix),
      filter: t.Optional(FilterField),
      below: t.Optional(Below),
      ...SORTING,
      limit: PAGE_PARAMETERS.limit,
      cursor: PAGE_PARAMETERS.cursor,
      include_values: flag("Whether to return the values too"),
      as_of: t.Optional(AsOfField),
    }),
    input: ({ body }) =>
      listInput(
        "data.query",
        {
          ...listedBy(body),
          filter: parseFilter(body.filter ?? {}),
          ...(body.below === undefined ? {} : { below: body.below }),
        },
        body,
      ),
    summary: "Query entries by their metadata",
    description:
      "The entries whose metadata matches the filter, in the form of a list. A dot in a name descends into objects, and `\\.` is a dot. Values compare only with values of the same JSON type.",
    response: { description: "One page of entries.", schema: EntryList },
    problems: NO_MOMENT_CODES,
  }),

  route({
    operation: "data.search",
    at: "POST /v1/data/search",
    body: object({
      agent_id: AgentId,
      query: t.String({
        minLength: 1,
        maxLength: MAX_QUERY_LENGTH,
        description: `What to look for, in words: 1 to ${MAX_QUERY_LENGTH} characters.`,
        examples: ["when does the customer like to be called"],
      }),
      limit: optionalInteger(1, MAX_SEARCH_LIMIT, "How many results", DEFAULT_SEARCH_LIMIT),
      prefix: t.Optional(Prefix),
      min_similarity: t.Optional(
        t.Number({
          minimum: 0,
          maximum: 1,
          default: 0,
          description: "Leave out results less similar than this: a number from 0 to 1.",
        }),
      ),
      collapse: flag("Whether nearly equal texts become one result"),
      filter: t.Optional(FilterField),
    }),
    input: ({ body }) => ({
      agentId: body.agent_id,
      query: body.query,
      limit: body.limit ?? DEFAULT_SEARCH_LIMIT,
      prefix: body.prefix ?? "",
      minSimilarity: body.min_similarity ?? 0,
      ...(body.collapse === true ? { collapse: true } : {}),
      ...(body.filter === undefined ? {} : { filter: parseFilter(body.filter) }),
    }),
    summary: "Search entries",
    description: "The entries whose text is most like the query, best first.",
    response: { description: "The results.", schema: SearchResult },
  }),

  route({
    operation: "data.delete",
    at: "DELETE /v1/data",
    query: object({ agent_id: AgentId, key: Key, erase, if_version: t.Optional(IfVersionText) }),
    input: toDelete,
    variant: { operation: "data.erase", input: (request) => (request.query.erase ? toDelete(request) : null) },
    conditional: true,
    summary: "Delete an entry",
    description: `Reads no longer find the entry. Checkpoints that hold it keep it. ${ERASE}`,
    response: { description: "The deletion.", schema: DeletedOrErased },
    problems: ["entry_not_found"],
  }),

  route({
    operation: "data.delete_prefix",
    at: "DELETE /v1/data/prefix",
    query: object({
      agent_id: AgentId,
      prefix: NonEmptyPrefix,
      confirm_count: t.Optional(
        t.Integer({
          minimum: 0,
          maximum: Number.MAX_SAFE_INTEGER,
          description: "Delete only if so many entries have the prefix, or none has it any more: an integer from 0.",
        }),
      ),
      erase,
    }),
    input: ({ query: { agent_id: agentId, prefix, confirm_count: count } }) => ({
      agentId,
      prefix,
      ...(count === undefined ? {} : { confirmedCount: count }),
    }),
    variant: {
      operation: "data.erase",
      input: ({ query: { agent_id: agentId, prefix, erase: wantsErasure, confirm_count: count } }) => {
        if (!wantsErasure) return null;
        if (count === undefined) return { agentId, prefix };
        throw invalid('An erasure takes no "confirm_count". Leave it out.', "confirm_count");
      },
    },
    summary: "Delete entries by prefix",
    description: `Every entry whose key begins with the prefix, all in one transaction. \`erase\` means what it means for one entry.`,
    response: { description: "The deletion; `deleted` may be 0.", schema: DeletedOrErased },
    problems: ["count_mismatch"],
  }),
];

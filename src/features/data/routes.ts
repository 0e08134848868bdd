/** The HTTP routes of governed data. */

import { listInput } from "../../http/page.ts";
import { route } from "../../http/route.ts";
import {
  DEFAULT_SEARCH_LIMIT,
  DeletedOrErased,
  DeletePrefixQuery,
  DeleteQuery,
  Entry,
  EntryList,
  EntryQuery,
  FullEntry,
  ListQuery,
  SearchBody,
  SearchResult,
  WriteBody,
  WriteResult,
} from "./schema.ts";

const write = route({
  operation: "data.write",
  method: "POST",
  path: "/v1/data/write",
  body: WriteBody,
  input: ({ body }) => ({ agentId: body.agent_id, key: body.key, value: body.value, metadata: body.metadata ?? {} }),
  docs: {
    summary: "Write an entry",
    description:
      "Screens key, value and metadata by the agent's policies, then stores the entry or blocks the write. Both return 200; `allowed` says which. A blocked write only adds an audit event.",
    response: {
      description: "Stored, or blocked by a policy.",
      schema: WriteResult,
      example: { allowed: true, audit_id: "aud_01jz8v6s3yf0abm5q2x9k7n4tc", message: "Stored." },
    },
    requestExample: {
      agent_id: "support-bot",
      key: "customers/42/summary",
      value: "Prefers to be contacted in the morning.",
      metadata: { source: "crm", confidence: 0.9 },
    },
  },
});

const read = route({
  operation: "data.read",
  method: "GET",
  path: "/v1/data/read",
  query: EntryQuery,
  input: ({ query }) => ({ agentId: query.agent_id, key: query.key }),
  docs: {
    summary: "Read an entry",
    description: "Returns the value; `/v1/data/read-full` also returns the metadata and where the entry comes from.",
    response: { description: "The entry.", schema: Entry },
    problems: ["entry_not_found"],
  },
});

const readFull = route({
  operation: "data.read_full",
  method: "GET",
  path: "/v1/data/read-full",
  query: EntryQuery,
  input: ({ query }) => ({ agentId: query.agent_id, key: query.key }),
  docs: {
    summary: "Read an entry with its metadata",
    description: "The entry, its metadata, its times, and the audit event that wrote it.",
    response: { description: "The entry.", schema: FullEntry },
    problems: ["entry_not_found"],
  },
});

const list = route({
  operation: "data.list",
  method: "GET",
  path: "/v1/data/list",
  query: ListQuery,
  input: ({ query }) =>
    listInput(
      "data.list",
      { agentId: query.agent_id, prefix: query.prefix ?? "", includeValues: query.include_values ?? false },
      query,
    ),
  docs: {
    summary: "List entries",
    description: "Sorted by key in UTF-8 byte order. A prefix is literal: `%`, `_` and `*` have no special meaning.",
    response: { description: "One page of entries.", schema: EntryList },
  },
});

const search = route({
  operation: "data.search",
  method: "POST",
  path: "/v1/data/search",
  body: SearchBody,
  input: ({ body }) => ({
    agentId: body.agent_id,
    query: body.query,
    limit: body.limit ?? DEFAULT_SEARCH_LIMIT,
    prefix: body.prefix ?? "",
    minSimilarity: body.min_similarity ?? 0,
  }),
  docs: {
    summary: "Search entries",
    description: "The entries whose text is most like the query, best first.",
    response: { description: "The results.", schema: SearchResult },
    requestExample: { agent_id: "support-bot", query: "when does the customer like to be called", limit: 3 },
  },
});

const ERASE =
  "With `erase=true` it is erased for good, also from every checkpoint, and the details of every audit event about it are destroyed; the events stay and still verify. This needs a key of scope `full`.";

const deleteEntry = route({
  operation: "data.delete",
  method: "DELETE",
  path: "/v1/data",
  query: DeleteQuery,
  input: ({ query }) => ({ agentId: query.agent_id, key: query.key }),
  variant: {
    operation: "data.erase",
    input: ({ query }) => (query.erase ? { agentId: query.agent_id, key: query.key } : null),
  },
  docs: {
    summary: "Delete an entry",
    description: `Reads no longer find the entry. Checkpoints that hold it keep it. ${ERASE}`,
    response: { description: "The deletion.", schema: DeletedOrErased },
    problems: ["entry_not_found"],
  },
});

const deletePrefix = route({
  operation: "data.delete_prefix",
  method: "DELETE",
  path: "/v1/data/prefix",
  query: DeletePrefixQuery,
  input: ({ query }) => ({ agentId: query.agent_id, prefix: query.prefix }),
  variant: {
    operation: "data.erase",
    input: ({ query }) => (query.erase ? { agentId: query.agent_id, prefix: query.prefix } : null),
  },
  docs: {
    summary: "Delete entries by prefix",
    description: `Every entry whose key begins with the prefix, all in one transaction. ${ERASE}`,
    response: { description: "The deletion; `deleted` may be 0.", schema: DeletedOrErased },
  },
});

export const dataRoutes = [write, read, readFull, list, search, deleteEntry, deletePrefix];

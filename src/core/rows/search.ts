/** Searches an agent's entries: by an index in memory, or by full text when the agent is too large for one. */
import type { AgentIndex } from "../../search/index/agent-index.ts";
import type { SearchOptions } from "../../search/index/ranking.ts";
import type { QueryVector } from "../../search/vectors/query-embedder.ts";
import type { Reader } from "../../store/transaction.ts";
import type { AgentState } from "./agents.ts";
import { readFullText } from "./full-text.ts";
import { type FullTextOptions, searchFullText } from "./full-text-search.ts";
import { findMatching } from "./listing/positions.ts";
import type { SearchIndexes } from "./search-indexes.ts";

export type { QueryEmbedder } from "../../search/vectors/query-embedder.ts";

interface AgentSearch {
  workspaceId: string;
  agent: AgentState;
  query: string;
  options: FullTextOptions;
  /** The vector of the query by the external model, if there is one. */
  queryVector?: QueryVector | null;
}

/**
 * Returns the hits, and whether the workspace's writer should make full text, since the agent is too large for an index
 * and has no full text yet. While the full text is incomplete or lags, the index is searched, whatever its size.
 */
export async function searchAgent(reader: Reader, indexes: SearchIndexes, search: AgentSearch) {
  const { workspaceId, agent, query, options } = search;
  let wantsFullText = false;
  if (indexes.isTooLarge(workspaceId, agent)) {
    const state = await readFullText(reader, agent);
    wantsFullText = state === null;
    const hits = state === null ? null : await searchFullText(reader, agent, state, search);
    if (hits !== null) {
      indexes.drop(workspaceId, agent);
      return { hits, wantsFullText };
    }
  }
  const { model = null, vector } = search.queryVector ?? {};
  const { filter, ...asked } = options;
  const limits: SearchOptions = asked;
  if (vector !== undefined) limits.queryVector = vector;
  if (filter !== undefined) limits.only = await findMatching(reader, agent, options.prefix, filter);
  const use = (index: AgentIndex) => index.search(query, limits);
  const hits = await indexes.with(reader, workspaceId, agent, use, model);
  return { hits, wantsFullText };
}

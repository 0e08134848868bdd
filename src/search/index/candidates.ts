import { AgentIndex } from "./agent-index.ts";
import type { SearchDocument } from "./document.ts";
import { contentTokens, MAX_QUERY_TERMS, queryTokens } from "./query.ts";
import type { CorpusStatistics, SearchHit, SearchOptions } from "./search-options.ts";

/**
 * How many candidates to take from a full-text search, for `rankCandidates` to find nearly always the
 * same first ten as an index of everything would (docs/search.md).
 */
export const CANDIDATES = 400;

/** An entry that a full-text search came up with. */
export interface Candidate {
  id: number;
  document: SearchDocument;
  /** What a model outside made of it. */
  vectors?: { model: string; vectors: readonly Float32Array[] };
}

/**
 * The words of a query by which to look for candidates: any entry that holds one is a candidate, the
 * best `CANDIDATES` by BM25 suffice. Letters and digits with punctuation inside, never empty; to be
 * quoted for whatever full-text search they are given to.
 */
export function searchTerms(query: string): string[] {
  return [...new Set(contentTokens(queryTokens(query)))].slice(0, MAX_QUERY_TERMS);
}

/**
 * Ranks entries that are not in memory, as an `AgentIndex` of the whole agent would. With `corpus` the
 * words weigh what they do in the whole agent, without it what they do among the candidates.
 */
export function rankCandidates(
  query: string,
  candidates: Iterable<Candidate>,
  options: Omit<SearchOptions, "candidates" | "corpus">,
  corpus?: CorpusStatistics,
): SearchHit[] {
  const index = new AgentIndex();
  try {
    for (const { id, document, vectors } of candidates) {
      index.add(id, document);
      if (vectors !== undefined) index.setVectors(id, vectors.model, vectors.vectors);
    }
    return index.search(query, corpus === undefined ? options : { ...options, corpus });
  } finally {
    index.close();
  }
}

/** The words by which a full-text search finds candidates, and the ranking of those candidates. */
import { STOP_WORDS } from "../words/stop-words.ts";
import { tokenize } from "../words/tokenize.ts";
import { stemOf } from "../words/vocabulary.ts";
import { AgentIndex } from "./agent-index.ts";
import { metadataStrings, type SearchDocument } from "./document.ts";
import { type CorpusStatistics, contentTokens, MAX_QUERY_TERMS, queryTokens } from "./query.ts";
import type { SearchHit, SearchOptions } from "./ranking.ts";

/**
 * Returns the words of an entry for a full-text search by `queryStems`: stems, without stop words, as
 * often as they occur. None holds white space.
 */
export function documentStems({ key, value, metadata }: SearchDocument): string[] {
  const tokens = [value, ...metadataStrings(metadata), key].flatMap((text) => tokenize(text));
  return tokens.filter((token) => !STOP_WORDS.has(token)).map(stemOf);
}

/** Returns the stems that find a query's candidates, each with the first of its tokens. */
export function queryStems(query: string): Map<string, string> {
  const stems = new Map<string, string>();
  for (const token of searchTerms(query)) {
    const stem = stemOf(token);
    if (!STOP_WORDS.has(token) && !stems.has(stem)) stems.set(stem, token);
  }
  return stems;
}

/**
 * How many candidates of a full-text search `rankCandidates` needs to find nearly always the same first
 * ten as an index of all entries (docs/search.md).
 */
export const CANDIDATES = 400;

/** An entry that a full-text search found. */
export interface Candidate {
  id: number;
  document: SearchDocument;
  /** Its vectors by an external model. */
  vectors?: { model: string; vectors: readonly Float32Array[] };
}

/**
 * Returns the words of a query that find candidates: any entry with one of them is a candidate, and the
 * best `CANDIDATES` by BM25 suffice. They hold no white space, may hold punctuation, are never empty, and
 * must be quoted for the full-text search.
 */
const searchTerms = (query: string): string[] =>
  [...new Set(contentTokens(queryTokens(query)))].slice(0, MAX_QUERY_TERMS);

/**
 * Ranks entries that are not in memory, as an `AgentIndex` of the whole agent would. Words weigh by their
 * frequencies in `corpus`, or without it among the candidates.
 */
export function rankCandidates(
  query: string,
  candidates: Iterable<Candidate>,
  options: Omit<SearchOptions, "corpus">,
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

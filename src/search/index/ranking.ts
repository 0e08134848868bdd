import { share, similarity, vectorWeight } from "./fusion.ts";
import type { QueryTerm } from "./query.ts";
import type { SearchHit, SearchOptions } from "./search-options.ts";
import { TopEntries } from "./top-entries.ts";

/** What was found out about each entry, by slot. */
export interface Scores {
  /** BM25. */
  lexical: Float32Array;
  /** Cosine of what in it is nearest to the query. */
  cosines: Float32Array;
}

/** Brings words and meaning together: the best of the eligible slots, as the ids of their entries. */
export function rank(
  terms: readonly QueryTerm[],
  eligible: Uint32Array,
  { lexical, cosines }: Scores,
  idOf: (slot: number) => number,
  { limit, minSimilarity = 0 }: SearchOptions,
): SearchHit[] {
  const total = terms.reduce((sum, { idf }) => sum + idf, 0) || 1;
  let best = 0;
  for (let i = 0; i < eligible.length; i++) best = Math.max(best, lexical[eligible[i] as number] as number);
  const weight = vectorWeight(best, total);
  const top = new TopEntries(limit);
  for (let i = 0; i < eligible.length; i++) {
    const slot = eligible[i] as number;
    const found = share((lexical[slot] as number) / total, cosines[slot] as number, weight);
    if (found > 0 && top.accepts(found)) top.offer(idOf(slot), found);
  }
  const hits = top.list().map(({ id, score }) => ({ id, similarity: similarity(score) }));
  return hits.filter((hit) => hit.similarity >= minSimilarity);
}

/** Combines words and meaning into one similarity, and keeps the best entries. */
import type { CorpusStatistics, QueryTerm } from "./query.ts";

export interface SearchOptions {
  /** The most results. */
  limit: number;
  /** Only entries whose key begins with this. */
  prefix?: string;
  /** Only entries with one of these ids. */
  only?: ReadonlySet<number>;
  /** Only entries at least this similar, 0 to 1; see `similarity`. */
  minSimilarity?: number;
  /** The vector of the query by the model of `setVectors`. */
  queryVector?: Float32Array;
  /** The frequencies of the whole agent, when the index holds only some of its entries. */
  corpus?: CorpusStatistics;
}

export interface SearchHit {
  id: number;
  /** 0 to 1; see `similarity`. */
  similarity: number;
}

/** The weight of the meaning relative to the words, for a query whose words are all found. */
const VECTOR_WEIGHT = 0.6;
/** Added to that weight when none of the words is found. */
const VECTOR_WEIGHT_UNMATCHED = 1;
/** How sharply `similarity` approaches 1. */
const BEND = 8;

/**
 * Returns the weight of the vectors for a query: the fewer of its words the best entry has, the more the
 * meaning decides. `bestLexical` and `total` are the best BM25 score and the sum of the terms' idf.
 */
function vectorWeight(bestLexical: number, total: number): number {
  const covered = total > 0 ? Math.min(1, bestLexical / total) : 0;
  return VECTOR_WEIGHT + VECTOR_WEIGHT_UNMATCHED * (1 - covered);
}

/**
 * Returns the share of a query that an entry holds: the mean of `lexical`, its BM25 score divided by the sum of the
 * terms' idf (1: every word once, in an entry of average length), and `cosine`, that of its nearest window, with
 * weights 1 and `weight`. It can exceed 1 when words occur often or the entry is short.
 */
function share(lexical: number, cosine: number, weight: number): number {
  return (lexical + weight * cosine) / (1 + weight);
}

/** Returns the API's `similarity`, 0 to 1: strictly monotone in the share, nearly equal to it below 0.7. */
function similarity(found: number): number {
  return found / (1 + found ** BEND) ** (1 / BEND);
}

/** The scores of each entry, by slot. */
interface Scores {
  /** BM25. */
  lexical: Float32Array;
  /** The cosine of its part that is nearest to the query. */
  cosines: Float32Array;
}

/**
 * Returns the best entries of the eligible slots, by words and meaning together; of equal ones the smaller ids first.
 */
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
  const top: { id: number; found: number }[] = [];
  for (let i = 0; i < eligible.length; i++) {
    const slot = eligible[i] as number;
    const found = share((lexical[slot] as number) / total, cosines[slot] as number, weight);
    const least = top[limit - 1];
    if (found <= 0 || (least !== undefined && found < least.found)) continue;
    const id = idOf(slot);
    // Entries may be copies of each other; those that come after the last result are skipped at once.
    if (least !== undefined && found === least.found && id > least.id) continue;
    const worse = top.findIndex((other) => found > other.found || (found === other.found && id < other.id));
    top.splice(worse < 0 ? top.length : worse, 0, { id, found });
    if (top.length > limit) top.pop();
  }
  const hits = top.map(({ id, found }) => ({ id, similarity: similarity(found) }));
  return hits.filter((hit) => hit.similarity >= minSimilarity);
}

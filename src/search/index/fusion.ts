/** Weight of the meaning of a query whose words are all found, relative to that of its words. */
export const VECTOR_WEIGHT = 0.6;
/** What is added to it when none of the words is found. */
export const VECTOR_WEIGHT_UNMATCHED = 1;
/** How sharply `similarity` bends towards 1. */
const BEND = 8;

/**
 * Weight of the vectors for a query: the less of its words the best entry has, the more the meaning
 * must decide. `bestLexical` and `total` are the best BM25 score and the sum of the terms' idf.
 */
export function vectorWeight(bestLexical: number, total: number): number {
  const covered = total > 0 ? Math.min(1, bestLexical / total) : 0;
  return VECTOR_WEIGHT + VECTOR_WEIGHT_UNMATCHED * (1 - covered);
}

/**
 * Which share of what the query says is found in an entry. `lexical` is its BM25 score divided by the
 * sum of the terms' idf (1: every word once, in an entry of average length), `cosine` that of its
 * nearest window; the two are averaged with weights 1 and `weight`. It can exceed 1, when words occur
 * often or the entry is short.
 */
export function share(lexical: number, cosine: number, weight: number): number {
  return (lexical + weight * cosine) / (1 + weight);
}

/** The `similarity` of the API, 0 to 1, strictly monotone in the share and nearly equal to it below 0.7. */
export function similarity(found: number): number {
  return found / (1 + found ** BEND) ** (1 / BEND);
}

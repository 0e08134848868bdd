/** Weight of the meaning of a query whose words are all found, relative to that of its words. */
export const VECTOR_WEIGHT = 0.6;
/** What is added to it when none of the words is found. */
export const VECTOR_WEIGHT_UNMATCHED = 1;
/** How sharply `similarity` bends towards 1: below about 0.7 it is the plain share. */
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
 * The similarity of an entry, 0 to 1: which share of what the query says is found in it. `lexical`
 * is its BM25 score divided by the sum of the terms' idf (1: every word once, in an entry of average
 * length), `cosine` that of its nearest window; the two are averaged with weights 1 and `weight`.
 * Strictly monotone in both.
 */
export function similarity(lexical: number, cosine: number, weight: number): number {
  const share = (lexical + weight * cosine) / (1 + weight);
  return share / (1 + share ** BEND) ** (1 / BEND);
}

export interface SearchOptions {
  /** Results at most. */
  limit: number;
  /** Only entries whose key begins with this. */
  prefix?: string;
  /** Only entries at least this similar, 0 to 1; see `similarity`. */
  minSimilarity?: number;
  /** Only these entries; ids that the index lacks are passed over. The cost is that of the candidates. */
  candidates?: Iterable<number>;
  /** The query as the model sees it whose vectors the entries were given; see `setVectors`. */
  queryVector?: Float32Array;
  /** Frequencies of the whole agent, when the index holds only some of its entries. */
  corpus?: CorpusStatistics;
}

/** What BM25 must know of entries that it does not see. */
export interface CorpusStatistics {
  /** Entries of the agent. */
  entries: number;
  /** How many of them hold a word, as `searchTerms` gives it. */
  frequencyOf(token: string): number;
}

export interface SearchHit {
  id: number;
  /** 0 to 1; see `similarity`. */
  similarity: number;
}

import { type Embedder, EmbeddingError } from "./embedder.ts";

/** What a search waits for its query's vector at most, ms; then the built-in model answers alone. */
const QUERY_TIMEOUT_MS = 1_000;
/** After a model that was away or slow it is not asked for this long, so that not every search waits. */
const RETRY_AFTER_MS = 5_000;

const SLOW = `the embeddings server gave no vector of a query within ${QUERY_TIMEOUT_MS} ms; the built-in model answers`;

/** A query as a model outside sees it. */
export interface QueryVector {
  model: string;
  vector: Float32Array;
}

/** Vectors of queries, within a bounded time. */
export class QueryEmbedder {
  readonly #embedder: () => Promise<Embedder>;
  readonly #monotonicMs: () => number;
  readonly #onFailure: (error: unknown) => void;
  #notBeforeMs = 0;

  constructor(
    embedder: () => Promise<Embedder>,
    onFailure: (error: unknown) => void,
    monotonicMs = () => performance.now(),
  ) {
    this.#embedder = embedder;
    this.#onFailure = onFailure;
    this.#monotonicMs = monotonicMs;
  }

  /** Null while the model is away, slow or faulty. */
  async embed(query: string): Promise<QueryVector | null> {
    if (this.#monotonicMs() < this.#notBeforeMs) return null;
    const signal = AbortSignal.timeout(QUERY_TIMEOUT_MS);
    try {
      const embedder = await this.#embedder();
      const [vector] = await embedder.embed([query], signal);
      return vector === undefined ? null : { model: embedder.model, vector };
    } catch (error) {
      this.#notBeforeMs = this.#monotonicMs() + RETRY_AFTER_MS;
      this.#onFailure(signal.aborted ? new EmbeddingError(SLOW, true) : error);
      return null;
    }
  }
}

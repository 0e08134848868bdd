import { type Embedder, EmbeddingError } from "./embedder.ts";
import { Outage, type Pauses } from "./outage.ts";

/** What a search waits for its query's vector at most, ms; then the built-in model answers alone. */
const QUERY_TIMEOUT_MS = 1_000;
/** A model that was away or slow is not asked for this long, so that not every search waits. */
const PAUSES: Pauses = { firstMs: 5_000, longestMs: 60_000 };

const SLOW = `the embeddings server gave no vector of a query within ${QUERY_TIMEOUT_MS} ms; the built-in model answers`;

/** A query as a model outside sees it. */
export interface QueryVector {
  model: string;
  vector: Float32Array;
}

/** What is worth telling: the first failure of an outage, and its end with their number. */
export interface OutageEvents {
  onFailure(error: unknown): void;
  onRecovery(failures: number): void;
}

/** Vectors of queries, within a bounded time. */
export class QueryEmbedder {
  readonly #embedder: () => Promise<Embedder>;
  readonly #monotonicMs: () => number;
  readonly #events: OutageEvents;
  readonly #outage = new Outage();
  #notBeforeMs = 0;

  constructor(
    embedder: () => Promise<Embedder>,
    events: OutageEvents,
    monotonicMs = () => performance.now(),
  ) {
    this.#embedder = embedder;
    this.#events = events;
    this.#monotonicMs = monotonicMs;
  }

  /** Null while the model is away, slow or faulty. */
  async embed(query: string): Promise<QueryVector | null> {
    if (this.#monotonicMs() < this.#notBeforeMs) return null;
    const signal = AbortSignal.timeout(QUERY_TIMEOUT_MS);
    try {
      const embedder = await this.#embedder();
      const [vector] = await embedder.embed([query], signal);
      const failures = this.#outage.end();
      if (failures > 0) this.#events.onRecovery(failures);
      return vector === undefined ? null : { model: embedder.model, vector };
    } catch (error) {
      const failure = signal.aborted ? new EmbeddingError(SLOW, true) : error;
      const { pauseMs, isNews } = this.#outage.fail(String(failure), PAUSES);
      this.#notBeforeMs = this.#monotonicMs() + pauseMs;
      if (isNews) this.#events.onFailure(failure);
      return null;
    }
  }
}

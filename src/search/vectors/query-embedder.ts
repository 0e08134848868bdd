import { type Embedder, EmbeddingError } from "./embedder.ts";
import { Outage, type Pauses } from "./outage.ts";

/** The longest that a search waits for its query's vector, ms. Then it uses only the built-in model. */
const QUERY_TIMEOUT_MS = 1_000;
/** The backoff after a failure or a timeout, so that not every search waits. */
const PAUSES: Pauses = { firstMs: 5_000, longestMs: 60_000 };

const SLOW = `the embeddings server returned no vector for a query within ${QUERY_TIMEOUT_MS} ms; searches use the built-in model`;

/** The vector of a query by an external model. */
export interface QueryVector {
  model: string;
  vector: Float32Array;
}

/** What is logged: the first failure of an outage, and its end with the number of failures. */
interface OutageEvents {
  onFailure(error: unknown): void;
  onRecovery(failures: number): void;
}

/** Makes vectors of queries within a bounded time. */
export class QueryEmbedder {
  readonly #outage = new Outage();
  #notBeforeMs = 0;

  constructor(
    private readonly embedder: () => Promise<Embedder>,
    private readonly events: OutageEvents,
    private readonly monotonicMs = () => performance.now(),
  ) {}

  /** Returns null while the model is unreachable, slow or faulty. */
  async embed(query: string): Promise<QueryVector | null> {
    if (this.monotonicMs() < this.#notBeforeMs) return null;
    const signal = AbortSignal.timeout(QUERY_TIMEOUT_MS);
    try {
      const embedder = await this.embedder();
      const [vector] = await embedder.embed([query], signal);
      const failures = this.#outage.end();
      if (failures > 0) this.events.onRecovery(failures);
      return vector === undefined ? null : { model: embedder.model, vector };
    } catch (error) {
      const failure = signal.aborted ? new EmbeddingError(SLOW, true) : error;
      const { pauseMs, isNews } = this.#outage.fail(String(failure), PAUSES);
      this.#notBeforeMs = this.monotonicMs() + pauseMs;
      if (isNews) this.events.onFailure(failure);
      return null;
    }
  }
}

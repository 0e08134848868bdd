/**
 * Makes vectors with an external model in the background: for one workspace of the thread after another, a batch at a
 * time. Operations continue while the model works; only storing the vectors takes a turn of the queue.
 */

import { type EmbeddingBatch, ensureEmbeddingTables, nextBatch, storeVectors } from "../core/rows/embeddings.ts";
import { type Embedder, EmbeddingError } from "../search/vectors/embedder.ts";
import { Outage, type Pauses } from "../search/vectors/outage.ts";
import type { Connection } from "../store/connection.ts";

/** How long to wait for further writes before a batch begins, ms. */
const GATHER_MS = 50;
/** The pauses before another request to a model that does not answer, and to one that refused. */
const AWAY_PAUSES: Pauses = { firstMs: 5_000, longestMs: 60_000 };
const REFUSED_PAUSES: Pauses = { firstMs: 60_000, longestMs: 600_000 };

interface EmbeddingUpkeepOptions {
  embedder: () => Promise<Embedder>;
  /** Runs work on a workspace in a transaction, after all work that already waits. */
  run: <T>(workspaceId: string, work: (connection: Connection) => Promise<T>) => Promise<T>;
  /** Called at the first failure of an outage, and at its end with the number of failures. */
  onFailure: (workspaceId: string, error: unknown) => void;
  onRecovery: (failures: number) => void;
}

export class EmbeddingUpkeep {
  readonly #waiting = new Set<string>();
  readonly #outage = new Outage();
  readonly #abort = new AbortController();
  #working = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly options: EmbeddingUpkeepOptions) {}

  /** To be called when a workspace was opened or written to: its missing vectors are made. */
  note(workspaceId: string): void {
    this.#waiting.add(workspaceId);
    this.#wake(GATHER_MS);
  }

  stop(): void {
    this.#abort.abort();
    clearTimeout(this.#timer);
  }

  #wake(afterMs: number): void {
    if (this.#working || this.#timer !== undefined || this.#abort.signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#work();
    }, afterMs);
  }

  async #work(): Promise<void> {
    this.#working = true;
    let pauseMs = 0;
    for (const workspaceId of this.#waiting) {
      this.#waiting.delete(workspaceId);
      try {
        if (await this.#step(workspaceId)) this.#waiting.add(workspaceId);
      } catch (error) {
        if (this.#abort.signal.aborted) return;
        this.#waiting.add(workspaceId);
        pauseMs = this.#failed(workspaceId, error);
        break;
      }
    }
    this.#working = false;
    if (this.#waiting.size > 0) this.#wake(pauseMs);
  }

  /** Records a failure. Returns how long to wait before the next attempt, ms. */
  #failed(workspaceId: string, error: unknown): number {
    const temporary = error instanceof EmbeddingError && error.temporary;
    const { pauseMs, isNews } = this.#outage.fail(String(error), temporary ? AWAY_PAUSES : REFUSED_PAUSES);
    if (isNews) this.options.onFailure(workspaceId, error);
    return pauseMs;
  }

  /** Makes the vectors of one batch. Returns whether more may be missing. */
  async #step(workspaceId: string): Promise<boolean> {
    const { run, embedder } = this.options;
    const model = await embedder();
    this.#abort.signal.throwIfAborted();
    const batch = await run(workspaceId, async (connection) => {
      await ensureEmbeddingTables(connection, model.model);
      return nextBatch(connection);
    });
    if (batch === null) return false;
    const vectors = await embedBatch(model, batch, this.#abort.signal);
    const failures = batch.entries.length === 0 ? 0 : this.#outage.end();
    if (failures > 0) this.options.onRecovery(failures);
    this.#abort.signal.throwIfAborted();
    await run(workspaceId, (connection) => storeVectors(connection, model.model, batch, vectors));
    return true;
  }
}

async function embedBatch(model: Embedder, { entries }: EmbeddingBatch, signal: AbortSignal) {
  const texts = entries.flatMap((entry) => entry.texts);
  const vectors = texts.length === 0 ? [] : await model.embed(texts, signal);
  let at = 0;
  return entries.map(({ texts: { length } }) => {
    at += length;
    return vectors.slice(at - length, at);
  });
}

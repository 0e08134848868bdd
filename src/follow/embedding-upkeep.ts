/**
 * Makes vectors with an external model in the background: for one workspace of the thread after another, a batch at a
 * time. Operations continue while the model works; only storing the vectors takes a turn of the queue.
 */

import { type EmbeddingBatch, ensureEmbeddingTables, nextBatch, storeVectors } from "../core/rows/embeddings.ts";
import { type Around, Follower, UNTIL_WOKEN } from "../follower.ts";
import { type Embedder, EmbeddingError } from "../search/vectors/embedder.ts";
import type { Connection } from "../store/connection.ts";

/** How long to wait for further writes before a batch begins, ms. */
const GATHER_MS = 50;

interface EmbeddingUpkeepOptions {
  embedder: () => Promise<Embedder>;
  /** Runs work on a workspace in a transaction, after all work that already waits. */
  run: <T>(workspaceId: string, work: (connection: Connection) => Promise<T>) => Promise<T>;
  around: Around;
  /** Called at the first failure of an outage or of its kind, and at the end with the number of failures. */
  onFailure: (workspaceId: string, error: unknown) => void;
  onRecovery: (failures: number) => void;
}

export class EmbeddingUpkeep {
  readonly #waiting = new Set<string>();
  readonly #follower: Follower;
  /** The workspace of the present step. */
  #current = "";
  #reason = "";

  constructor(private readonly options: EmbeddingUpkeepOptions) {
    const step = (signal: AbortSignal) => this.#step(signal);
    this.#follower = new Follower({ step, failed: (error) => this.#failed(error) }, options.around);
  }

  /** To be called when a workspace was opened or written to: its missing vectors are made. */
  note(workspaceId: string): void {
    this.#waiting.add(workspaceId);
    this.#follower.wake(GATHER_MS);
  }

  stop(): void {
    void this.#follower.end();
  }

  /** Makes a batch for the workspace that has waited longest. */
  async #step(signal: AbortSignal): Promise<number> {
    const [workspaceId] = this.#waiting;
    if (workspaceId === undefined) return UNTIL_WOKEN;
    this.#waiting.delete(workspaceId);
    this.#current = workspaceId;
    if (await this.#embed(workspaceId, signal)) this.#waiting.add(workspaceId);
    return this.#waiting.size === 0 ? UNTIL_WOKEN : 0;
  }

  #failed(error: unknown): void {
    // A workspace that cannot be used is noted again when it is opened or written to.
    if (error instanceof EmbeddingError) this.#waiting.add(this.#current);
    // A model that is down for a night should be one line in the log, not thousands.
    if (this.#reason !== String(error)) this.options.onFailure(this.#current, error);
    this.#reason = String(error);
  }

  /** Makes the vectors of one batch. Returns whether more may be missing. */
  async #embed(workspaceId: string, signal: AbortSignal): Promise<boolean> {
    const { run, embedder } = this.options;
    const model = await embedder();
    signal.throwIfAborted();
    const batch = await run(workspaceId, async (connection) => {
      await ensureEmbeddingTables(connection, model.model);
      return nextBatch(connection);
    });
    if (batch === null) return false;
    const vectors = await embedBatch(model, batch, signal);
    const failures = batch.entries.length === 0 ? 0 : this.#follower.recovered();
    if (failures > 0) {
      this.#reason = "";
      this.options.onRecovery(failures);
    }
    signal.throwIfAborted();
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

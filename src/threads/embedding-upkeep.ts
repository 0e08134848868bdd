/**
 * Vectors by a model outside, made in the background: one workspace of the thread after another, a
 * batch at a time. The model is asked between the operations; only the storing takes a turn among them.
 */
import { type Embedder, EmbeddingError } from "../search/embedder.ts";
import { type EmbeddingBatch, nextBatch, prepareEmbeddings, storeVectors } from "../state/embeddings.ts";
import type { Connection } from "../store/connection.ts";

/** What is written within this time is met together, ms. */
const GATHER_MS = 50;
/** Until a model that is away, or that refused, is asked again, ms. */
const AWAY_PAUSE_MS = 5_000;
const REFUSED_PAUSE_MS = 60_000;

export interface EmbeddingUpkeepOptions {
  embedder: () => Promise<Embedder>;
  /** Runs work on a workspace in a transaction, after what is waiting already. */
  run: <T>(workspaceId: string, work: (connection: Connection) => Promise<T>) => Promise<T>;
  onFailure: (workspaceId: string, error: unknown) => void;
}

export class EmbeddingUpkeep {
  readonly #options: EmbeddingUpkeepOptions;
  readonly #waiting = new Set<string>();
  readonly #abort = new AbortController();
  #working = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: EmbeddingUpkeepOptions) {
    this.#options = options;
  }

  /** A workspace was opened or written to: its vectors are to be looked after. */
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
        const temporary = error instanceof EmbeddingError && error.temporary;
        pauseMs = temporary ? AWAY_PAUSE_MS : REFUSED_PAUSE_MS;
        this.#options.onFailure(workspaceId, error);
        break;
      }
    }
    this.#working = false;
    if (this.#waiting.size > 0) this.#wake(pauseMs);
  }

  /** One batch. Answers whether there may be more. */
  async #step(workspaceId: string): Promise<boolean> {
    const { run, embedder } = this.#options;
    const model = await embedder();
    this.#abort.signal.throwIfAborted();
    const batch = await run(workspaceId, async (connection) => {
      await prepareEmbeddings(connection, model.model);
      return nextBatch(connection);
    });
    if (batch === null) return false;
    const vectors = await embedBatch(model, batch, this.#abort.signal);
    this.#abort.signal.throwIfAborted();
    await run(workspaceId, (connection) => storeVectors(connection, model.model, batch, vectors));
    return true;
  }
}

async function embedBatch(
  model: Embedder,
  { entries }: EmbeddingBatch,
  signal: AbortSignal,
): Promise<Float32Array[][]> {
  const texts = entries.flatMap((entry) => entry.texts);
  const vectors = texts.length === 0 ? [] : await model.embed(texts, signal);
  let at = 0;
  return entries.map(({ texts: { length } }) => {
    at += length;
    return vectors.slice(at - length, at);
  });
}

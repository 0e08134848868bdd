/**
 * A model that somebody has and that is better than the built-in words: a server (`OpenAiEmbedder`)
 * or a file (`Model2VecEmbedder`).
 */
export interface Embedder {
  /** What its vectors are stored under; those of another name are of no use to it. */
  readonly model: string;
  /** One vector for each text, all of the same dimensions. Throws `EmbeddingError`. */
  embed(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]>;
}

/** Why no vectors came. The message says what to do and never repeats a text or a key. */
export class EmbeddingError extends Error {
  override readonly name = "EmbeddingError";
  /** Whether the same call can succeed later, without anybody changing a setting. */
  readonly temporary: boolean;

  constructor(message: string, temporary: boolean) {
    super(message);
    this.temporary = temporary;
  }
}

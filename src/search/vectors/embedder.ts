/** An external model: a server (`OpenAiEmbedder`) or a directory (`Model2VecEmbedder`). */
export interface Embedder {
  /** The name that its vectors are stored under. Vectors of another name are not comparable. */
  readonly model: string;
  /** Returns one vector per text, all with the same dimensions. @throws {EmbeddingError} */
  embed(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]>;
}

/** Why a model returned no vectors. The message says what to do and never repeats a text or a key. */
export class EmbeddingError extends Error {
  override readonly name = "EmbeddingError";

  /** `temporary`: whether the same call can succeed later without a change of settings. */
  constructor(
    message: string,
    readonly temporary: boolean,
  ) {
    super(message);
  }
}

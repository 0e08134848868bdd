import type { Embedder } from "./embedder.ts";

/** Which external model makes vectors. Plain data, since it is passed to threads. */
export type EmbeddingOptions =
  | { kind: "server"; url: string; model: string; apiKey: string | null }
  | { kind: "directory"; path: string };

/** Returns a function that returns the model. The first call loads it, and a call after a failure retries. */
export function embedderOf(options: EmbeddingOptions): () => Promise<Embedder> {
  let loading: Promise<Embedder> | undefined;
  return () => {
    loading ??= load(options).catch((error) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
}

/** Imports what the model needs: most daemons have no external model. */
async function load(options: EmbeddingOptions): Promise<Embedder> {
  if (options.kind === "directory") {
    const { Model2VecEmbedder } = await import("./model2vec.ts");
    return Model2VecEmbedder.load(options.path);
  }
  const { OpenAiEmbedder } = await import("./openai-embedder.ts");
  const { url, model, apiKey } = options;
  return new OpenAiEmbedder({ url, model, ...(apiKey === null ? {} : { apiKey }) });
}

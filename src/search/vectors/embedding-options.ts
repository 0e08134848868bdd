import type { Embedder } from "./embedder.ts";
import { Model2VecEmbedder } from "./model2vec.ts";
import { OpenAiEmbedder } from "./openai-embedder.ts";

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

async function load(options: EmbeddingOptions): Promise<Embedder> {
  if (options.kind === "directory") return Model2VecEmbedder.load(options.path);
  const { url, model, apiKey } = options;
  return new OpenAiEmbedder({ url, model, ...(apiKey === null ? {} : { apiKey }) });
}

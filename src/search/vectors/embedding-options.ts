import type { Embedder } from "./embedder.ts";
import { Model2VecEmbedder } from "./model2vec.ts";
import { OpenAiEmbedder } from "./openai-embedder.ts";

/** Which model outside makes vectors. Plain data: it is passed on to threads. */
export type EmbeddingOptions =
  | { kind: "server"; url: string; model: string; apiKey: string | null }
  | { kind: "directory"; path: string };

/** The model, loaded when it is first asked for; a failed load is tried again. */
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

/** The embeddings model that the settings name, if any. */
import { Failure, readText } from "../../failure.ts";
import { EmbeddingError } from "../../search/vectors/embedder.ts";
import type { EmbeddingOptions } from "../../search/vectors/embedding-options.ts";
import type { Settings } from "../../settings/definitions.ts";

type EmbeddingSettings = Pick<
  Settings,
  "embeddings_url" | "embeddings_model" | "embeddings_api_key_file" | "embeddings_path"
>;

/** Returns the options of the model, or null. @throws {Failure} `invalid_settings` when its files cannot be used */
export async function embeddingOptions(settings: EmbeddingSettings): Promise<EmbeddingOptions | null> {
  const { embeddings_url: url, embeddings_model: model, embeddings_path: path } = settings;
  if (path !== null) {
    await checkModel(path);
    return { kind: "directory", path };
  }
  if (url === null || model === null) return null;
  const file = settings.embeddings_api_key_file;
  return { kind: "server", url, model, apiKey: file === null ? null : readKey(file) };
}

/** Checks that the model can be loaded. Threads load it later, when they first need it. */
async function checkModel(path: string): Promise<void> {
  const { Model2VecEmbedder } = await import("../../search/vectors/model2vec.ts");
  try {
    await Model2VecEmbedder.load(path);
  } catch (error) {
    if (!(error instanceof EmbeddingError)) throw error;
    throw new Failure("invalid_settings", `embeddings_path: ${error.message}.`);
  }
}

function readKey(file: string): string {
  const key = readText("invalid_settings", file, "embeddings_api_key_file").trim();
  if (key === "") throw new Failure("invalid_settings", `embeddings_api_key_file ${file} is empty.`);
  return key;
}

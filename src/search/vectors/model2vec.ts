import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { Tokenizer } from "@huggingface/tokenizers";
import { type Embedder, EmbeddingError } from "./embedder.ts";
import { readSafetensors, type Tensor } from "./safetensors.ts";
import { MAX_DIMENSIONS } from "./vector-arena.ts";

/** The most tokens of a text that count, as in Model2Vec itself. */
const MAX_TOKENS = 512;
/** The most characters that those tokens can have. */
const MAX_CHARACTERS = MAX_TOKENS * 32;

/**
 * A Model2Vec model: a table of token vectors, whose mean is the vector of a text. The directory holds
 * `model.safetensors` and `tokenizer.json`, as published.
 */
export class Model2VecEmbedder implements Embedder {
  readonly model: string;
  readonly dimensions: number;
  readonly #tokenizer: Tokenizer;
  readonly #embeddings: Float32Array;
  /** token → row, when tokens share rows; token → weight, when the rows do not include it. */
  readonly #rowOf: Float32Array | undefined;
  readonly #weights: Float32Array | undefined;
  readonly #unknown: number | undefined;

  private constructor(model: string, tensors: Map<string, Tensor>, tokenizer: Tokenizer, unknown: number | undefined) {
    const embeddings = tensors.get("embeddings");
    if (embeddings?.shape.length !== 2) throw new Error("model.safetensors has no table named embeddings");
    this.model = model;
    this.dimensions = embeddings.shape[1] as number;
    if (this.dimensions < 1 || this.dimensions > MAX_DIMENSIONS) {
      throw new Error(`its vectors must have 1 to ${MAX_DIMENSIONS} dimensions, not ${this.dimensions}`);
    }
    if (!embeddings.data.every(Number.isFinite))
      throw new Error("model.safetensors holds a value that is not a number");
    this.#embeddings = embeddings.data;
    this.#rowOf = tensors.get("mapping")?.data;
    this.#weights = tensors.get("weights")?.data;
    this.#tokenizer = tokenizer;
    this.#unknown = unknown;
  }

  /** Reads a model. @throws {EmbeddingError} that names the faulty file */
  static async load(directory: string): Promise<Model2VecEmbedder> {
    try {
      const tensors = readSafetensors(await readFile(join(directory, "model.safetensors")));
      const { tokenizer, unknown } = readTokenizer(await readFile(join(directory, "tokenizer.json"), "utf8"));
      return new Model2VecEmbedder(basename(directory), tensors, tokenizer, unknown);
    } catch (error) {
      const reason = error instanceof Error ? error.message : "it cannot be read";
      throw new EmbeddingError(`the Model2Vec model in ${directory} cannot be used: ${reason}`, false);
    }
  }

  async embed(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]> {
    return texts.map((text) => {
      signal?.throwIfAborted();
      return this.embedText(text);
    });
  }

  /** Returns the vector of a text, of length 1, or zero when no token is known. */
  embedText(text: string): Float32Array {
    const { ids } = this.#tokenizer.encode(text.slice(0, MAX_CHARACTERS), { add_special_tokens: false });
    const sum = new Float32Array(this.dimensions);
    for (const token of ids.filter((id) => id !== this.#unknown).slice(0, MAX_TOKENS)) {
      const row = this.#rowOf?.[token] ?? token;
      const weight = this.#weights?.[token] ?? 1;
      const at = row * this.dimensions;
      for (let k = 0; k < sum.length; k++) sum[k] = (sum[k] as number) + weight * (this.#embeddings[at + k] ?? 0);
    }
    const norm = Math.sqrt(sum.reduce((squares, x) => squares + x * x, 0));
    return norm === 0 ? sum : sum.map((x) => x / norm);
  }
}

function readTokenizer(text: string): { tokenizer: Tokenizer; unknown: number | undefined } {
  try {
    const settings = JSON.parse(text);
    const tokenizer = new Tokenizer(settings, {});
    tokenizer.encode("a word", { add_special_tokens: false });
    return { tokenizer, unknown: unknownToken(settings) };
  } catch {
    throw new Error("tokenizer.json does not describe a tokenizer");
  }
}

/** Returns the token for unknown words, which is given by name or (Unigram) by number. */
function unknownToken({
  model,
}: {
  model: { unk_token?: string; unk_id?: number; vocab?: unknown };
}): number | undefined {
  if (typeof model.unk_id === "number") return model.unk_id;
  const vocabulary = model.vocab as Record<string, number> | undefined;
  return model.unk_token === undefined ? undefined : vocabulary?.[model.unk_token];
}

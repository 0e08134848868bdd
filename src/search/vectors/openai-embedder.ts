import { setTimeout as sleep } from "node:timers/promises";
import { Type } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { sendRequest } from "../../outbound.ts";
import { type Embedder, EmbeddingError } from "./embedder.ts";
import { MAX_DIMENSIONS } from "./vector-arena.ts";

/** Texts per request. Servers usually accept more, but return this many within a second. */
const BATCH = 64;
/** How long to wait for one response, ms. */
const TIMEOUT_MS = 60_000;
/** The most attempts of a request. Waits double from `FIRST_WAIT_MS` unless the server sets one. */
const ATTEMPTS = 4;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;
/** The largest response accepted: a batch of the largest vectors in JSON. */
const MAX_RESPONSE_BYTES = BATCH * MAX_DIMENSIONS * 32;

const responseBody = TypeCompiler.Compile(
  Type.Object({
    data: Type.Array(
      Type.Object({
        index: Type.Integer({ minimum: 0 }),
        embedding: Type.Array(Type.Number(), { minItems: 1, maxItems: MAX_DIMENSIONS }),
      }),
    ),
  }),
);

interface OpenAiSettings {
  /** The API's base (`http://127.0.0.1:11434/v1`) or the full address of its `embeddings`. */
  url: string;
  /** The model's name as the server knows it. */
  model: string;
  /** Sent as a bearer token. */
  apiKey?: string;
  /** Waits between attempts. Tests replace it. */
  sleep?: (milliseconds: number, signal?: AbortSignal) => Promise<void>;
}

/** Any server that speaks OpenAI's embeddings API: Ollama, vLLM, llama.cpp, text-embeddings-inference. */
export class OpenAiEmbedder implements Embedder {
  readonly model: string;
  readonly #address: URL;
  readonly #headers: Record<string, string>;
  readonly #sleep: (milliseconds: number, signal?: AbortSignal) => Promise<void>;

  /** @throws {EmbeddingError} when the address is not http or https */
  constructor({ url, model, apiKey, sleep: wait }: OpenAiSettings) {
    this.model = model;
    this.#address = embeddingsAddress(url);
    this.#headers = { "content-type": "application/json", accept: "application/json" };
    if (apiKey !== undefined) this.#headers.authorization = `Bearer ${apiKey}`;
    this.#sleep = wait ?? ((milliseconds, signal) => sleep(milliseconds, undefined, { signal }));
  }

  async embed(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]> {
    const vectors: Float32Array[] = [];
    for (let from = 0; from < texts.length; from += BATCH) {
      vectors.push(...(await this.#embedBatch(texts.slice(from, from + BATCH), signal)));
    }
    if (vectors.some(({ length }) => length !== vectors[0]?.length)) {
      throw new EmbeddingError("the embeddings server returned vectors of different lengths", false);
    }
    return vectors;
  }

  /** Sends one request, and retries while the server is unreachable or busy. */
  async #embedBatch(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#request(texts, signal);
      } catch (error) {
        if (!(error instanceof FailedRequest) || !error.temporary || attempt === ATTEMPTS) throw error;
        await this.#sleep(Math.min(error.waitMs ?? FIRST_WAIT_MS * 2 ** (attempt - 1), LONGEST_WAIT_MS), signal);
      }
    }
  }

  async #request(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]> {
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    let response: Response;
    let body: string;
    try {
      response = await sendRequest(this.#address, {
        method: "POST",
        headers: this.#headers,
        body: JSON.stringify({ model: this.model, input: texts, encoding_format: "float" }),
        // A redirect could send texts and key to an address that no setting names.
        redirect: "manual",
        signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
      });
      body = await readBounded(response);
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof EmbeddingError) throw error;
      throw new FailedRequest(`the embeddings server at ${this.#address.origin} cannot be reached`, true);
    }
    if (!response.ok) throw failureOf(response);
    return readVectors(body, texts.length);
  }
}

/** A request that is sent again when its failure is temporary. */
class FailedRequest extends EmbeddingError {
  /** How long the server asks to wait. */
  waitMs?: number;
}

function embeddingsAddress(url: string): URL {
  const address = URL.parse(url);
  if (address === null || !/^https?:$/.test(address.protocol)) {
    throw new EmbeddingError("the address of the embeddings server must be an http or https URL", false);
  }
  if (!address.pathname.endsWith("/embeddings")) {
    address.pathname = `${address.pathname.replace(/\/+$/, "")}/embeddings`;
  }
  return address;
}

function failureOf(response: Response): FailedRequest {
  const temporary = response.status === 429 || response.status === 408 || response.status >= 500;
  const hint = temporary ? "it will be retried" : "check the settings' url, model and api_key_file";
  const failure = new FailedRequest(`the embeddings server answered ${response.status}; ${hint}`, temporary);
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
  if (Number.isFinite(seconds)) failure.waitMs = seconds * 1000;
  return failure;
}

async function readBounded(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_RESPONSE_BYTES) throw new EmbeddingError("the embeddings server's response is too large", false);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function readVectors(body: string, count: number): Float32Array[] {
  const malformed = new EmbeddingError(
    "the embeddings server's response is not that of an OpenAI-compatible embeddings API",
    false,
  );
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    throw malformed;
  }
  if (!responseBody.Check(parsed) || parsed.data.length !== count) throw malformed;
  const vectors: Float32Array[] = [];
  for (const { index, embedding } of parsed.data) vectors[index] = Float32Array.from(embedding);
  if (vectors.length !== count || vectors.includes(undefined as unknown as Float32Array)) throw malformed;
  return vectors;
}

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AgentIndex } from "../../src/search/index/agent-index.ts";
import { embeddingTexts } from "../../src/search/index/document.ts";
import { EmbeddingError } from "../../src/search/vectors/embedder.ts";
import { Model2VecEmbedder } from "../../src/search/vectors/model2vec.ts";
import { OpenAiEmbedder } from "../../src/search/vectors/openai-embedder.ts";
import { readSafetensors } from "../../src/search/vectors/safetensors.ts";
import { safetensors, tokenizerOf } from "../support/model2vec.ts";
import { inMemory } from "../temporary.ts";

const DIMENSIONS = 32;
const CONCEPTS: Record<string, number> = { lift: 1, elevator: 1, wages: 2, salary: 2, zorblax: 3, quibble: 3 };

/** What the test's server answers for a text: one direction for each concept it names. */
function conceptVector(text: string): number[] {
  const vector = new Array<number>(DIMENSIONS).fill(0.01);
  for (const word of text.toLowerCase().match(/\w+/g) ?? []) vector[CONCEPTS[word] ?? 4 + (word.length % 20)] = 1;
  return vector;
}

describe("an OpenAI-compatible server", () => {
  let server: ReturnType<typeof Bun.serve>;
  let respond: (inputs: string[], request: Request) => Response;
  const requests: { path: string; body: { model: string; input: string[] }; authorization: string | null }[] = [];

  function vectorsOf(inputs: string[]): Response {
    const data = inputs.map((text, index) => ({ object: "embedding", index, embedding: conceptVector(text) }));
    return Response.json({ object: "list", model: "test", data: data.reverse(), usage: { prompt_tokens: 1 } });
  }

  beforeAll(() => {
    server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: async (request) => {
        const body = (await request.json()) as { model: string; input: string[] };
        const authorization = request.headers.get("authorization");
        requests.push({ path: new URL(request.url).pathname, body, authorization });
        return respond(body.input, request);
      },
    });
  });
  beforeEach(() => {
    requests.length = 0;
    respond = vectorsOf;
  });
  afterAll(() => server.stop(true));

  const waits: number[] = [];
  function embedder(url = `${server.url.origin}/v1`, apiKey?: string): OpenAiEmbedder {
    waits.length = 0;
    const sleep = async (milliseconds: number) => {
      waits.push(milliseconds);
    };
    return new OpenAiEmbedder({ url, model: "concepts", sleep, ...(apiKey === undefined ? {} : { apiKey }) });
  }

  test("texts are sent in batches, and vectors are returned in order", async () => {
    const texts = Array.from({ length: 150 }, (_, i) => (i % 2 === 0 ? "lift" : "wages"));
    const vectors = await embedder().embed(texts);
    expect(requests.map(({ body }) => body.input.length)).toEqual([64, 64, 22]);
    expect(requests[0]).toMatchObject({ path: "/v1/embeddings", body: { model: "concepts" }, authorization: null });
    expect(vectors.map((vector) => vector[1] === 1)).toEqual(texts.map((text) => text === "lift"));
  });

  test("the key is sent, and a whole address is used as it is", async () => {
    await embedder(`${server.url.origin}/api/embeddings`, "s3cret").embed(["lift"]);
    expect(requests[0]).toMatchObject({ path: "/api/embeddings", authorization: "Bearer s3cret" });
  });

  test("a busy server is asked again, after the time it names", async () => {
    let asked = 0;
    respond = (inputs) => {
      asked++;
      if (asked === 1) return new Response("busy", { status: 503, headers: { "retry-after": "7" } });
      return asked === 2 ? new Response("slow down", { status: 429 }) : vectorsOf(inputs);
    };
    expect(await embedder().embed(["lift"])).toHaveLength(1);
    expect(waits).toEqual([7000, 1000]);
  });

  async function failure(promise: Promise<unknown>): Promise<EmbeddingError> {
    const error = await promise.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(EmbeddingError);
    return error as EmbeddingError;
  }

  test("a server that stays away is a temporary failure", async () => {
    const gone = embedder("http://127.0.0.1:9/v1", "s3cret");
    const error = await failure(gone.embed(["a private text"]));
    expect(error.temporary).toBe(true);
    expect(waits).toEqual([500, 1000, 2000]);
    expect(error.message).not.toMatch(/s3cret|private/);
  });

  const wrong: [name: string, answer: (inputs: string[]) => Response][] = [
    ["a refusal", () => new Response("no such model", { status: 404 })],
    ["a redirect", () => Response.redirect("http://127.0.0.1:9/")],
    ["something else", () => new Response("<html>")],
    ["too few vectors", (inputs) => vectorsOf(inputs.slice(1))],
    ["one index twice", (inputs) => Response.json({ data: inputs.map(() => ({ index: 0, embedding: [1] })) })],
    ["no numbers", () => Response.json({ data: [{ index: 0, embedding: ["a"] }] })],
  ];
  for (const [name, answer] of wrong) {
    test(`${name} is a lasting failure`, async () => {
      respond = answer;
      const error = await failure(embedder().embed(["a private text", "another"]));
      expect(error.temporary).toBe(false);
      expect(error.message).not.toContain("private");
      expect(requests).toHaveLength(1);
    });
  }

  test("a malformed address is refused at once", () => {
    for (const url of ["localhost", "ftp://a/b", ""]) expect(() => embedder(url)).toThrow(EmbeddingError);
  });

  test("a search goes by the model's vectors, and by the built-in ones where they are missing", async () => {
    const model = embedder();
    const index = new AgentIndex();
    const values = ["zorblax came by", ...Array.from({ length: 30 }, (_, i) => `note number ${i}`), "the salary rose"];
    const documents = values.map((value, id) => ({ key: `k${id}`, value }));
    documents.forEach((document, id) => {
      index.add(id, document);
    });
    const queryVector = (await model.embed(["quibble"]))[0] as Float32Array;
    const first = () => index.search("quibble", { limit: 1, queryVector })[0]?.id;
    expect(first()).not.toBe(0);

    // All but the last entry get vectors; a word that the built-in model lacks is now understood.
    for (const [id, document] of documents.slice(0, -1).entries()) {
      index.setVectors(id, "concepts", await model.embed(embeddingTexts(document)));
    }
    expect(first()).toBe(0);
    const [salary] = await model.embed(["wages"]);
    expect(index.search("wages", { limit: 1, queryVector: salary as Float32Array })[0]?.id).toBe(values.length - 1);

    // They outlive other entries' removal and compaction, and go with another model.
    for (let round = 0; round < 3000; round++) index.add(500, { key: "x", value: `filler ${round}` });
    expect(first()).toBe(0);
    index.forgetVectors();
    expect(first()).not.toBe(0);
    expect(index.setVectors(999, "concepts", [queryVector])).toBe(false);
    index.close();
  });
});

test("a long value is given to a model in pieces that lose nothing", () => {
  const value = "some words and more ".repeat(500);
  const [first, ...rest] = embeddingTexts({ key: "the/key", value });
  expect(first).toStartWith("the/key\n");
  expect([first?.slice("the/key\n".length), ...rest].join("")).toBe(value);
  expect(embeddingTexts({ key: "k", value: "" })).toEqual(["k\n"]);
  expect(embeddingTexts({ key: "k", value: "\u{1f600}".repeat(5000) }).join("")).not.toMatch(
    /[\ud800-\udbff](?![\udc00-\udfff])/,
  );
  expect(embeddingTexts({ key: "k", value: "x".repeat(1 << 20) })).toHaveLength(16);
});

describe("a Model2Vec model", () => {
  let directory: string;

  const rows = Float32Array.of(9, 9, 9, 1, 0, 0, 0, 1, 0, 0, 0, 2);
  const embeddings = { dtype: "F32", shape: [4, 3], bytes: new Uint8Array(rows.buffer) };
  const tokenizer = tokenizerOf(["[UNK]", "red", "apple", "##s"]);

  beforeAll(async () => {
    directory = await mkdtemp(join(inMemory(), "model2vec-"));
    await writeFile(join(directory, "model.safetensors"), safetensors({ embeddings }));
    await writeFile(join(directory, "tokenizer.json"), JSON.stringify(tokenizer));
  });
  afterAll(() => rm(directory, { recursive: true }));

  test("a text is the mean of its tokens, unit length, unknown ones left out", async () => {
    const model = await Model2VecEmbedder.load(directory);
    const [red, both, plural, unknown] = await model.embed(["Red!", "red apple", "apples", "xyzzy"]);
    expect([...(red as Float32Array)]).toEqual([1, 0, 0]);
    expect([...(both as Float32Array)].map((x) => x.toFixed(3))).toEqual(["0.707", "0.707", "0.000"]);
    expect([...(plural as Float32Array)].map((x) => x.toFixed(3))).toEqual(["0.000", "0.447", "0.894"]);
    expect([...(unknown as Float32Array)]).toEqual([0, 0, 0]);
    expect(model.dimensions).toBe(3);
  });

  test("half precision, token weights and shared rows are understood", async () => {
    const half = new Uint8Array(8);
    const view = new DataView(half.buffer);
    [1, 0, 0, 1].forEach((x, i) => {
      view.setFloat16(2 * i, x, true);
    });
    const file = safetensors({
      embeddings: { dtype: "F16", shape: [2, 2], bytes: half },
      mapping: { dtype: "I64", shape: [4], bytes: new Uint8Array(BigInt64Array.of(0n, 0n, 1n, 1n).buffer) },
      weights: { dtype: "F64", shape: [4], bytes: new Uint8Array(Float64Array.of(1, 3, 4, 0).buffer) },
    });
    await writeFile(join(directory, "model.safetensors"), file);
    const model = await Model2VecEmbedder.load(directory);
    expect([...model.embedText("red apples")].map((x) => x.toFixed(2))).toEqual(["0.60", "0.80"]);
  });

  test("a damaged file is refused with a reason", async () => {
    const whole = safetensors({ embeddings });
    expect(() => readSafetensors(whole.subarray(0, 4))).toThrow("not a safetensors file");
    expect(() => readSafetensors(whole.subarray(0, -1))).toThrow("cut short");
    expect(() => readSafetensors(safetensors({ a: { dtype: "BF8", shape: [1], bytes: new Uint8Array(1) } }))).toThrow(
      "BF8",
    );
    await writeFile(join(directory, "model.safetensors"), whole.subarray(0, -1));
    await expect(Model2VecEmbedder.load(directory)).rejects.toThrow(EmbeddingError);
    await expect(Model2VecEmbedder.load("/nowhere")).rejects.toThrow("/nowhere");
    const nonsense = { a: { dtype: "F32", shape: [-1], bytes: new Uint8Array(4) } };
    expect(() => readSafetensors(safetensors(nonsense))).toThrow("tensor a");
    const nan = { ...embeddings, bytes: new Uint8Array(rows.map(() => Number.NaN).buffer) };
    await writeFile(join(directory, "model.safetensors"), safetensors({ embeddings: nan }));
    await expect(Model2VecEmbedder.load(directory)).rejects.toThrow("not a number");
    await writeFile(join(directory, "model.safetensors"), whole);
    for (const text of ["{", "{}", '{"model":{"type":"none"}}']) {
      await writeFile(join(directory, "tokenizer.json"), text);
      await expect(Model2VecEmbedder.load(directory)).rejects.toThrow("tokenizer.json");
    }
  });
});

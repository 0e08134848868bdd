/** A model outside, spoken to over its API: made in the background, and never in the way. */
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../eventually.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import type { Client } from "../support/client.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { inMemory } from "../temporary.ts";

const DIMENSIONS = 16;
const BUILT_IN = "governd-words-1";
/** Words that only the test's model knows to mean the same. */
const CONCEPTS: Record<string, number> = { zorblax: 1, quibble: 1, fnordle: 2 };

let server: ReturnType<typeof Bun.serve>;
let directory: string;
/** A slow one does not answer at all. */
let mode: "well" | "away" | "slow";
const asked: { model: string; inputs: string[]; authorization: string | null }[] = [];

function vectorOf(text: string): number[] {
  const vector = new Array<number>(DIMENSIONS).fill(0.01);
  for (const word of text.toLowerCase().match(/\w+/g) ?? []) {
    vector[CONCEPTS[word] ?? 3 + (word.length % 12)] = CONCEPTS[word] === undefined ? 0.2 : 2;
  }
  return vector;
}

beforeAll(() => {
  directory = mkdtempSync(join(inMemory(), "embeddings-"));
  writeFileSync(join(directory, "key"), "s3cret-key\n");
  server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const { model, input } = (await request.json()) as { model: string; input: string[] };
      asked.push({ model, inputs: input, authorization: request.headers.get("authorization") });
      if (mode === "away") return new Response("s3cret-answer", { status: 503 });
      if (mode === "slow") await new Promise(() => {});
      const data = input.map((text, index) => ({ index, embedding: vectorOf(text) }));
      return Response.json({ object: "list", model, data });
    },
  });
});
afterAll(() => {
  server.stop(true);
  rmSync(directory, { recursive: true });
});
beforeEach(() => {
  asked.length = 0;
  mode = "well";
});

const start = (model = "concepts-1") =>
  TestDaemon.start({
    flags: {
      threads: "1",
      embeddings_url: `${server.url.origin}/v1`,
      embeddings_model: model,
      embeddings_api_key_file: join(directory, "key"),
    },
  });

async function search(client: Client, query: string): Promise<{ first: string; model: string }> {
  const { status, json } = await client.post("/v1/data/search", { agent_id: "agent", query });
  expect(status).toBe(200);
  return { first: json.data[0]?.key, model: json.model };
}

async function fill({ client }: TestWorkspace): Promise<void> {
  await client.write("agent", "target", "The quibble is in the cellar.");
  await client.write("agent", "other", "A fnordle hangs on the wall.");
  for (let i = 0; i < 40; i++) await client.write("agent", `k${i}`, `Note ${i} says nothing in particular.`);
}

const count = ({ view }: TestWorkspace, model: string): number => {
  try {
    return view.connection.get<[number]>("SELECT count(*) FROM search_vectors WHERE model = ?", [model])?.[0] ?? 0;
  } catch {
    return 0;
  }
};

const hasVectors = (workspace: TestWorkspace, model: string, wanted: number) =>
  eventually(`${wanted} vectors by ${model}`, () => count(workspace, model) === wanted);

/** What a search finds once the model outside answers it: for the query's own vector it has a second, and a pause. */
async function searchBy(client: Client, model: string, query: string): Promise<string> {
  let found = await search(client, query);
  await eventually(`${model} answers`, async () => {
    if (found.model !== model) found = await search(client, query);
    return found.model === model;
  });
  return found.first;
}

test(
  "vectors are made in the background, used, erased with their entry, and never in a log",
  async () => {
    await using daemon = await start();
    const workspace = await daemon.workspace();
    await fill(workspace);
    await hasVectors(workspace, "concepts-1", 42);
    expect(await searchBy(workspace.client, "concepts-1", "zorblax")).toBe("target");
    expect(asked[0]).toMatchObject({ model: "concepts-1", authorization: "Bearer s3cret-key" });
    expect(Math.max(...asked.map(({ inputs }) => inputs.length))).toBeGreaterThan(1);

    await workspace.client.write("agent", "target", "Nothing at all.");
    await workspace.client.write("agent", "k7", "A zorblax appeared.");
    await hasVectors(workspace, "concepts-1", 42);
    expect(await searchBy(workspace.client, "concepts-1", "quibble")).toBe("k7");
    const query = { agent_id: "agent", key: "k7" };
    await workspace.client.send({ method: "DELETE", path: "/v1/data", query });
    expect(count(workspace, "concepts-1")).toBe(41);

    expect((await workspace.view.verify()).problems).toEqual([]);
    expect(await daemon.log()).not.toMatch(/quibble|zorblax|s3cret/);
  },
  PROCESS_TEST_MS,
);

test(
  "while the model is away or slow the built-in one answers, and what is missing is made afterwards",
  async () => {
    mode = "away";
    await using daemon = await start();
    const workspace = await daemon.workspace();
    await fill(workspace);
    expect(await search(workspace.client, "quibble cellar")).toEqual({ first: "target", model: BUILT_IN });
    expect(count(workspace, "concepts-1")).toBe(0);
    const told = async (text: string) =>
      (await daemon.log()).split("\n").filter((line) => line.includes(text) && line.includes('"vectors'));
    await eventually("it is said", async () => (await told("embeddings server answered 503")).length > 0);
    mode = "well";
    await hasVectors(workspace, "concepts-1", 42);
    expect(await searchBy(workspace.client, "concepts-1", "zorblax")).toBe("target");
    await eventually("its end is said", async () => (await told("recovered")).length > 0);
    expect(await told("answered 503")).toHaveLength(1);
    const [recovery, ...others] = await told("recovered");
    expect(others).toEqual([]);
    expect(JSON.parse(recovery as string).failures).toBeGreaterThan(0);
    mode = "slow";
    // The model never answers this one; the search does.
    expect((await search(workspace.client, "quibble cellar")).model).toBe(BUILT_IN);
    expect(await daemon.log()).not.toMatch(/quibble|zorblax|s3cret/);
  },
  PROCESS_TEST_MS,
);

test(
  "another model recomputes all vectors, and a restore's entries get theirs",
  async () => {
    await using daemon = await start();
    const workspace = await daemon.workspace();
    await fill(workspace);
    const { json } = await workspace.client.post("/v1/checkpoints", { agent_id: "agent" });
    await hasVectors(workspace, "concepts-1", 42);
    const query = { agent_id: "agent", prefix: "t" };
    await workspace.client.send({ method: "DELETE", path: "/v1/data/prefix", query });
    expect((await search(workspace.client, "zorblax")).first).not.toBe("target");
    await workspace.client.send({ method: "POST", path: `/v1/checkpoints/${json.id}/restore` });
    await eventually(
      "the restored one is found",
      async () => (await search(workspace.client, "zorblax")).first === "target",
    );

    await daemon.restart(0, { embeddings_model: "concepts-2" });
    const client = daemon.client(workspace.client.apiKey);
    await searchBy(client, "concepts-2", "nothing");
    await hasVectors(workspace, "concepts-2", 42);
    expect(await searchBy(client, "concepts-2", "zorblax")).toBe("target");
  },
  PROCESS_TEST_MS,
);

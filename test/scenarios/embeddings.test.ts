/** A model outside, spoken to over its API: made in the background, and never in the way. */
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client } from "../support/client.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";

const TIMEOUT_MS = 60_000;
const WAIT_MS = 20;
const DIMENSIONS = 16;
const BUILT_IN = "governd-words-1";
/** Words that only the test's model knows to mean the same. */
const CONCEPTS: Record<string, number> = { zorblax: 1, quibble: 1, fnordle: 2 };

let server: ReturnType<typeof Bun.serve>;
let directory: string;
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
  directory = mkdtempSync(join(tmpdir(), "embeddings-"));
  writeFileSync(join(directory, "key"), "s3cret-key\n");
  server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const { model, input } = (await request.json()) as { model: string; input: string[] };
      asked.push({ model, inputs: input, authorization: request.headers.get("authorization") });
      if (mode === "away") return new Response("s3cret-answer", { status: 503 });
      if (mode === "slow") await Bun.sleep(10_000);
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
    return (
      view.connection.get<[number]>("SELECT count(*) FROM search_vectors WHERE model = ?", [model])?.[0] ?? 0
    );
  } catch {
    return 0;
  }
};

async function until(reached: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await reached())) await Bun.sleep(WAIT_MS);
}

test(
  "vectors are made in the background, used, erased with their entry, and never in a log",
  async () => {
    await using daemon = await start();
    const workspace = await daemon.workspace();
    await fill(workspace);
    await until(() => count(workspace, "concepts-1") === 42);
    expect(await search(workspace.client, "zorblax")).toEqual({ first: "target", model: "concepts-1" });
    expect(asked[0]).toMatchObject({ model: "concepts-1", authorization: "Bearer s3cret-key" });
    expect(Math.max(...asked.map(({ inputs }) => inputs.length))).toBeGreaterThan(1);

    await workspace.client.write("agent", "target", "Nothing at all.");
    await workspace.client.write("agent", "k7", "A zorblax appeared.");
    await until(() => count(workspace, "concepts-1") === 42);
    expect((await search(workspace.client, "quibble")).first).toBe("k7");
    const query = { agent_id: "agent", key: "k7" };
    await workspace.client.send({ method: "DELETE", path: "/v1/data", query });
    expect(count(workspace, "concepts-1")).toBe(41);

    expect((await workspace.view.verify()).problems).toEqual([]);
    expect(await daemon.log()).not.toMatch(/quibble|zorblax|s3cret/);
  },
  TIMEOUT_MS,
);

test(
  "while the model is away or slow the built-in one answers, and what is missing is made afterwards",
  async () => {
    mode = "away";
    await using daemon = await start();
    const workspace = await daemon.workspace();
    await fill(workspace);
    const began = performance.now();
    expect(await search(workspace.client, "quibble cellar")).toEqual({ first: "target", model: BUILT_IN });
    expect(performance.now() - began).toBeLessThan(3_000);
    expect(count(workspace, "concepts-1")).toBe(0);
    await until(async () => (await daemon.log()).includes("embeddings server answered 503"));
    mode = "well";
    await until(() => count(workspace, "concepts-1") === 42);
    await until(async () => (await search(workspace.client, "zorblax")).model === "concepts-1");
    expect((await search(workspace.client, "zorblax")).first).toBe("target");
    const lines = (await daemon.log()).split("\n");
    const told = (text: string) => lines.filter((line) => line.includes(text) && line.includes('"vectors'));
    expect(told("answered 503")).toHaveLength(1);
    expect(told("works again")).toHaveLength(1);
    expect(JSON.parse(told("works again")[0] as string).failures).toBeGreaterThan(0);
    mode = "slow";
    const slow = performance.now();
    expect((await search(workspace.client, "quibble cellar")).model).toBe(BUILT_IN);
    expect(performance.now() - slow).toBeLessThan(3_000);
    expect(await daemon.log()).not.toMatch(/quibble|zorblax|s3cret/);
  },
  TIMEOUT_MS,
);

test(
  "another model makes all vectors anew, and a restore's entries get theirs",
  async () => {
    await using daemon = await start();
    const workspace = await daemon.workspace();
    await fill(workspace);
    const { json } = await workspace.client.post("/v1/checkpoints", { agent_id: "agent" });
    await until(() => count(workspace, "concepts-1") === 42);
    const query = { agent_id: "agent", prefix: "t" };
    await workspace.client.send({ method: "DELETE", path: "/v1/data/prefix", query });
    expect((await search(workspace.client, "zorblax")).first).not.toBe("target");
    await workspace.client.send({ method: "POST", path: `/v1/checkpoints/${json.id}/restore` });
    await until(async () => (await search(workspace.client, "zorblax")).first === "target");

    await daemon.restart(0, { embeddings_model: "concepts-2" });
    const client = daemon.client(workspace.client.apiKey);
    expect((await search(client, "nothing")).model).toBe("concepts-2");
    await until(() => count(workspace, "concepts-2") === 42);
    expect(await search(client, "zorblax")).toEqual({ first: "target", model: "concepts-2" });
  },
  TIMEOUT_MS,
);

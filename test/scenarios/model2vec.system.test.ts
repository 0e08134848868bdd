/** A Model2Vec model in a directory: the daemon searches by it, and does not start with one that it cannot use. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../eventually.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { TestDaemon } from "../support/daemon.ts";
import { writeModel } from "../support/model2vec.ts";
import { inMemory } from "../temporary.ts";

const BUILT_IN = "governd-words-1";
/** Two words that only this model knows, and to mean the same; others that mean something else. */
const VECTORS = {
  zorblax: [1, 0, 0, 0],
  quibble: [0.9, 0.1, 0, 0],
  fnordle: [0.4, 1, 0, 0],
  note: [0, 0, 1, 0],
  cellar: [0, 0.2, 0.2, 1],
  wall: [0, 0.2, 0.3, 1],
};

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(inMemory(), "model2vec-"));
});
afterAll(() => rmSync(directory, { recursive: true }));

const start = (path: string) => TestDaemon.start({ flags: { threads: "1", embeddings_path: path } });

test(
  "what only the model knows to be alike is found, and ranked by it",
  async () => {
    const path = join(directory, "concepts-1");
    writeModel(path, VECTORS);
    await using daemon = await start(path);
    const { client } = await daemon.workspace();
    await client.write("agent", "target", "The quibble is in the cellar.");
    await client.write("agent", "other", "A fnordle hangs on the wall.");
    for (let i = 0; i < 40; i++) await client.write("agent", `k${i}`, `Note ${i} says nothing in particular.`);
    const search = async () => (await client.post("/v1/data/search", { agent_id: "agent", query: "zorblax" })).json;
    let found = await search();
    await eventually("it is found", async () => {
      if (found.data[0]?.key !== "target") found = await search();
      return found.data[0]?.key === "target";
    });
    expect(found.model).toBe("concepts-1");
    // The nearest by the model's own cosines, in their order.
    expect(found.data.slice(0, 2).map(({ key }: { key: string }) => key)).toEqual(["target", "other"]);
    expect(found.data[0].similarity).toBeGreaterThan(found.data[1].similarity);
    expect(await daemon.log()).not.toMatch(/quibble|zorblax|unexpected/);

    // Without the setting the built-in model answers again.
    await daemon.restart(0, { embeddings_path: null });
    const { json } = await daemon.client(client.apiKey).post("/v1/data/search", { agent_id: "agent", query: "cellar" });
    expect([json.model, json.data[0].key]).toEqual([BUILT_IN, "target"]);
  },
  PROCESS_TEST_MS,
);

const damages: [name: string, file: string, damage: (path: string) => void, said: string][] = [
  ["is missing", "model.safetensors", (path) => rmSync(path), "no such file or directory"],
  ["is cut short", "model.safetensors", (path) => writeFileSync(path, readFileSync(path).subarray(0, -7)), "cut short"],
  ["is something else", "model.safetensors", (path) => writeFileSync(path, "weights"), "not a safetensors file"],
  ["is missing", "tokenizer.json", (path) => rmSync(path), "no such file or directory"],
  ["is damaged", "tokenizer.json", (path) => writeFileSync(path, '{"model":'), "tokenizer.json"],
];

for (const [name, file, damage, said] of damages) {
  test(`the daemon does not start, and says why, when ${file} ${name}`, async () => {
    const path = join(directory, `damaged-${damages.findIndex(([, , one]) => one === damage)}`);
    writeModel(path, VECTORS);
    damage(join(path, file));
    const failure = await start(path).then(
      () => null,
      (error: Error) => error,
    );
    expect(failure).toMatchObject({ name: "Failure", code: "invalid_settings" });
    expect(failure?.message).toStartWith(`embeddings_path: the Model2Vec model in ${path} cannot be used: `);
    expect(failure?.message).toContain(said);
    expect(failure?.message.split("\n")).toHaveLength(1);
  });
}

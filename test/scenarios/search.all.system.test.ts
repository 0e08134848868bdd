/** Search across a stop, a crash and a moved clock: the database is the truth of every index. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { GOVERND } from "../cli/governd-process.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { administer } from "../support/administration.ts";
import { Client } from "../support/client.ts";
import { TestDaemon } from "../support/daemon.ts";
import { engineEnvironment } from "../support/engine.ts";
import { ensureServer } from "../support/own-server.ts";
import { temporaryDirectory } from "../temporary.ts";

const TWO_DAYS_MS = 2 * 86_400_000;

async function keysFor(client: Client, query: string): Promise<string[]> {
  const { json } = await client.post("/v1/data/search", { agent_id: "agent", query, min_similarity: 0.3 });
  return json.data.map(({ key }: { key: string }) => key);
}

test("a restart changes no answer, and what is past its retention is not found", async () => {
  await using daemon = await TestDaemon.start({ confided: true });
  const workspace = await daemon.workspace();
  await workspace.client.write("agent", "lift", "The elevator was repaired on Monday.");
  await workspace.client.write("agent", "pay", "Salaries are paid on the last working day.");
  expect(await keysFor(workspace.client, "broken elevator")).toEqual(["lift"]);
  await daemon.restart();
  const { apiKey } = workspace.client;
  expect(await keysFor(daemon.client(apiKey), "broken elevator")).toEqual(["lift"]);
  await daemon.client(apiKey).configure("agent", { policies: { retention_days: 1 } });
  expect(await keysFor(daemon.client(apiKey), "broken elevator")).toEqual(["lift"]);
  await daemon.restart(TWO_DAYS_MS);
  expect(await keysFor(daemon.client(apiKey), "broken elevator")).toEqual([]);
});

async function serve(dataDir: string): Promise<{ url: string; kill(): Promise<void> }> {
  const words = ["serve", "--data-dir", dataDir, "--listen", "127.0.0.1:0", "--log-format", "json"];
  const child = Bun.spawn([...GOVERND, ...words], {
    env: engineEnvironment(dataDir),
    stdout: "pipe",
    stderr: "ignore",
  });
  let said = "";
  for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) {
    said += piece;
    if (said.includes("\n")) break;
  }
  const kill = async () => {
    child.kill("SIGKILL");
    await child.exited;
  };
  return { url: JSON.parse(said.split("\n")[0] as string).address, kill };
}

test(
  "what was acknowledged before a crash is found after it",
  async () => {
    using directory = temporaryDirectory();
    const dataDir = join(directory.path, "data");
    await ensureServer(dataDir);
    const { apiKey } = await administer(dataDir, (one) => one.createWorkspace("killed"));
    const client = (url: string) => new Client(url, readFileSync(join(dataDir, "tls", "ca.crt"), "utf8"), apiKey);
    const first = await serve(dataDir);
    for (let i = 0; i < 50; i++) await client(first.url).write("agent", `k${i}`, `order ERR-${1000 + i} failed`);
    expect((await keysFor(client(first.url), "ERR-1007"))[0]).toBe("k7");
    await client(first.url).write("agent", "k7", "settled");
    await client(first.url).write("agent", "last", "order ERR-2000 failed");
    await first.kill();
    const second = await serve(dataDir);
    expect((await keysFor(client(second.url), "ERR-2000"))[0]).toBe("last");
    expect((await keysFor(client(second.url), "ERR-1008"))[0]).toBe("k8");
    expect(await keysFor(client(second.url), "ERR-1007")).not.toContain("k7");
    await second.kill();
  },
  PROCESS_TEST_MS,
);

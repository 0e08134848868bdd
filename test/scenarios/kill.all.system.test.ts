/** A daemon that is killed in the middle of load loses nothing that it acknowledged. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { GOVERND } from "../cli/governd-process.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { SEED } from "../seed.ts";
import { Seeded } from "../seeded.ts";
import { administer } from "../support/administration.ts";
import { Client } from "../support/client.ts";
import { engineEnvironment } from "../support/engine.ts";
import { ensureServer } from "../support/own-server.ts";
import { WorkspaceView } from "../support/workspace-view.ts";
import { temporaryDirectory } from "../temporary.ts";

const KILLS = 4;
const CLIENTS = 8;
/** Acknowledged writes after which the daemon is killed: at least, and at most so many more. */
const WRITES_BEFORE = 20;
const WRITES_SPREAD = 150;

interface Running {
  url: string;
  kill(): Promise<void>;
}

/** Starts the daemon in a child process. Resolves when it is ready. */
async function serve(dataDir: string): Promise<Running> {
  const words = [
    "serve",
    "--data-dir",
    dataDir,
    "--listen",
    "127.0.0.1:0",
    "--log-format",
    "json",
    "--log-level",
    "warn",
  ];
  const child = Bun.spawn([...GOVERND, ...words], {
    env: engineEnvironment(dataDir),
    stdout: "pipe",
    stderr: "inherit",
  });
  let said = "";
  for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) {
    said += piece;
    if (said.includes("\n")) break;
  }
  return {
    url: JSON.parse(said).address,
    kill: async () => {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

/** Overwrites its own keys until the daemon is killed. Remembers the last acknowledged value of each. */
async function load(client: Client, name: number, acknowledged: Map<string, string>, onWrite: () => void) {
  for (let i = 0; ; i++) {
    const key = `${name}/${i % 10}`;
    const value = `${acknowledged.size}-${i}-${crypto.randomUUID()}`;
    try {
      const { json } = await client.write(`agent-${name % 3}`, key, value);
      if (json?.allowed !== true) return;
    } catch {
      // The daemon is gone: this write may have happened or not, and so may any value in it.
      acknowledged.delete(key);
      return;
    }
    acknowledged.set(key, value);
    onWrite();
  }
}

const SIZE = 5;

/** Overwrites a few keys of an agent of its own together until the daemon is killed. Returns the last value it knows of. */
async function loadBatches(client: Client, agent: string, onWrite: () => void): Promise<string | null> {
  for (let last: string | null = null; ; onWrite()) {
    const value = crypto.randomUUID();
    const operations = Array.from({ length: SIZE }, (_, i) => ({ op: "write", key: `${i}`, value }));
    try {
      const { json } = await client.post("/v1/data/batch", { agent_id: agent, operations });
      if (json?.applied !== true) return last;
    } catch {
      return last;
    }
    last = value;
  }
}

/** Of a batch, all was done or nothing. */
async function expectWhole(client: Client, agent: string, acknowledged: string | null): Promise<void> {
  const operations = Array.from({ length: SIZE }, (_, i) => ({ op: "read", key: `${i}` }));
  const { json } = await client.post("/v1/data/batch", { agent_id: agent, operations });
  const values = new Set((json.results as { value?: string }[]).map(({ value }) => value));
  expect(values.size).toBe(1);
  if (acknowledged !== null) expect(values).not.toContain(undefined);
}

test(
  "killed under load, again and again",
  async () => {
    using directory = temporaryDirectory();
    const dataDir = join(directory.path, "data");
    await ensureServer(dataDir);
    const { workspace, apiKey } = await administer(dataDir, (one) => one.createWorkspace("killed"));
    using view = new WorkspaceView(join(dataDir, "workspaces", `${workspace.id}.db`));
    const acknowledged = new Map<string, string>();
    const batched = new Map<string, string | null>();
    const count = { acknowledged: 0 };
    const random = new Seeded(SEED);
    for (let round = 0; round < KILLS; round++) {
      const daemon = await serve(dataDir);
      const client = new Client(daemon.url, readFileSync(join(dataDir, "tls", "ca.crt"), "utf8"), apiKey);
      for (const [key, value] of acknowledged) {
        const agent = `agent-${Number(key.split("/")[0]) % 3}`;
        expect((await client.read(agent, key)).json).toEqual({ agent_id: agent, key, value });
      }
      for (const [agent, value] of batched) await expectWhole(client, agent, value);
      const enough = count.acknowledged + WRITES_BEFORE + random.below(WRITES_SPREAD);
      const reached = Promise.withResolvers<void>();
      const onWrite = () => {
        if (++count.acknowledged >= enough) reached.resolve();
      };
      const clients = Array.from({ length: CLIENTS }, async (_, name) => {
        if (name % 4 > 0) return load(client, name, acknowledged, onWrite);
        const agent = `batched-${name}`;
        const last = await loadBatches(client, agent, onWrite);
        batched.set(agent, last ?? batched.get(agent) ?? null);
      });
      await reached.promise;
      await daemon.kill();
      await Promise.all(clients);
      const report = await view.verify();
      expect(report.problems).toEqual([]);
      const writes = view.eventsAfter(-1).filter(({ operation }) => operation === "data.write").length;
      expect(writes).toBeGreaterThanOrEqual(count.acknowledged);
    }
    expect(acknowledged.size).toBeGreaterThan(0);
  },
  PROCESS_TEST_MS,
);

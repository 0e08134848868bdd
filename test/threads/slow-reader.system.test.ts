/** Who asks for a lot and does not read it: the connection is cut, and its place on the reader thread is free. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { newSealKey, readSealKey } from "../../src/core/datadir/seal-key.ts";
import { systemClock } from "../../src/ids.ts";
import { WorkspacePool } from "../../src/serve/threads/pool.ts";
import { eventually } from "../eventually.ts";
import { serveTls } from "../http/support/serve.ts";
import { HEAD, slowClient } from "../http/support/slow-client.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { anybody, makeWorkspace } from "../support/open-workspace.ts";
import { poolOptions } from "../support/pool-options.ts";
import { temporaryDirectory } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const MIB = 1024 * 1024;
/** More than the system buffers on both ends. */
const ENTRIES = 32;
const IDLE_MS = 5_000;

test("a checkpoint that nobody reads on is not kept open", async () => {
  using directory = temporaryDirectory();
  const key = { kind: "pem", pem: newSealKey() } as const;
  const pool = new WorkspacePool(poolOptions(directory.path, key, { onFailure: () => {} }));
  await using _closing = pool;
  await pool.ready();
  const workspaceId = await makeWorkspace(directory.path, systemClock, readSealKey(key).publicBytes);
  const principal = anybody(workspaceId);
  await using server = await serveTls({ workspaces: pool, authenticate: () => principal }, { idleTimeoutMs: IDLE_MS });
  for (let i = 0; i < ENTRIES; i++) {
    const input = { agentId: "a", key: `k${i}`, value: "x".repeat(MIB), metadata: {} };
    await pool.perform({ name: "data.write", input, principal });
  }
  const made = await server.send({ path: "/v1/checkpoints", body: { agent_id: "a" } });
  const path = `/v1/checkpoints/${made.json.id}`;

  using reader = await slowClient(server.running.port, { begin: `GET ${path} HTTP/1.1\r\n${HEAD}\r\n` });
  reader.pause();
  await eventually("its answer begins", () => pool.load.streams === 1);
  await eventually("it is cut", () => pool.load.streams === 0);

  // Whoever reads gets all of it.
  const whole = await server.send({ path });
  expect(whole.text.length).toBeGreaterThan(ENTRIES * MIB);
  expect(whole.json.state.entries).toHaveLength(ENTRIES);
  expect(pool.load.streams).toBe(0);
});

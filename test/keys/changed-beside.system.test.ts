/** Keys that another process changes in the workspace's file without telling the daemon, which has them cached. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { dataDirectory } from "../../src/core/datadir/layout.ts";
import type { OperationInputs } from "../../src/operations.ts";
import { changeKey } from "../support/administration.ts";
import type { Answered, Client } from "../support/client.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { serverOfDirectory } from "../support/engine.ts";
import { PROCESS_TEST_MS } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS);

let daemon: TestDaemon;
beforeAll(async () => {
  daemon = await TestDaemon.start();
});
afterAll(() => daemon[Symbol.asyncDispose]());

type Change = "key.create" | "key.rotate" | "key.change" | "key.revoke";

/** Changes a key in the file alone. */
const beside = <N extends Change>({ id }: TestWorkspace, name: N, input: OperationInputs[N]) =>
  changeKey(dataDirectory(daemon.dataDir, null, serverOfDirectory(daemon.dataDir)), id, name, input);

const WISH = { label: null, scope: "full", agents: null, networks: null, expiresInMs: null } as const;

/** A workspace, and a key of it that the daemon has cached. */
async function cached(more: Partial<OperationInputs["key.create"]> = {}) {
  const workspace = await daemon.workspace();
  const { id: keyId, api_key } = await beside(workspace, "key.create", { ...WISH, ...more });
  const client = daemon.client(api_key);
  expect((await client.write("a", "first", "v")).json.allowed).toBe(true);
  return { workspace, keyId, client };
}

const WRITE = { key: "k", value: "v" };
const REQUESTS: [string, (client: Client) => Promise<Answered>][] = [
  ["a write", (client) => client.write("a", "k", "v")],
  ["a read", (client) => client.read("a", "first")],
  ["a search", (client) => client.post("/v1/data/search", { agent_id: "a", query: "v" })],
  [
    "an erasure",
    (client) =>
      client.send({ method: "DELETE", path: "/v1/data", query: { agent_id: "a", key: "first", erase: true } }),
  ],
  ["a checkpoint", (client) => client.checkpoint("a")],
  ["a list of agents", (client) => client.get("/v1/agents")],
  ["a query of the trail", (client) => client.get("/v1/audit", { agent_id: "a" })],
  ["an export", (client) => client.post("/v1/audit/export", { scope: "workspace", format: "ndjson" })],
  ["a batch", (client) => batch(client, false)],
  ["an atomic batch", (client) => batch(client, true)],
];

const batch = (client: Client, atomic: boolean) =>
  client.post("/v1/data/batch", {
    ...{ agent_id: "a", atomic },
    operations: [
      { op: "write", ...WRITE },
      { op: "read", key: "first" },
      { op: "delete", key: "first" },
    ],
  });

/** Everything that a request could have changed. */
const stateOf = ({ view }: TestWorkspace) => [
  view.head,
  view.connection.all("SELECT id, key, value, live_to FROM entries ORDER BY id"),
  view.connection.all("SELECT id FROM checkpoints"),
  view.connection.all("SELECT id, networks, ended_seq FROM keys ORDER BY id"),
];

function expectEnded({ status, headers, json }: Answered): void {
  expect({ status, code: json?.code, challenge: headers.get("www-authenticate") }).toEqual({
    ...{ status: 401, code: "unauthenticated", challenge: expect.stringMatching(/\S/) },
  });
}

test.each(REQUESTS)(
  "%s with a key that was revoked has no effect, though the daemon has it cached",
  async (_, send) => {
    const { workspace, keyId, client } = await cached();
    await beside(workspace, "key.revoke", { keyId });
    const before = stateOf(workspace);
    expectEnded(await send(client));
    expect(stateOf(workspace)).toEqual(before);
    // Nor later, and another key of the workspace works.
    expectEnded(await send(client));
    expect(stateOf(workspace)).toEqual(before);
    expect((await workspace.client.write("a", "k", "v")).json.allowed).toBe(true);
  },
);

test("many at once with a key that is revoked: what is recorded is before the revocation", async () => {
  const { workspace, keyId, client } = await cached();
  const answers: Answered[] = [];
  const writing = Promise.all(
    Array.from({ length: 8 }, async (_, writer) => {
      for (let number = 0; number < 25; number++) answers.push(await client.write("a", `${writer}/${number}`, "v"));
    }),
  );
  await beside(workspace, "key.revoke", { keyId });
  await writing;
  const events = workspace.view.connection
    .all<[string, string]>("SELECT operation, actor FROM events ORDER BY seq")
    .map(([operation, actor]) => ({ operation, actor }));
  const revoked = events.findIndex(({ operation }) => operation === "key.revoke");
  expect(revoked).toBeGreaterThan(0);
  expect(events.slice(revoked + 1).filter(({ actor }) => actor === keyId)).toEqual([]);
  // One write was before.
  const written = events.filter(({ actor }) => actor === keyId).length - 1;
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(written);
  for (const answer of answers.filter(({ status }) => status !== 200)) expectEnded(answer);
});

test("a stored answer is not given to a key that was revoked", async () => {
  const { workspace, keyId, client } = await cached();
  const request = {
    ...{ method: "POST", path: "/v1/data/write", body: { agent_id: "a", ...WRITE } },
    headers: { "idempotency-key": "one" },
  };
  expect((await client.send(request)).status).toBe(200);
  await beside(workspace, "key.revoke", { keyId });
  const before = stateOf(workspace);
  expectEnded(await client.send(request));
  expect(stateOf(workspace)).toEqual(before);
});

test("a key that was rotated without an overlap has no effect, and its successor has", async () => {
  const { workspace, keyId, client } = await cached();
  const { api_key } = await beside(workspace, "key.rotate", { keyId, overlapMs: 0 });
  const before = stateOf(workspace);
  expectEnded(await client.write("a", "k", "v"));
  expect(stateOf(workspace)).toEqual(before);
  expect((await daemon.client(api_key).write("a", "k", "v")).json.allowed).toBe(true);
});

test.each(REQUESTS)("%s from outside of the networks that a key was limited to has no effect", async (_, send) => {
  const { workspace, keyId, client } = await cached();
  await beside(workspace, "key.change", { keyId, networks: ["192.0.2.7"] });
  const before = stateOf(workspace);
  // The workspace's thread knows what the main thread does not, which then looks the key up again.
  const { status, json } = await send(client);
  expect([status, json?.code]).toEqual([403, "forbidden"]);
  expect(stateOf(workspace)).toEqual(before);
});

test("a limit that was moved to where requests come from, or taken away, lets them pass", async () => {
  const { workspace, keyId, client } = await cached();
  for (const networks of [["127.0.0.0/8"], ["127.0.0.1", "192.0.2.7"], null]) {
    await beside(workspace, "key.change", { keyId, networks });
    expect((await client.write("a", "k", "v")).json.allowed).toBe(true);
  }
});

/** Many clients at once, and other processes beside the daemon: nothing is lost and nothing forks. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { GOVERND } from "../cli/governd-process.ts";
import { eventually } from "../eventually.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import type { Client } from "../support/client.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { engineEnvironment } from "../support/engine.ts";
import { OpenWorkspace } from "../support/open-workspace.ts";
import { temporaryDirectory } from "../temporary.ts";

const CLIENTS = 32;
const WRITES_EACH = 15;

let daemon: TestDaemon;
let workspace: TestWorkspace;
let client: Client;

beforeAll(async () => {
  daemon = await TestDaemon.start({ flags: { threads: "2" } });
  workspace = await daemon.workspace();
  client = workspace.client;
});
afterAll(() => daemon[Symbol.asyncDispose]());

/** Positions have no gap and no repetition, and everything verifies. */
async function expectSoundTrail(): Promise<void> {
  const { view } = workspace;
  const events = view.eventsAfter(-1);
  expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: events.length }, (_, i) => i));
  expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  expect((await view.verify()).problems).toEqual([]);
}

/** Has nothing be committed until the returned function is called. */
async function stopCommits(): Promise<() => void> {
  if (daemon.server !== null) {
    const { server } = daemon;
    await server.freeze();
    return () => server.resume();
  }
  const blocker = new OpenWorkspace(join(daemon.dataDir, "workspaces", `${workspace.id}.db`));
  blocker.connection.exec("BEGIN IMMEDIATE");
  return () => {
    blocker.connection.exec("ROLLBACK");
    blocker[Symbol.dispose]();
  };
}

/** One client that sends one request after another. Returns the acknowledged ones. */
async function keepWriting(agentOf: (i: number) => string, name: number): Promise<[string, string, string][]> {
  const acknowledged: [string, string, string][] = [];
  for (let i = 0; i < WRITES_EACH; i++) {
    const [agent, key, value] = [agentOf(i), `client-${name}/${i}`, `${name}.${i}`];
    const { json, status } = await client.write(agent, key, value);
    if (status === 200 && json.allowed) acknowledged.push([agent, key, value]);
  }
  return acknowledged;
}

test.each([
  ["one agent", () => "one"],
  ["several agents", (i: number) => `several-${i % 5}`],
] as const)(
  "32 clients against %s",
  async (_name, agentOf) => {
    const clients = Array.from({ length: CLIENTS }, (_, name) => keepWriting(agentOf, name));
    const acknowledged = (await Promise.all(clients)).flat();
    expect(acknowledged).toHaveLength(CLIENTS * WRITES_EACH);
    for (const [agent, key, value] of acknowledged.filter((_, i) => i % 7 === 0)) {
      expect((await client.read(agent, key)).json.value).toBe(value);
    }
    await expectSoundTrail();
  },
  PROCESS_TEST_MS,
);

test(
  "everybody updates one config: versions without gaps, and If-Match lets one through",
  async () => {
    await client.configure("config", { start: true });
    const updates = await Promise.all(Array.from({ length: CLIENTS }, (_, i) => client.configure("config", { i })));
    const versions = updates.map(({ json }) => Number(json.version.slice(1))).sort((a, b) => a - b);
    expect(versions).toEqual(Array.from({ length: CLIENTS }, (_, i) => i + 2));
    const current = `"v${CLIENTS + 1}"`;
    const guarded = await Promise.all(
      Array.from({ length: CLIENTS }, (_, i) => client.configure("config", { i }, { "if-match": current })),
    );
    expect(guarded.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(guarded.filter(({ status }) => status === 412)).toHaveLength(CLIENTS - 1);
    await expectSoundTrail();
  },
  PROCESS_TEST_MS,
);

test(
  "another process writes to the same workspace at the same time",
  async () => {
    using directory = temporaryDirectory();
    using other = await OpenWorkspace.beside(daemon.dataDir, workspace.id, directory.path);
    const beside = async () => {
      for (let i = 0; i < 40; i++) {
        const input = { agentId: "shared", key: `other/${i}`, value: String(i), metadata: {} };
        expect((await other.perform("data.write", input)).answer.kind).toBe("json");
        await Bun.sleep(0);
      }
    };
    const clients = Array.from({ length: 8 }, (_, name) => keepWriting(() => "shared", name));
    const [acknowledged] = await Promise.all([Promise.all(clients), beside()]);
    expect(acknowledged.flat()).toHaveLength(8 * WRITES_EACH);
    for (let i = 0; i < 40; i++) expect((await client.read("shared", `other/${i}`)).json.value).toBe(String(i));
    await expectSoundTrail();
  },
  PROCESS_TEST_MS,
);

test(
  "the command line makes and revokes keys meanwhile, and they count at once",
  async () => {
    const command = (...words: string[]) => {
      const child = Bun.spawn([...GOVERND, ...words, "--data-dir", daemon.dataDir, "--json"], {
        env: engineEnvironment(daemon.dataDir),
        stdout: "pipe",
        stderr: "pipe",
      });
      return new Response(child.stdout).json() as Promise<{ api_key: string; key_id: string }>;
    };
    const load = Promise.all(Array.from({ length: 8 }, (_, name) => keepWriting(() => "busy", name)));
    const made = await command("key", "create", "--workspace", workspace.id);
    const fresh = daemon.client(made.api_key);
    expect((await fresh.write("busy", "fresh", "v")).json.allowed).toBe(true);
    await command("key", "revoke", made.key_id);
    expect((await fresh.read("busy", "fresh")).json.code).toBe("unauthenticated");
    expect((await load).flat()).toHaveLength(8 * WRITES_EACH);
    const lines = workspace.view.eventsAfter(-1).map(({ line }) => line);
    expect(lines).toContain("- key.revoke ok");
    await expectSoundTrail();
  },
  PROCESS_TEST_MS,
);

test(
  "more than the queue holds: 503 with Retry-After, nothing is written for it, and the queue recovers",
  async () => {
    const goOn = await stopCommits();
    const value = "x".repeat(1024 * 1024);
    const released = Promise.withResolvers<void>();
    const answers = Array.from({ length: 90 }, async (_, i) => {
      const answered = await client.write("overload", `k${i}`, value);
      if (answered.status === 503) released.resolve();
      return answered;
    });
    await released.promise;
    goOn();
    const settled = await Promise.all(answers);
    const refused = settled.filter(({ status }) => status === 503);
    // A commit that a server has for too long may be done, and is not said to be.
    const unknown = refused.filter(({ json }) => daemon.server !== null && json.code === "outcome_unknown");
    expect(refused.length).toBeGreaterThan(unknown.length);
    for (const { json, headers } of refused.filter((one) => !unknown.includes(one))) {
      expect(json.code).toBe("unavailable");
      expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
      expect(headers.get("x-audit-id")).toBeNull();
    }
    await eventually("writes succeed again", async () => (await client.write("overload", "after", "v")).status === 200);
    const { json } = await client.get("/v1/data/list", { agent_id: "overload", limit: 1000 });
    const done = settled.filter(({ status }) => status === 200).length + 1;
    expect(json.data.length).toBeGreaterThanOrEqual(done);
    expect(json.data.length).toBeLessThanOrEqual(done + unknown.length);
    await expectSoundTrail();
  },
  PROCESS_TEST_MS,
);

test("the log holds requests, and no value or key of them", async () => {
  const log = await daemon.log();
  expect(log).toMatch(/"operation":"(config\.update|data\.write)"/);
  expect(log).not.toContain(client.apiKey);
  expect(log).not.toMatch(/client-\d|xxxxxxxx/);
});

test(
  "of writers that compare and set, none loses what another one added",
  async () => {
    const WRITERS = 8;
    const EACH = 12;
    /** Adds one to the counter, as often as it takes. Returns how many attempts met another writer's. */
    const add = async (): Promise<number> => {
      for (let conflicts = 0; ; conflicts++) {
        const read = await client.read("counted", "n");
        const etag = read.headers.get("etag");
        const condition = etag === null ? { "if-none-match": "*" } : { "if-match": etag };
        const value = String(read.status === 404 ? 1 : Number(read.json.value) + 1);
        const body = { agent_id: "counted", key: "n", value };
        const { status, json } = await client.send({ path: "/v1/data/write", body, headers: condition });
        if (status === 200) return conflicts;
        expect([status, json.code]).toEqual([412, "version_conflict"]);
      }
    };
    const writer = async (): Promise<number> => {
      let conflicts = 0;
      for (let i = 0; i < EACH; i++) conflicts += await add();
      return conflicts;
    };
    const conflicts = (await Promise.all(Array.from({ length: WRITERS }, writer))).reduce((a, b) => a + b);
    expect((await client.read("counted", "n")).json.value).toBe(String(WRITERS * EACH));
    // They did meet: otherwise nothing is shown.
    expect(conflicts).toBeGreaterThan(0);
    await expectSoundTrail();
  },
  PROCESS_TEST_MS,
);

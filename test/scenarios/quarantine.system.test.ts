/** What is set aside: absent for every program, marked for people, released again, and replayed by both verifiers. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { type Person, signUp, tokenOf } from "../account/browser.ts";
import type { Answered, Client } from "../support/client.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { freshAgent, type Scene, scenarios } from "../support/scenario.ts";
import { HAS_PYTHON, SecondVerifier } from "../verify/second-verifier.ts";

let daemon: TestDaemon;
let person: Person;
let workspace: TestWorkspace;
let client: Client;
beforeAll(async () => {
  daemon = await TestDaemon.start();
  person = await signUp(daemon, tokenOf(daemon.signUpUrl));
  const { workspaceId, apiKey } = person;
  client = daemon.client(apiKey as string);
  workspace = { id: workspaceId, client, view: daemon.viewOf(workspaceId) };
});
const second = new SecondVerifier();
afterAll(async () => {
  await second[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});
// What each test did fits what is stored, as both programs say.
afterEach(async () => {
  const { json } = await client.post("/v1/audit/verify", { scope: "workspace" });
  expect(json.valid ? json.valid : json).toBe(true);
  if (!HAS_PYTHON) return;
  const said = await second.run(join(daemon.dataDir, "workspaces", `${workspace.id}.db`));
  expect(said.codes).toEqual([]);
});

/** Asks as the person. */
const look = (path: string): Promise<Answered> => person.browser.get(path, { "x-workspace-id": person.workspaceId });

const preview = (agent: string, what: object): Promise<Answered> =>
  client.post("/v1/quarantine", { agent_id: agent, reason: "It is poisoned.", ...what });

/** Sets aside after a preview. */
async function setAside(agent: string, what: object): Promise<Answered> {
  const { json } = await preview(agent, what);
  return preview(agent, { ...what, confirm_digest: json.digest });
}

const release = (query: Record<string, string>): Promise<Answered> =>
  client.delete("/v1/quarantine", { reason: "It was fine.", ...query });

/** Writes a value. Returns its version. */
const write = async (agent: string, key: string, value: string): Promise<string> =>
  (await client.write(agent, key, value)).json.audit_id;

const keysOf = ({ json }: Answered): string[] => json.data.map(({ key }: { key: string }) => key);

/** What a scenario asks: to set a key of its agent aside, or what is given. */
const place =
  (more: object | ((scene: Scene) => object) = { key: "k" }) =>
  (scene: Scene) => ({
    path: "/v1/quarantine",
    body: { agent_id: scene.agent, reason: "r", ...(typeof more === "function" ? more(scene) : more) },
  });

/** Writes an entry, and returns its version and the digest of the set that has it alone. */
async function written({ agent }: Scene): Promise<{ version: string; digest: string }> {
  const version = await write(agent, "k", "v");
  return { version, digest: (await preview(agent, { key: "k" })).json.digest };
}

const UNKNOWN = "aud_01jz8v5q2pf0tbq3y8r6w1m9ck";
const OF_UNKNOWN = { key: "k", version: UNKNOWN };

describe("a request", () => {
  scenarios(
    () => workspace,
    [
      {
        name: "previews what it names",
        given: written,
        request: place(),
        status: 200,
        appends: ["agent quarantine.preview ok"],
        body: ({ made, agent }) => ({
          count: 1,
          items: [{ audit_id: made.version, agent_id: agent, key: "k", present: true }],
          digest: made.digest,
        }),
        details: { count: 1 },
      },
      {
        name: "sets aside what the digest confirms",
        given: written,
        request: place(({ made }) => ({ audit_id: made.version, confirm_digest: made.digest })),
        status: 200,
        appends: ["agent quarantine.set ok"],
        changes: ["entries"],
        body: { count: 1 },
        details: (_, { json }) => ({ reason: "r", versions: [json.items[0].seq] }),
      },
      {
        name: "sets nothing aside when the set is another one by now",
        given: async (scene) => {
          const { digest } = await written(scene);
          await write(scene.agent, "k", "newer");
          return digest;
        },
        request: place(({ made }) => ({ key: "k", confirm_digest: made })),
        status: 409,
        code: "preview_changed",
        appends: ["agent quarantine.set conflict"],
        details: { code: "preview_changed" },
      },
      {
        name: "says that all of it is set aside already",
        given: async ({ agent }) => {
          await write(agent, "k", "v");
          await setAside(agent, { key: "k" });
        },
        request: place(),
        status: 409,
        code: "already_quarantined",
        appends: ["agent quarantine.preview conflict"],
        details: { code: "already_quarantined" },
      },
      {
        name: "finds no entry",
        given: ({ agent }) => write(agent, "other", "v"),
        request: place(),
        status: 404,
        code: "entry_not_found",
        appends: ["agent quarantine.preview not_found"],
        details: { code: "entry_not_found" },
      },
      {
        name: "finds no agent",
        request: place(),
        status: 404,
        code: "entry_not_found",
        appends: ["- quarantine.preview not_found"],
        details: ({ agent }: Scene) => ({ agent_id: agent, code: "entry_not_found" }),
      },
      {
        name: "finds no version",
        given: written,
        request: place(OF_UNKNOWN),
        status: 404,
        code: "version_not_found",
        appends: ["agent quarantine.preview not_found"],
        details: { code: "version_not_found" },
      },
      {
        name: "finds no event, also not one of another agent",
        given: async ({ agent }) => {
          await write(agent, "k", "v");
          return write(freshAgent(), "k", "v");
        },
        request: place(({ made }) => ({ audit_id: made, confirm_digest: "0".repeat(64) })),
        status: 404,
        code: "audit_event_not_found",
        appends: ["agent quarantine.set not_found"],
        details: { code: "audit_event_not_found" },
      },
      {
        name: "names an event that is no write",
        given: async ({ agent }) => {
          await write(agent, "k", "v");
          return (await client.read(agent, "k")).headers.get("x-audit-id");
        },
        request: place(({ made }) => ({ audit_id: made })),
        status: 409,
        code: "not_a_write",
        appends: ["agent quarantine.preview conflict"],
        details: { code: "not_a_write" },
      },
      {
        name: "names a version that is no longer kept",
        given: async ({ agent }) => {
          await client.configure(agent, { policies: { history_days: 0 } });
          const version = await write(agent, "k", "v");
          await write(agent, "k", "w");
          return version;
        },
        request: place(({ made }) => ({ key: "k", version: made })),
        status: 410,
        code: "version_gone",
        appends: ["agent quarantine.preview not_found"],
        details: { code: "version_gone" },
        body: { kept_since: expect.stringMatching(/Z$/) },
      },
      {
        name: "has a reason that a policy refuses, and that is not repeated",
        given: async (scene) => {
          await client.configure(scene.agent, { policies: { block_pii: true } });
          return written(scene);
        },
        request: place(({ made }) => ({ key: "k", reason: "ask maria.keller@posteo.de", confirm_digest: made.digest })),
        status: 409,
        code: "blocked",
        appends: ["agent quarantine.set blocked"],
        check: (_, { text }) => expect(text).not.toContain("maria"),
      },
      {
        name: "releases a version",
        given: async (scene) => {
          const { version, digest } = await written(scene);
          await preview(scene.agent, { key: "k", confirm_digest: digest });
          return version;
        },
        request: ({ agent, made }) => ({
          method: "DELETE",
          path: "/v1/quarantine",
          query: { agent_id: agent, version: made, reason: "r" },
        }),
        status: 200,
        appends: ["agent quarantine.release ok"],
        changes: ["entries"],
        body: { count: 1 },
        details: (_, { json }) => ({ reason: "r", versions: [json.items[0].seq] }),
      },
      {
        name: "releases nothing that is not set aside",
        given: written,
        request: ({ agent, made }) => ({
          method: "DELETE",
          path: "/v1/quarantine",
          query: { agent_id: agent, version: made.version, reason: "r" },
        }),
        status: 404,
        code: "quarantine_not_found",
        appends: ["agent quarantine.release not_found"],
        details: {},
      },
      {
        name: "releases nothing of an unknown quarantine",
        request: () => ({ method: "DELETE", path: "/v1/quarantine", query: { quarantine: UNKNOWN, reason: "r" } }),
        status: 404,
        code: "quarantine_not_found",
        appends: ["- quarantine.release not_found"],
        details: {},
      },
    ],
  );

  test.each([
    ["POST", { key: "k" }, "reason"],
    ["POST", { reason: "r" }, "key"],
    ["POST", { reason: "r", version: UNKNOWN }, "key"],
    ["POST", { reason: "r", key: "k", audit_id: UNKNOWN }, "audit_id"],
    ["POST", { reason: "", key: "k" }, "reason"],
    ["POST", { reason: "r", key: "k", confirm_digest: "none" }, "confirm_digest"],
    ["POST", { reason: "r", key: "k", version: "v1" }, "version"],
    ["POST", { reason: "r", key: "k", include_effects: 6 }, "include_effects"],
    ["POST", { reason: "r", key: "k", include_effects: 0 }, "include_effects"],
    ["DELETE", {}, "reason"],
    ["DELETE", { reason: "r" }, "version"],
    ["DELETE", { reason: "r", quarantine: UNKNOWN }, "quarantine"],
  ])("%s with %p is refused, and says what is wrong with %s", async (method, sent, param) => {
    const agent = freshAgent();
    const given = { agent_id: agent, ...sent };
    const answer =
      method === "POST"
        ? await client.post("/v1/quarantine", given)
        : await client.delete("/v1/quarantine", given as Record<string, string>);
    expect(answer.json).toMatchObject({ status: 400, code: "invalid_request", param });
  });

  test("works on a suspended agent, and needs the scope full", async () => {
    const agent = freshAgent();
    await write(agent, "k", "v");
    await client.post(`/v1/agents/${agent}/suspend`, {});
    expect((await setAside(agent, { key: "k" })).json.count).toBe(1);
    for (const scope of ["agent", "auditor"] as const) {
      const other = await daemon.clientWith(workspace.id, { scope });
      const asked = await other.post("/v1/quarantine", { agent_id: agent, key: "k", reason: "r" });
      expect(asked.json).toMatchObject({ status: 403, code: "forbidden" });
      const released = await other.delete("/v1/quarantine", { agent_id: agent, version: UNKNOWN, reason: "r" });
      expect(released.status).toBe(403);
    }
  });
});

describe("a version that is set aside", () => {
  test("is previewed, and set aside when the digest confirms the set", async () => {
    const agent = freshAgent();
    const version = await write(agent, "k", "v");
    const { view } = workspace;
    const shown = await preview(agent, { key: "k" });
    const item = { audit_id: version, agent_id: agent, key: "k", present: true };
    expect(structuredClone(shown.json)).toMatchObject({
      count: 1,
      items: [item],
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect((await client.read(agent, "k")).status).toBe(200);
    const done = await preview(agent, { key: "k", confirm_digest: shown.json.digest });
    expect(done.json).toMatchObject({ count: 1, items: [item], audit_id: expect.stringMatching(/^aud_/) });
    const event = view.eventsAfter(-1).at(-1);
    expect(event).toMatchObject({ operation: "quarantine.set", result: "ok", agentId: agent });
    expect(event?.details).toEqual({ reason: "It is poisoned.", versions: [shown.json.items[0].seq] });
  });

  test("is absent for a program: reads, lists, queries, searches, deletions and conditions", async () => {
    const agent = freshAgent();
    const version = await write(agent, "poison", "the moon is made of cheese");
    await write(agent, "fine", "the moon is made of rock");
    await setAside(agent, { key: "poison" });
    const query = { agent_id: agent, key: "poison" };
    for (const path of ["/v1/data/read", "/v1/data/read-full"]) {
      const missing = await client.get(path, query);
      expect(missing.json).toMatchObject({ status: 404, code: "entry_not_found", quarantined: true });
    }
    expect((await client.get("/v1/data/read", { ...query, key: "none" })).json.quarantined).toBeUndefined();
    const list = await client.get("/v1/data/list", { agent_id: agent, count: true });
    expect([keysOf(list), list.json.total]).toEqual([["fine"], 1]);
    const sorted = { agent_id: agent, include_values: true, sort: "updated_at" };
    expect(keysOf(await client.get("/v1/data/list", sorted))).toEqual(["fine"]);
    expect(keysOf(await client.post("/v1/data/query", { agent_id: agent, filter: {} }))).toEqual(["fine"]);
    for (const more of [{}, { collapse: true }, { limit: 1 }]) {
      const found = await client.post("/v1/data/search", { agent_id: agent, query: "moon cheese", ...more });
      expect(keysOf(found)).toEqual(["fine"]);
    }
    const operations = [{ op: "read", key: "poison" }];
    const batch = await client.post("/v1/data/batch", { agent_id: agent, operations });
    expect(batch.json.results).toEqual([{ found: false, key: "poison", quarantined: true }]);
    expect((await client.delete("/v1/data", query)).json).toMatchObject({ status: 404, quarantined: true });
    const prefix = await client.delete("/v1/data/prefix", { agent_id: agent, prefix: "p" });
    expect(prefix.json.deleted).toBe(0);
    const conditional = { agent_id: agent, key: "poison", value: "w", if_version: version };
    const conflict = await client.post("/v1/data/write", conditional);
    expect(conflict.json).toMatchObject({ status: 412, current_version: null });
    const revert = await client.post("/v1/data/revert", { agent_id: agent, key: "poison", version });
    expect(revert.json).toMatchObject({ status: 409, code: "version_quarantined" });
    expect((await client.get(`/v1/agents/${agent}`)).json.entries).toBe(1);
  });

  test("is marked for people, and its history shows a row without value to programs", async () => {
    const agent = freshAgent();
    const version = await write(agent, "k", "v");
    await setAside(agent, { key: "k" });
    const about = `agent_id=${agent}&key=k`;
    expect((await look(`/v1/data/read?${about}`)).json).toMatchObject({ value: "v", quarantined: true });
    expect((await look(`/v1/data/read-full?${about}`)).json).toMatchObject({ value: "v", quarantined: true });
    const [entry] = (await look(`/v1/data/list?agent_id=${agent}&include_values=true`)).json.data;
    expect(entry).toMatchObject({ key: "k", value: "v", quarantined: true });
    const history = `/v1/data/versions?${about}&include_values=true`;
    const [seen] = (await look(history)).json.data;
    expect(seen).toMatchObject({ version, value: "v", quarantined: true });
    const [hidden] = (await client.send({ path: history })).json.data;
    expect(hidden).toMatchObject({ version, quarantined: true });
    expect(hidden.value).toBeUndefined();
    expect(hidden.metadata).toBeUndefined();
    const { details } = workspace.view.eventsAfter(-1).at(-1) ?? {};
    expect(details).toEqual({ key: "k", count: 1, returned: [] });
  });

  test("is kept as history when a program writes its key, which is then a new entry", async () => {
    const agent = freshAgent();
    const version = await write(agent, "k", "bad");
    await setAside(agent, { key: "k" });
    expect(
      (
        await client.send({
          path: "/v1/data/write",
          body: { agent_id: agent, key: "k", value: "good", if_version: null },
        })
      ).json.allowed,
    ).toBe(true);
    const read = await client.get("/v1/data/read-full", { agent_id: agent, key: "k" });
    expect(read.json.value).toBe("good");
    expect(read.json.created_at).toBe(read.json.updated_at);
    const { data } = (await client.get("/v1/data/versions", { agent_id: agent, key: "k" })).json;
    expect(data.map((one: { quarantined: boolean }) => one.quarantined)).toEqual([false, true]);
    const released = await release({ agent_id: agent, version });
    expect(released.json).toMatchObject({ count: 1, items: [{ audit_id: version, present: false }] });
    expect((await client.read(agent, "k")).json.value).toBe("good");
  });

  test("can be erased as an ended version, and so can the one that a program wrote over it", async () => {
    const agent = freshAgent();
    const poisoned = await write(agent, "k", "poisoned");
    await setAside(agent, { key: "k" });
    const fresh = await write(agent, "k", "fresh");
    const last = await write(agent, "k", "last");
    for (const version of [fresh, poisoned]) {
      const erased = await client.delete("/v1/data/versions", { agent_id: agent, key: "k", version });
      expect(erased.status).toBe(200);
    }
    const { json } = await client.get(`/v1/data/versions?agent_id=${agent}&key=k`);
    expect(json.data.map(({ version }: { version: string }) => version)).toEqual([last]);
    expect(await release({ agent_id: agent, version: poisoned })).toMatchObject({ status: 404 });
  });

  test("does not come back with a restore by a program", async () => {
    const agent = freshAgent();
    await write(agent, "k", "bad");
    await write(agent, "fine", "v");
    const { json: checkpoint } = await client.checkpoint(agent);
    await write(agent, "k", "newer");
    await setAside(agent, {
      key: "k",
      version: (await client.get("/v1/data/versions", { agent_id: agent, key: "k" })).json.data[1].version,
    });
    const state = await client.get(`/v1/checkpoints/${checkpoint.id}`);
    expect(state.json.state.entries.map(({ key }: { key: string }) => key)).toEqual(["fine"]);
    const restored = await client.send({ method: "POST", path: `/v1/checkpoints/${checkpoint.id}/restore`, body: {} });
    expect(restored.json).toMatchObject({ entries_restored: 0, entries_removed: 1, entries_unchanged: 1 });
    expect((await client.read(agent, "k")).status).toBe(404);
  });

  test("is visible again when it is released: one version, or all of an event", async () => {
    const agent = freshAgent();
    const version = await write(agent, "k", "v");
    await setAside(agent, { audit_id: version });
    expect((await release({ agent_id: agent, version })).json).toMatchObject({ count: 1 });
    expect((await client.read(agent, "k")).json.value).toBe("v");
    const { json } = await setAside(agent, { key: "k", version });
    const all = await client.send({
      method: "DELETE",
      path: `/v1/quarantine?quarantine=${json.audit_id}`,
      body: { reason: "r" },
    });
    expect(all.json).toMatchObject({ count: 1 });
    expect((await client.read(agent, "k")).status).toBe(200);
    expect((await release({ quarantine: json.audit_id })).json.code).toBe("quarantine_not_found");
  });
});

describe("what followed from a version", () => {
  /** Has the same program, in one session, be shown one entry and write another. */
  async function follows(
    session: string,
    [from, key]: [string, string],
    [to, next]: [string, string],
  ): Promise<string> {
    const headers = { "governd-session": session };
    await client.send({ path: "/v1/data/read", query: { agent_id: from, key }, headers });
    const body = { agent_id: to, key: next, value: `from ${key}` };
    return (await client.send({ path: "/v1/data/write", body, headers })).json.audit_id;
  }

  /** Three agents: what the first holds leads to a write of the second, and that to one of the third. */
  async function chain() {
    const [one, two, three] = [freshAgent(), freshAgent(), freshAgent()];
    const poison = await write(one, "a", "poison");
    const second = await follows(`s-${one}`, [one, "a"], [two, "b"]);
    const third = await follows(`t-${one}`, [two, "b"], [three, "c"]);
    return { agents: [one, two, three] as const, versions: [poison, second, third] as const };
  }

  const auditIds = ({ json }: Answered) => json.items.map((item: { audit_id: string }) => item.audit_id);

  test("is in the set, so many steps far, across agents, and each item says how it was reached", async () => {
    const { agents, versions } = await chain();
    expect(auditIds(await preview(agents[0], { key: "a" }))).toEqual(versions.slice(0, 1));
    expect(auditIds(await preview(agents[0], { key: "a", include_effects: 1 }))).toEqual(versions.slice(0, 2));
    const two = await preview(agents[0], { key: "a", include_effects: 2 });
    expect(auditIds(two)).toEqual([...versions]);
    const [named, first, second] = two.json.items;
    expect(named).toMatchObject({ agent_id: agents[0], depth: 0, from: null, through: null });
    expect(first).toMatchObject({ agent_id: agents[1], key: "b", depth: 1, from: versions[0] });
    expect(second).toMatchObject({ agent_id: agents[2], key: "c", depth: 2, from: versions[1] });
    expect(second.through).toMatch(/^aud_/);
  });

  test("is set aside in one event, in the chain of the agent that is named, and released as a whole", async () => {
    const { agents, versions } = await chain();
    const { json } = await setAside(agents[0], { audit_id: versions[0], include_effects: 5 });
    expect(json.count).toBe(3);
    const event = workspace.view.eventsAfter(-1).at(-1);
    expect(event).toMatchObject({ operation: "quarantine.set", agentId: agents[0] });
    const positions = json.items.map(({ seq }: { seq: number }) => seq);
    expect(event?.details).toEqual({ reason: "It is poisoned.", versions: positions, include_effects: 5 });
    for (const [at, key] of ["a", "b", "c"].entries()) {
      expect((await client.read(agents[at] as string, key)).json.quarantined).toBe(true);
    }
    expect((await setAside(agents[0], { key: "a", version: versions[0], include_effects: 5 })).json.code).toBe(
      "already_quarantined",
    );
    expect((await release({ agent_id: agents[1], version: versions[1] })).json.count).toBe(1);
    expect((await release({ quarantine: json.audit_id })).json.count).toBe(2);
    for (const [at, key] of ["a", "b", "c"].entries()) {
      expect((await client.read(agents[at] as string, key)).status).toBe(200);
    }
  });

  test("is not what a preview showed, once more has followed", async () => {
    const { agents, versions } = await chain();
    const what = { audit_id: versions[0], include_effects: 3 };
    const { digest } = (await preview(agents[0], what)).json;
    await follows("later", [agents[2], "c"], [agents[2], "d"]);
    expect((await preview(agents[0], { ...what, confirm_digest: digest })).json.code).toBe("preview_changed");
    expect((await setAside(agents[0], what)).json.count).toBe(4);
  });

  test("is only what a key may reach that is limited to agents", async () => {
    const { agents, versions } = await chain();
    const limited = await daemon.clientWith(workspace.id, { scope: "full", agents: [agents[0]] });
    const asked = { agent_id: agents[0], key: "a", include_effects: 5, reason: "r" };
    expect(auditIds(await limited.post("/v1/quarantine", asked))).toEqual(versions.slice(0, 1));
    const { json } = await setAside(agents[0], { key: "a", include_effects: 5 });
    const released = await limited.delete("/v1/quarantine", { quarantine: json.audit_id, reason: "r" });
    expect(released.json.code).toBe("quarantine_not_found");
    const other = await limited.delete("/v1/quarantine", { agent_id: agents[1], version: versions[1], reason: "r" });
    expect(other.json.code).toBe("forbidden");
  });
});

const CLIENTS = 20;
const ROUNDS = 8;

// What a program is shown is in its event, and both verifiers refuse one that was set aside then.
test("twenty clients write, read, list, set aside and release at once", async () => {
  const agent = freshAgent();
  const sets = new Set<string>();
  const count = { set: 0, released: 0, changed: 0 };
  const oneClient = async (number: number): Promise<void> => {
    for (let round = 0; round < ROUNDS; round++) {
      const key = `k${(number + round) % 5}`;
      const version = await write(agent, key, `${number} ${round}`);
      await Promise.all([
        client.get("/v1/data/list", { agent_id: agent, include_values: true, sort: "updated_at" }),
        client.post("/v1/data/search", { agent_id: agent, query: `${number}` }),
        client.get("/v1/data/versions", { agent_id: agent, key, include_values: true }),
      ]);
      const { json } = await setAside(agent, { key, version });
      if (json.count === 1) {
        count.set++;
        sets.add(json.audit_id);
        const after = await client.get("/v1/data/versions", { agent_id: agent, key, include_values: true });
        expect(after.status).toBe(200);
        const own = after.json.data.find((one: { version: string }) => one.version === version);
        if (own.quarantined) expect(own.value).toBeUndefined();
      } else if (json.code === "preview_changed") count.changed++;
      await client.read(agent, key);
      const [some] = sets;
      if (number % 2 === 0 && some !== undefined && sets.delete(some)) {
        const released = await release({ quarantine: some });
        if (released.status === 200) count.released++;
      }
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, (_, number) => oneClient(number)));
  expect(count).toMatchObject({ set: CLIENTS * ROUNDS, changed: 0 });
  expect(count.released).toBeGreaterThan(0);
  const marked = (await look(`/v1/data/list?agent_id=${agent}`)).json.data;
  const seen = (await client.get("/v1/data/list", { agent_id: agent })).json.data;
  const free = marked.filter(({ quarantined }: { quarantined?: true }) => quarantined !== true);
  expect(seen.map(({ key }: { key: string }) => key)).toEqual(free.map(({ key }: { key: string }) => key));
});

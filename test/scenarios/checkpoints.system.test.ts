/** Checkpoints: made, listed, read with their state, restored, undone, deleted. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Client } from "../support/client.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { freshAgent, type Scenario, type Scene, scenarios } from "../support/scenario.ts";

let daemon: TestDaemon;
let workspace: TestWorkspace;
/** Keys of lesser scope for the same workspace. */
let agentScope: Client;

beforeAll(async () => {
  daemon = await TestDaemon.start({ confided: true });
  workspace = await daemon.workspace();
  agentScope = await daemon.clientWith(workspace.id, { scope: "agent" });
});
afterAll(() => daemon[Symbol.asyncDispose]());

const EMAIL = "jane.roe@acme.io";
const SEQ = expect.any(Number);
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const KEY = expect.stringMatching(/^key_[0-9a-z]{26}$/);
const CHECKPOINT = expect.stringMatching(/^cp_[0-9a-z]{26}$/);
const NO_SUCH = "cp_01h455vb4pex5vsknk084sn02q";
/** What a checkpoint id that names nothing can look like. */
const UNFINDABLE = [NO_SUCH, "cp_x", "aud_01h455vb4pex5vsknk084sn02q", "%25"];

/** What `given` made: the id of a checkpoint, or more with it. */
const idOf = (made: string | { id: string }): string => (typeof made === "string" ? made : made.id);

const one =
  (rest = "") =>
  ({ made }: Scene) => ({ path: `/v1/checkpoints/${idOf(made)}${rest}` });
const restore =
  (body?: object) =>
  ({ made }: Scene) => ({ method: "POST", path: `/v1/checkpoints/${idOf(made)}/restore`, ...(body && { body }) });
const remove = ({ made }: Scene) => ({ method: "DELETE", path: `/v1/checkpoints/${idOf(made)}` });

async function put({ client, agent }: Scene, values: Record<string, string>): Promise<void> {
  for (const [key, value] of Object.entries(values)) await client.write(agent, key, value, { of: key });
}

/** Makes a checkpoint; its id is what the scenario made. */
const make = async ({ client, agent }: Scene, rest: object = {}): Promise<string> =>
  (await client.checkpoint(agent, rest)).json.id;

async function valuesOf(client: Client, agent: string): Promise<Record<string, string>> {
  const { json } = await client.get("/v1/data/list", { agent_id: agent, include_values: true });
  return Object.fromEntries(json.data.map(({ key, value }: { key: string; value: string }) => [key, value]));
}

async function stateOf(client: Client, id: string): Promise<Record<string, string>> {
  const { json } = await client.get(`/v1/checkpoints/${id}`);
  return Object.fromEntries(json.state.entries.map(({ key, value }: { key: string; value: string }) => [key, value]));
}

describe("making", () => {
  scenarios(
    () => workspace,
    [
      {
        name: "the first checkpoint begins the agent",
        request: ({ agent }) => ({ path: "/v1/checkpoints", body: { agent_id: agent } }),
        status: 201,
        appends: ["agent checkpoint.create ok"],
        changes: ["agents", "checkpoints"],
        check: ({ agent, workspace: { view } }, { json }) =>
          expect(structuredClone(json)).toEqual({
            id: CHECKPOINT,
            agent_id: agent,
            label: null,
            metadata: {},
            created_at: TIME,
            created_by: KEY,
            config_version: null,
            entry_count: 0,
            audit_seq: view.head,
            before_restore: false,
          }),
      },
      {
        name: "copies no entry",
        given: async (scene) => {
          await scene.client.configure(scene.agent, {});
          await put(scene, { a: "1", b: "2" });
        },
        request: ({ agent }) => ({
          path: "/v1/checkpoints",
          body: { agent_id: agent, label: "before \u{1F600}", metadata: { b: 1, a: ["x"] } },
        }),
        status: 201,
        appends: ["agent checkpoint.create ok"],
        changes: ["checkpoints"],
        body: { label: "before \u{1F600}", metadata: { a: ["x"], b: 1 }, config_version: "v1", entry_count: 2 },
        details: (_scene: Scene, { json }: { json: { id: string; audit_seq: number } }) => ({
          checkpoint_id: json.id,
          as_of_seq: json.audit_seq,
          entry_count: 2,
          label: "before \u{1F600}",
          metadata: { a: ["x"], b: 1 },
        }),
      },
      ...(
        [
          [{}, "agent_id"],
          [{ agent_id: "a b" }, "agent_id"],
          [{ agent_id: "a", label: "x".repeat(257) }, "label"],
          [{ agent_id: "a", label: "a\nb" }, "label"],
          [{ agent_id: "a", label: 1 }, "label"],
          [{ agent_id: "a", metadata: "m" }, "metadata"],
          [{ agent_id: "a", metadata: { a: "x".repeat(65_536) } }, "metadata"],
          [{ agent_id: "a", state: {} }, "state"],
        ] as const
      ).map(
        ([body, param]): Scenario => ({
          name: `refused: ${JSON.stringify(body).slice(0, 50)}`,
          request: () => ({ path: "/v1/checkpoints", body }),
          status: 400,
          code: "invalid_request",
          param,
          appends: [],
        }),
      ),
    ],
  );
});

/** A change as a comparison shows it. */
interface Changed {
  key: string;
  change: string;
  from: { value: string } | null;
  to: { value: string } | null;
}

describe("reading", () => {
  scenarios(
    () => workspace,
    [
      {
        name: "with its state: the config and the entries of that moment",
        given: async (scene) => {
          const { client, agent } = scene;
          await client.configure(agent, { model: "old" });
          await put(scene, { b: "1", a: "kept", c: "deleted later" });
          const id = await make(scene);
          await client.configure(agent, { model: "new" });
          await put(scene, { b: "2", d: "new" });
          await client.delete("/v1/data", { agent_id: agent, key: "c" });
          return id;
        },
        request: one(),
        status: 200,
        appends: ["agent checkpoint.read ok"],
        details: ({ made }: Scene) => ({ checkpoint_id: made, returned: [SEQ, SEQ, SEQ] }),
        check: ({ agent, made }, { json }) => {
          const times = { created_at: TIME, updated_at: TIME };
          expect(structuredClone(json)).toEqual({
            id: made,
            agent_id: agent,
            label: null,
            metadata: {},
            created_at: TIME,
            created_by: KEY,
            config_version: "v1",
            entry_count: 3,
            audit_seq: expect.any(Number),
            before_restore: false,
            state: {
              config: { version: "v1", config: { model: "old" }, created_at: TIME, created_by: KEY },
              entries: [
                { key: "a", value: "kept", metadata: { of: "a" }, ...times },
                { key: "b", value: "1", metadata: { of: "b" }, ...times },
                { key: "c", value: "deleted later", metadata: { of: "c" }, ...times },
              ],
            },
          });
        },
      },
      {
        name: "of an agent without a config and without entries",
        given: (scene) => make(scene),
        request: one(),
        status: 200,
        appends: ["agent checkpoint.read ok"],
        body: { state: { config: null, entries: [] } },
      },
      {
        name: "with more entries than are read at once",
        given: async (scene) => {
          const { client, agent } = scene;
          const keys = Array.from({ length: 150 }, (_, i) => `k${String(i).padStart(3, "0")}`);
          await Promise.all(keys.map((key) => client.write(agent, key, key)));
          const id = await make(scene);
          await Promise.all(keys.slice(50, 120).map((key) => client.write(agent, key, "other")));
          return id;
        },
        request: one(),
        status: 200,
        appends: ["agent checkpoint.read ok"],
        check: (_scene, { json }) => {
          const { entries } = json.state;
          expect(entries).toHaveLength(150);
          for (const { key, value } of entries) expect(value).toBe(key);
        },
      },
      {
        name: "compared with now: what came, changed and went, and the configuration of both",
        given: async (scene) => {
          const { client, agent } = scene;
          await client.configure(agent, { model: "old" });
          await put(scene, { b: "1", a: "kept", c: "deleted later", e: "written again" });
          const id = await make(scene);
          await client.configure(agent, { model: "new" });
          await put(scene, { b: "2", d: "new", e: "other" });
          await put(scene, { e: "written again" });
          await client.delete("/v1/data", { agent_id: agent, key: "c" });
          return id;
        },
        request: ({ made }) => ({ path: `/v1/checkpoints/${made}/changes` }),
        status: 200,
        appends: ["agent checkpoint.compare ok"],
        details: ({ made }: Scene) => ({ checkpoint_id: made, count: 3, returned: [SEQ, SEQ, SEQ, SEQ] }),
        check: async ({ client, made, agent }, { json }) => {
          const counts = { added: 1, changed: 1, removed: 1, unchanged: 2 };
          expect(json).toMatchObject({
            ...counts,
            from_config_version: "v1",
            to_config_version: "v2",
            has_more: false,
            checkpoint: { id: made, agent_id: agent, label: null, entry_count: 4, before_restore: false },
          });
          const shown = json.data.map((one: Changed) => [one.key, one.change, one.from?.value, one.to?.value]);
          expect(shown).toEqual([
            ["b", "changed", "1", "2"],
            ["c", "removed", "deleted later", undefined],
            ["d", "added", undefined, "new"],
          ]);
          const later = (await client.checkpoint(agent)).json.id as string;
          const back = await client.get(`/v1/checkpoints/${later}/changes`, { to: made });
          expect(back.json.data.map(({ key, change }: Changed) => `${key} ${change}`)).toEqual([
            "b changed",
            "c added",
            "d removed",
          ]);
          const pages: string[] = [];
          for (let cursor: string | null = ""; cursor !== null; ) {
            const query: Record<string, string | number> = { to: later, limit: 1, ...(cursor !== "" && { cursor }) };
            const { json: page } = await client.get(`/v1/checkpoints/${made}/changes`, query);
            pages.push(...page.data.map(({ key }: Changed) => key));
            cursor = page.next_cursor as string | null;
          }
          expect(pages).toEqual(["b", "c", "d"]);
        },
      },
      {
        name: "compared with itself and with one of another agent",
        given: async (scene) => {
          await put(scene, { a: "1" });
          return { id: await make(scene), other: (await scene.client.checkpoint("stranger")).json.id as string };
        },
        request: ({ made }) => ({ path: `/v1/checkpoints/${made.id}/changes?to=${made.other}` }),
        status: 400,
        code: "invalid_request",
        param: "to",
        appends: [],
        check: async ({ client, made }) => {
          const { json } = await client.get(`/v1/checkpoints/${made.id}/changes`, { to: made.id });
          expect(json).toMatchObject({ data: [], unchanged: 1 });
        },
      },
      {
        name: "page by page",
        given: async (scene) => {
          await put(scene, Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`k${10 + at}`, "v"])));
          return make(scene);
        },
        request: ({ made }) => ({ path: `/v1/checkpoints/${made}?limit=17` }),
        status: 200,
        appends: ["agent checkpoint.read ok"],
        check: async ({ client, made }, { json }) => {
          expect(json.state.entries).toHaveLength(17);
          const { next_cursor: cursor } = json.state;
          const rest = await client.get(`/v1/checkpoints/${made}`, { limit: 3, cursor });
          expect(rest.json.state.entries.map(({ key }: Changed) => key)).toEqual(["k27", "k28", "k29"]);
          expect(rest.json.state.next_cursor).toBeNull();
          const strange = await client.get(`/v1/checkpoints/${made}`, { cursor: "nonsense" });
          expect(strange.json).toMatchObject({ status: 400, param: "cursor" });
        },
      },
      ...UNFINDABLE.flatMap((id): Scenario[] =>
        (
          [
            ["GET", "", "checkpoint.read"],
            ["GET", "/changes", "checkpoint.compare"],
            ["POST", "/restore", "checkpoint.restore"],
            ["DELETE", "", "checkpoint.delete"],
          ] as const
        ).map(([method, rest, operation]) => ({
          name: `${method} ${id}${rest}: simply not found, among the workspace's own events`,
          request: () => ({ method, path: `/v1/checkpoints/${id}${rest}` }),
          status: 404,
          code: "checkpoint_not_found",
          appends: [`- ${operation} not_found`],
          details: { checkpoint_id: decodeURIComponent(id) },
        })),
      ),
      {
        name: "list: newest first, without state",
        given: async (scene) => {
          const first = await make(scene, { label: "first" });
          return [await make(scene, { label: "second" }), first];
        },
        request: ({ agent }) => ({ path: "/v1/checkpoints", query: { agent_id: agent } }),
        status: 200,
        appends: ["agent checkpoint.list ok"],
        details: { count: 2 },
        check: ({ made }, { json }) => {
          expect(json.data.map(({ id }: { id: string }) => id)).toEqual(made);
          expect(json.data.map(({ label }: { label: string }) => label)).toEqual(["second", "first"]);
          expect(json.data[0]).not.toHaveProperty("state");
          expect(json).toMatchObject({ has_more: false, next_cursor: null });
        },
      },
      {
        name: "list: an agent that never began is empty",
        request: ({ agent }) => ({ path: "/v1/checkpoints", query: { agent_id: agent } }),
        status: 200,
        appends: ["- checkpoint.list ok"],
        details: ({ agent }: Scene) => ({ agent_id: agent, count: 0 }),
        body: { data: [], has_more: false, next_cursor: null },
      },
      {
        name: "list: without an agent",
        request: () => ({ path: "/v1/checkpoints" }),
        status: 400,
        code: "invalid_request",
        param: "agent_id",
        appends: [],
      },
    ],
  );
});

/** v1 and three entries, a checkpoint, then v2 and other entries. */
const changedSince = async (scene: Scene) => {
  const { client, agent } = scene;
  await client.configure(agent, { model: "old" });
  await put(scene, { same: "s", changed: "1", gone: "g" });
  const id = await make(scene);
  await client.configure(agent, { model: "new" });
  await put(scene, { changed: "2", added: "a" });
  await client.delete("/v1/data", { agent_id: agent, key: "gone" });
  return id;
};
const THEN = { changed: "1", gone: "g", same: "s" };
const NOW = { added: "a", changed: "2", same: "s" };

describe("restoring", () => {
  scenarios(
    () => workspace,
    [
      {
        name: "config and data, all at once",
        given: changedSince,
        request: restore(),
        status: 200,
        appends: ["agent checkpoint.restore ok"],
        changes: ["checkpoints", "configs", "entries"],
        details: ({ made }: Scene, { json }: { json: { safety_checkpoint_id: string } }) => ({
          checkpoint_id: made,
          safety_checkpoint_id: json.safety_checkpoint_id,
          safety_entry_count: 3,
          entries_restored: 2,
          entries_removed: 1,
          entries_unchanged: 1,
          config_version: "v3",
          config_digest: expect.stringMatching(/^[0-9a-f]{64}$/),
          rolled_back_from: "v1",
        }),
        check: async ({ client, agent, made }, { json, headers }) => {
          expect(structuredClone(json)).toEqual({
            checkpoint_id: made,
            agent_id: agent,
            config_version: "v3",
            entries_restored: 2,
            entries_removed: 1,
            entries_unchanged: 1,
            safety_checkpoint_id: CHECKPOINT,
            audit_id: headers.get("x-audit-id"),
          });
          expect(await valuesOf(client, agent)).toEqual(THEN);
          const config = (await client.get(`/v1/config/${agent}`)).json;
          expect(config).toMatchObject({ version: "v3", config: { model: "old" }, rolled_back_from: "v1" });
        },
      },
      {
        name: "restored entries keep the write that they are from",
        given: async (scene) => {
          await put(scene, { k: "1" });
          const full = (await scene.client.get("/v1/data/read-full", { agent_id: scene.agent, key: "k" })).json;
          const id = await make(scene);
          await put(scene, { k: "2" });
          return { id, full };
        },
        request: restore({}),
        status: 200,
        appends: ["agent checkpoint.restore ok"],
        changes: ["checkpoints", "entries"],
        check: async ({ client, agent, made }) => {
          const { json } = await client.get("/v1/data/read-full", { agent_id: agent, key: "k" });
          expect(json).toEqual(made.full);
        },
      },
      {
        name: "data alone",
        given: changedSince,
        request: restore({ restore_config: false }),
        status: 200,
        appends: ["agent checkpoint.restore ok"],
        changes: ["checkpoints", "entries"],
        body: { config_version: "v2", entries_restored: 2 },
        check: async ({ client, agent }) => expect(await valuesOf(client, agent)).toEqual(THEN),
      },
      {
        name: "config alone",
        given: changedSince,
        request: restore({ restore_data: false }),
        status: 200,
        appends: ["agent checkpoint.restore ok"],
        changes: ["checkpoints", "configs"],
        body: { config_version: "v3", entries_restored: 0, entries_removed: 0, entries_unchanged: 3 },
        check: async ({ client, agent }) => expect(await valuesOf(client, agent)).toEqual(NOW),
      },
      {
        name: "neither is refused",
        given: changedSince,
        request: restore({ restore_config: false, restore_data: false }),
        status: 400,
        code: "invalid_request",
        param: "restore_data",
        appends: [],
      },
      {
        name: "unknown members are refused",
        given: changedSince,
        request: restore({ restore_everything: true }),
        status: 400,
        code: "invalid_request",
        param: "restore_everything",
        appends: [],
      },
      {
        name: "a key of scope agent restores data only",
        given: changedSince,
        request: (scene) => ({ ...restore()(scene), key: agentScope.apiKey }),
        status: 200,
        appends: ["agent checkpoint.restore ok"],
        changes: ["checkpoints", "entries"],
        body: { config_version: "v2", entries_restored: 2 },
      },
      {
        name: "a key of scope agent that asks for the config alone",
        given: changedSince,
        request: (scene) => ({ ...restore({ restore_data: false })(scene), key: agentScope.apiKey }),
        status: 403,
        code: "forbidden",
        appends: [],
      },
      {
        name: "nothing changed since: no new config version, every entry unchanged",
        given: async (scene) => {
          await scene.client.configure(scene.agent, { model: "old" });
          await put(scene, { a: "1", b: "2" });
          return make(scene);
        },
        request: restore(),
        status: 200,
        appends: ["agent checkpoint.restore ok"],
        changes: ["checkpoints"],
        body: { config_version: "v1", entries_restored: 0, entries_removed: 0, entries_unchanged: 2 },
      },
      {
        name: "the same content under another version is in force already",
        given: async (scene) => {
          await scene.client.configure(scene.agent, { a: 1, b: 2 });
          const id = await make(scene);
          await scene.client.configure(scene.agent, { b: 2, a: 1 });
          return id;
        },
        request: restore(),
        status: 200,
        appends: ["agent checkpoint.restore ok"],
        changes: ["checkpoints"],
        body: { config_version: "v2" },
      },
      {
        name: "a checkpoint without a config leaves the config",
        given: async (scene) => {
          await put(scene, { a: "1" });
          const id = await make(scene);
          await scene.client.configure(scene.agent, { model: "new" });
          await put(scene, { b: "2" });
          return id;
        },
        request: restore(),
        status: 200,
        appends: ["agent checkpoint.restore ok"],
        changes: ["agents", "checkpoints", "entries"],
        body: { config_version: "v1", entries_restored: 0, entries_removed: 1, entries_unchanged: 1 },
      },
      {
        name: "an entry that the policies refuse: nothing is restored",
        given: async (scene) => {
          await put(scene, { ok: "1", bad: `of ${EMAIL}` });
          const id = await make(scene);
          await scene.client.delete("/v1/data/prefix", { agent_id: scene.agent, prefix: "b" });
          await put(scene, { ok: "2" });
          await scene.client.configure(scene.agent, { policies: { block_pii: true } });
          return id;
        },
        request: restore(),
        status: 409,
        code: "restore_blocked",
        appends: ["agent checkpoint.restore blocked"],
        details: ({ made }: Scene) => ({
          checkpoint_id: made,
          findings: [
            { policy: "block_pii", detector: "email", tier: 1, field: "value", start: 3, end: 19, mode: "block" },
          ],
        }),
        check: async ({ client, agent }, { json, text, headers }) => {
          expect([json.blocked_by, json.key]).toEqual(["policy:block_pii", "bad"]);
          expect(json.findings).toHaveLength(1);
          expect(text).not.toContain(EMAIL);
          expect(await valuesOf(client, agent)).toEqual({ ok: "2" });
          const event = (await client.get(`/v1/audit/${headers.get("x-audit-id")}`)).json;
          expect(event).toMatchObject({ result: "blocked", blocked_by: "policy:block_pii" });
          const listed = (await client.get("/v1/checkpoints", { agent_id: agent })).json.data;
          expect(listed).toHaveLength(1);
        },
      },
      {
        name: "the policies that will be in force decide: the checkpoint's own blocked nothing",
        given: async (scene) => {
          await scene.client.configure(scene.agent, {});
          await put(scene, { k: EMAIL });
          const id = await make(scene);
          await scene.client.delete("/v1/data", { agent_id: scene.agent, key: "k" });
          await scene.client.configure(scene.agent, { policies: { block_pii: true } });
          return id;
        },
        request: restore(),
        status: 200,
        appends: ["agent checkpoint.restore ok"],
        changes: ["agents", "checkpoints", "configs", "entries"],
        body: { config_version: "v3", entries_restored: 1 },
      },
      {
        name: "an entry that never left is not screened again",
        given: async (scene) => {
          await put(scene, { k: EMAIL });
          const id = await make(scene);
          await scene.client.configure(scene.agent, { policies: { block_pii: true } });
          return id;
        },
        request: restore(),
        status: 200,
        appends: ["agent checkpoint.restore ok"],
        changes: ["checkpoints"],
        body: { entries_restored: 0, entries_unchanged: 1 },
      },
    ],
  );

  test("is undone through the safety checkpoint, and that in turn", async () => {
    const { client } = workspace;
    const scene: Scene = { agent: freshAgent(), client, workspace, made: undefined };
    const id = await changedSince(scene);
    const restored = (await client.post(`/v1/checkpoints/${id}/restore`, {})).json;
    expect(await stateOf(client, restored.safety_checkpoint_id)).toEqual(NOW);
    const safety = (await client.get(`/v1/checkpoints/${restored.safety_checkpoint_id}`)).json;
    expect(safety).toMatchObject({ config_version: "v2", entry_count: 3, agent_id: scene.agent, before_restore: true });

    const undone = (await client.post(`/v1/checkpoints/${restored.safety_checkpoint_id}/restore`, {})).json;
    expect(undone).toMatchObject({ config_version: "v4", entries_restored: 2, entries_removed: 1 });
    expect(await valuesOf(client, scene.agent)).toEqual(NOW);
    expect((await client.get(`/v1/config/${scene.agent}`)).json.config).toEqual({ model: "new" });

    await client.post(`/v1/checkpoints/${undone.safety_checkpoint_id}/restore`, {});
    expect(await valuesOf(client, scene.agent)).toEqual(THEN);
  });

  test("makes restored entries searchable, and removed ones not", async () => {
    const { client } = workspace;
    const agent = freshAgent();
    await client.write(agent, "a", "crimson lighthouse");
    const { id } = (await client.checkpoint(agent)).json;
    await client.write(agent, "a", "azure harbour");
    await client.write(agent, "b", "azure bay");
    await client.post(`/v1/checkpoints/${id}/restore`, {});
    const hits = async (query: string) =>
      (await client.post("/v1/data/search", { agent_id: agent, query, limit: 10 })).json.data.map(
        ({ value }: { value: string }) => value,
      );
    expect(await hits("lighthouse")).toEqual(["crimson lighthouse"]);
    expect(await hits("azure")).not.toContain("azure harbour");
    expect(await hits("azure")).not.toContain("azure bay");
  });
});

describe("deleting", () => {
  scenarios(
    () => workspace,
    [
      {
        name: "leaves the history to the sweep",
        given: changedSince,
        request: remove,
        status: 200,
        appends: ["agent checkpoint.delete ok"],
        changes: ["checkpoints"],
        details: ({ made }: Scene) => ({ checkpoint_id: made }),
        check: async ({ client, agent, made, workspace: { view } }, { json, headers }) => {
          expect(json).toEqual({ deleted: 1, audit_id: headers.get("x-audit-id") });
          expect(await valuesOf(client, agent)).toEqual(NOW);
          expect((await client.get(`/v1/checkpoints/${made}`)).status).toBe(404);
          const past = view.connection.get<[number]>(
            `SELECT count(*) FROM entries WHERE live_to IS NOT NULL
             AND agent = (SELECT first_seq FROM agents WHERE agent_id = ?)`,
            [agent],
          );
          expect(past?.[0]).toBe(2);
        },
      },
      {
        name: "leaves what another one needs",
        given: async (scene) => {
          const first = await changedSince(scene);
          const second = await make(scene);
          await put(scene, { changed: "3" });
          return { id: second, first };
        },
        request: remove,
        status: 200,
        appends: ["agent checkpoint.delete ok"],
        changes: ["checkpoints"],
        check: async ({ client, made }) => expect(await stateOf(client, made.first)).toEqual(THEN),
      },
      {
        name: "what the present still holds costs nothing to free",
        given: async (scene) => {
          await put(scene, { a: "1" });
          return make(scene);
        },
        request: remove,
        status: 200,
        appends: ["agent checkpoint.delete ok"],
        changes: ["checkpoints"],
        check: async ({ client, agent }) => expect(await valuesOf(client, agent)).toEqual({ a: "1" }),
      },
    ],
  );
});

test("the whole trail verifies", async () => {
  const report = await workspace.view.verify();
  expect(report).toMatchObject({ valid: true, chainIntact: true, problemCount: 0 });
});

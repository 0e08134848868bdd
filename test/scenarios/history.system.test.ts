/** The history of entries: versions that were overwritten, deleted or replaced stay readable, and can be written again. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Answered } from "../support/client.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { freshAgent, type Scene, scenarios } from "../support/scenario.ts";

let daemon: TestDaemon;
let workspace: TestWorkspace;

beforeAll(async () => {
  daemon = await TestDaemon.start();
  workspace = await daemon.workspace();
});
afterAll(() => daemon[Symbol.asyncDispose]());

type Place = Pick<Scene, "client" | "agent">;

const ID = expect.stringMatching(/^aud_/);
const TIME = expect.stringMatching(/Z$/);
const MISSING = "aud_01jz8v5q2pf0tbq3y8r6w1m9ck";

/** Writes a key several times. Returns the versions. */
async function written({ client, agent }: Place, ...values: string[]): Promise<string[]> {
  const versions: string[] = [];
  for (const value of values) versions.push((await client.write(agent, "k", value)).json.audit_id);
  return versions;
}

const versionsOf = ({ client, agent }: Place, more: Record<string, string> = {}): Promise<Answered> =>
  client.get("/v1/data/versions", { agent_id: agent, key: "k", include_values: "true", ...more });

/** The values of the versions that are listed, and which operation ended each. */
async function shown(place: Place, more?: Record<string, string>): Promise<[value: string, endedBy: string | null][]> {
  const { json } = await versionsOf(place, more);
  return json.data.map((one: { value: string; ended_by: { operation: string } | null }) => [
    one.value,
    one.ended_by?.operation ?? null,
  ]);
}

const revert =
  (more: object = {}) =>
  ({ agent, made }: Scene) => ({
    path: "/v1/data/revert",
    body: { agent_id: agent, key: "k", version: made[0], ...more },
  });

const list = ({ agent }: Scene) => ({ path: `/v1/data/versions?agent_id=${agent}&key=k` });
const WRITTEN = {
  version: ID,
  key: "k",
  written_at: TIME,
  written_by: expect.stringMatching(/^key_/),
  quarantined: false,
};

describe("versions", () => {
  scenarios(
    () => workspace,
    [
      {
        name: "of an entry, the newest write first",
        given: (scene) => written(scene, "one", "two"),
        request: list,
        status: 200,
        body: {
          data: [
            { ...WRITTEN, ended_at: null, ended_by: null },
            { ...WRITTEN, ended_at: TIME, ended_by: { audit_id: ID, operation: "data.write" } },
          ],
          has_more: false,
          next_cursor: null,
          kept_since: TIME,
        },
        appends: ["agent data.versions ok"],
        details: { key: "k", count: 2 },
        check: ({ made }, { json }) => {
          expect(json.data.map((one: { version: string }) => one.version)).toEqual(made.toReversed());
          expect(json.data[1].ended_by.audit_id).toBe(made[1]);
          expect(Object.keys(json.data[0])).not.toContain("value");
        },
      },
      {
        name: "of what never was",
        given: ({ client, agent }) => client.write(agent, "other", "v"),
        request: list,
        status: 404,
        code: "entry_not_found",
        appends: ["agent data.versions not_found"],
        details: { key: "k" },
      },
      {
        name: "of an entry that was erased",
        given: async (scene) => {
          await written(scene, "one", "two");
          await scene.client.delete(`/v1/data?agent_id=${scene.agent}&key=k&erase=true`);
        },
        request: list,
        status: 404,
        code: "entry_not_found",
        appends: ["agent data.versions not_found"],
      },
    ],
  );

  test("come in pages, and with values and metadata only when they are asked for", async () => {
    const place = { client: workspace.client, agent: freshAgent() };
    await written(place, "1", "2", "3", "4", "5");
    const first = (await versionsOf(place, { limit: "2" })).json;
    expect(first).toMatchObject({ has_more: true, data: [{ value: "5", metadata: {} }, { value: "4" }] });
    const next = (await versionsOf(place, { limit: "2", cursor: first.next_cursor })).json;
    expect(next.data.map((one: { value: string }) => one.value)).toEqual(["3", "2"]);
    const last = (await versionsOf(place, { limit: "2", cursor: next.next_cursor })).json;
    expect(last).toMatchObject({ has_more: false, next_cursor: null, data: [{ value: "1" }] });
  });

  test("ended by a deletion, a deletion by prefix and a restore, and one that came back is one item", async () => {
    const { client } = workspace;
    const place = { client, agent: freshAgent() };
    const { agent } = place;
    await written(place, "one");
    const { json: checkpoint } = await client.post("/v1/checkpoints", { agent_id: agent });
    await client.delete(`/v1/data?agent_id=${agent}&key=k`);
    await written(place, "two");
    await client.delete(`/v1/data/prefix?agent_id=${agent}&prefix=k`);
    await written(place, "three");
    await client.post(`/v1/checkpoints/${checkpoint.id}/restore`, {});
    expect(await shown(place)).toEqual([
      ["three", "checkpoint.restore"],
      ["two", "data.delete_prefix"],
      ["one", null],
    ]);
  });

  test("are gone at once without a history, except for checkpoints, and stay gone", async () => {
    const { client } = workspace;
    const place = { client, agent: freshAgent() };
    const { agent } = place;
    await client.configure(agent, { policies: { history_days: 0 } });
    const [one] = await written(place, "one", "two");
    const { json: checkpoint } = await client.post("/v1/checkpoints", { agent_id: agent });
    await written(place, "three");
    expect(await shown(place)).toEqual([["three", null]]);
    await client.configure(agent, { policies: { history_days: 3650 } });
    await written(place, "four");
    expect(await shown(place)).toEqual([
      ["four", null],
      ["three", "data.write"],
    ]);
    const gone = await client.post("/v1/data/revert", { agent_id: agent, key: "k", version: one });
    expect(gone).toMatchObject({ status: 410, json: { code: "version_gone", kept_since: TIME } });
    const { json } = await client.get(`/v1/checkpoints/${checkpoint.id}`);
    expect(json.state.entries).toMatchObject([{ key: "k", value: "two" }]);
  });

  test("are kept for the longer time of config and workspace", async () => {
    const { client } = workspace;
    const agent = freshAgent();
    const days = async () => {
      const { json } = await client.get(`/v1/config/${agent}/effective`);
      return [json.policies.history_days, json.from.history_days];
    };
    expect(await days()).toEqual([30, "default"]);
    await client.configure(agent, { policies: { history_days: 7 } });
    expect(await days()).toEqual([7, "config"]);
    const refused = await client.send({
      method: "PUT",
      path: `/v1/config/${agent}`,
      body: { policies: { history_days: 3651 } },
    });
    expect(refused).toMatchObject({ status: 400, json: { param: "policies.history_days" } });
  });
});

describe("a revert", () => {
  scenarios(
    () => workspace,
    [
      {
        name: "writes a version again",
        given: (scene) => written(scene, "one", "two"),
        request: revert(),
        status: 200,
        body: { allowed: true, audit_id: ID },
        appends: ["agent data.write allowed"],
        changes: ["entries"],
        details: ({ made }) => ({
          key: "k",
          value_digest: expect.stringMatching(/^[0-9a-f]{64}$/),
          reverted_from: made[0],
        }),
        check: async (scene, { json }) => {
          const { data } = (await versionsOf(scene)).json;
          expect(data[0]).toMatchObject({ version: json.audit_id, value: "one", reverted_from: scene.made[0] });
          expect(data).toHaveLength(3);
        },
      },
      {
        name: "brings back what was deleted, without an end of its own",
        given: async (scene) => {
          const { client, agent } = scene;
          const body = { agent_id: agent, key: "k", value: "v", metadata: { n: 1 }, ttl_seconds: 3_600 };
          const { json } = await client.post("/v1/data/write", body);
          await client.delete(`/v1/data?agent_id=${agent}&key=k`);
          return [json.audit_id];
        },
        request: revert({ if_version: null }),
        status: 200,
        appends: ["agent data.write allowed"],
        changes: ["agents", "entries"],
        check: async ({ client, agent }) => {
          const { json } = await client.get(`/v1/data/read-full?agent_id=${agent}&key=k`);
          expect(json).toMatchObject({ value: "v", metadata: { n: 1 }, expires_at: null });
        },
      },
      {
        name: "is decided by the policies in force now",
        given: async (scene) => {
          const versions = await written(scene, "ask somebody@gmail.com", "two");
          await scene.client.configure(scene.agent, { policies: { block_pii: true } });
          return versions;
        },
        request: revert(),
        status: 200,
        body: { allowed: false, blocked_by: "policy:block_pii" },
        appends: ["agent data.write blocked"],
      },
      {
        name: "with a condition that does not hold",
        given: (scene) => written(scene, "one", "two"),
        request: revert({ if_version: null }),
        status: 412,
        code: "version_conflict",
        appends: ["agent data.write conflict"],
      },
      {
        name: "to what wrote another key",
        given: async (scene) => [(await scene.client.write(scene.agent, "other", "v")).json.audit_id],
        request: revert(),
        status: 404,
        code: "version_not_found",
        appends: ["agent data.write not_found"],
        details: { key: "k", code: "version_not_found" },
      },
      {
        name: "of an agent that never began",
        given: async () => [MISSING],
        request: revert(),
        status: 404,
        code: "version_not_found",
        appends: ["- data.write not_found"],
        details: ({ agent }) => ({ agent_id: agent, key: "k", code: "version_not_found" }),
      },
      {
        name: "without a version",
        request: ({ agent }) => ({ path: "/v1/data/revert", body: { agent_id: agent, key: "k" } }),
        status: 400,
        code: "invalid_request",
        param: "version",
        appends: [],
      },
    ],
  );
});

const erase =
  (version: (made: string[]) => string) =>
  ({ agent, made }: Scene) => ({
    method: "DELETE",
    path: `/v1/data/versions?agent_id=${agent}&key=k&version=${version(made)}`,
  });

describe("the erasure of a version", () => {
  scenarios(
    () => workspace,
    [
      {
        name: "destroys what it held, and leaves the others",
        given: async (scene) => {
          const versions = await written(scene, "one", "two", "three");
          const { json } = await scene.client.post("/v1/checkpoints", { agent_id: scene.agent });
          await written(scene, "four");
          return [...versions, json.id];
        },
        request: erase(([, two]) => two as string),
        status: 200,
        body: { deleted: 0, erased_events: 1, audit_id: ID },
        appends: ["agent data.erase ok"],
        changes: ["entries"],
        details: ({ made }) => {
          const [one, two] = made.map((id: string) =>
            workspace.view.eventsAfter(-1).findIndex((event) => event.id === id),
          );
          const version = { seq: two, key_of: one, expires_at: null };
          return { entries: 0, versions: 1, events: 1, erased: [[two, two]], version };
        },
        check: async (scene) => {
          expect((await shown(scene)).map(([value]) => value)).toEqual(["four", "three", "one"]);
          const [, two] = scene.made;
          const { json } = await scene.client.get(`/v1/audit/${two}`);
          expect(json).toMatchObject({ id: two, details: null });
          const again = await scene.client.post("/v1/data/revert", { agent_id: scene.agent, key: "k", version: two });
          expect(again).toMatchObject({ status: 404, json: { code: "version_not_found" } });
        },
      },
      {
        name: "also of one that a checkpoint holds",
        given: async (scene) => {
          const versions = await written(scene, "one");
          const { json } = await scene.client.post("/v1/checkpoints", { agent_id: scene.agent });
          await written(scene, "two");
          return [...versions, json.id];
        },
        request: erase(([one]) => one as string),
        status: 200,
        appends: ["agent data.erase ok"],
        changes: ["entries"],
        check: async ({ client, made }) => {
          const { json } = await client.get(`/v1/checkpoints/${made[1]}`);
          expect(json.state.entries).toEqual([]);
        },
      },
      {
        name: "is refused for the present one",
        given: (scene) => written(scene, "one", "two"),
        request: erase(([, two]) => two as string),
        status: 409,
        code: "version_present",
        appends: ["agent data.erase conflict"],
        details: { code: "version_present" },
      },
      {
        name: "is not possible twice",
        given: async (scene) => {
          const versions = await written(scene, "one", "two");
          await scene.client.send(erase(([one]) => one as string)({ ...scene, made: versions }));
          return versions;
        },
        request: erase(([one]) => one as string),
        status: 404,
        code: "version_not_found",
        appends: ["agent data.erase not_found"],
      },
      {
        name: "of what wrote another key",
        given: async (scene) => {
          await written(scene, "one");
          return [(await scene.client.write(scene.agent, "other", "v")).json.audit_id];
        },
        request: erase(([other]) => other as string),
        status: 404,
        code: "version_not_found",
        appends: ["agent data.erase not_found"],
      },
      {
        name: "without a version",
        request: ({ agent }) => ({ method: "DELETE", path: `/v1/data/versions?agent_id=${agent}&key=k` }),
        status: 400,
        code: "invalid_request",
        param: "version",
        appends: [],
      },
    ],
  );

  test("takes a key of scope full", async () => {
    const place = { client: workspace.client, agent: freshAgent() };
    const [one] = await written(place, "one", "two");
    const agent = await daemon.clientWith(workspace.id, { scope: "agent" });
    const refused = await agent.send({
      method: "DELETE",
      path: "/v1/data/versions",
      query: { agent_id: place.agent, key: "k", version: one as string },
    });
    expect(refused).toMatchObject({ status: 403, json: { code: "forbidden" } });
  });
});

test("the workspace verifies with both programs", async () => {
  const { json } = await workspace.client.post("/v1/audit/verify", { scope: "workspace" });
  expect(json).toMatchObject({ valid: true, problems: [] });
});

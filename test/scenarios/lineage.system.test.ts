/** Lineage: what led to a write, and what followed from it, of what governd served to whom. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Answered, Client } from "../support/client.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { freshAgent, type Scenario, type Scene, scenarios } from "../support/scenario.ts";

let daemon: TestDaemon;
let workspace: TestWorkspace;

beforeAll(async () => {
  daemon = await TestDaemon.start();
  workspace = await daemon.workspace();
});
afterAll(() => daemon[Symbol.asyncDispose]());

const MINUTE = 60_000;

/** An agent's memory, as a program uses it in one session. */
class Memory {
  constructor(
    readonly client: Client,
    readonly agent: string,
    readonly session: string | null = null,
  ) {}

  in(session: string | null): Memory {
    return new Memory(this.client, this.agent, session);
  }

  of(agent: string): Memory {
    return new Memory(this.client, agent, this.session);
  }

  async ask(path: string, body: object): Promise<Answered> {
    const headers: Record<string, string> = this.session === null ? {} : { "Governd-Session": this.session };
    const answered = await this.client.send({ path, body: { agent_id: this.agent, ...body }, headers });
    expect([path, answered.status]).toEqual([path, 200]);
    return answered;
  }

  /** Returns the id of the write's event. */
  async write(key: string, value = "v"): Promise<string> {
    return (await this.ask("/v1/data/write", { key, value })).json.audit_id;
  }

  /** Reads keys at once. Returns the id of the last read's event. */
  async read(...keys: string[]): Promise<string> {
    const operations = keys.map((key) => ({ op: "read", key }));
    return (await this.ask("/v1/data/batch", { operations })).headers.get("x-audit-id") as string;
  }

  /** Searches for everything. Returns the id of the event. */
  async search(query: string): Promise<string> {
    return (await this.ask("/v1/data/search", { query })).headers.get("x-audit-id") as string;
  }
}

const of = ({ client, agent }: Pick<Scene, "client" | "agent">, session: string | null = null) =>
  new Memory(client, agent, session);

const lineage = (id: string, direction: string, query: Record<string, string | number> = {}, client?: Client) =>
  (client ?? workspace.client).get(`/v1/lineage/${id}`, { direction, ...query });

/** The ids of the writes, and their depths. */
const depths = ({ json }: Answered): [id: string, depth: number][] =>
  json.data.map(({ audit_id, depth }: { audit_id: string; depth: number }) => [audit_id, depth]);

const found = async (...asked: Parameters<typeof lineage>) => depths(await lineage(...asked));

/** A poisoned note is read in a session in which a summary is written, which another agent's session takes up. */
async function poisoned(scene: Pick<Scene, "client" | "agent">) {
  const chat = of(scene, `${scene.agent}/1`);
  const note = await chat.in(`${scene.agent}/0`).write("note");
  const read = await chat.read("note");
  const summary = await chat.write("summary");
  const later = chat.in(`${scene.agent}/2`);
  const taken = await later.read("summary");
  const other = freshAgent();
  const plan = await later.of(other).write("plan");
  return { note, read, summary, taken, plan, other };
}

describe("effects", () => {
  scenarios(
    () => workspace,
    [
      {
        name: "the write after a read in the same session",
        given: poisoned,
        request: ({ made }) => ({ path: `/v1/lineage/${made.note}`, query: { direction: "effects" } }),
        status: 200,
        appends: ["agent lineage.read ok"],
        details: ({ made }: Scene) => ({ event_id: made.note, direction: "effects", depth: 1, count: 1 }),
        check: ({ agent, made, workspace: { view } }, { json }) => {
          const write = view.eventsAfter(-1).find(({ id }) => id === made.summary);
          const item = { audit_id: made.summary, agent_id: agent, key: "summary", seq: write?.seq, depth: 1 };
          expect(json).toEqual({
            data: [{ ...item, timestamp: expect.stringMatching(/Z$/), from: made.note, through: made.read }],
            has_more: false,
            next_cursor: null,
            observed: true,
          });
        },
      },
      {
        name: "two steps, into another agent and another session",
        given: poisoned,
        request: ({ made }) => ({ path: `/v1/lineage/${made.note}`, query: { direction: "effects", depth: 2 } }),
        status: 200,
        appends: ["agent lineage.read ok"],
        check: ({ made }, answered) => {
          expect(depths(answered)).toEqual([
            [made.summary, 1],
            [made.plan, 2],
          ]);
          expect(answered.json.data[1]).toMatchObject({ agent_id: made.other, through: made.taken });
        },
      },
      {
        name: "of a write that nobody read: none",
        given: async (scene) => of(scene).write("k"),
        request: ({ made }) => ({ path: `/v1/lineage/${made}`, query: { direction: "effects", depth: 5 } }),
        status: 200,
        appends: ["agent lineage.read ok"],
        body: { data: [], has_more: false, next_cursor: null, observed: true },
      },
    ],
  );
});

describe("causes", () => {
  test("two steps back, the nearest first", async () => {
    const { note, summary, plan } = await poisoned({ client: workspace.client, agent: freshAgent() });
    expect(await found(plan, "causes", { depth: 5 })).toEqual([
      [summary, 1],
      [note, 2],
    ]);
    expect(await found(plan, "causes")).toEqual([[summary, 1]]);
  });

  test("a search shows what it returned, and a list with values, and a read by MCP", async () => {
    const memory = of({ client: workspace.client, agent: freshAgent() }, "all");
    const one = await memory.write("one", "the report is due on Friday");
    const through = await memory.search("when is the report due");
    const two = await memory.write("two");
    const { json } = await lineage(two, "causes");
    expect(json.data).toEqual([expect.objectContaining({ audit_id: one, through })]);
    const client = workspace.client;
    const listing = memory.in("listing");
    const query = { agent_id: memory.agent, include_values: "true" };
    await client.send({ path: "/v1/data/list", query, headers: { "Governd-Session": "listing" } });
    expect(await found(await listing.write("three"), "causes")).toEqual([
      [one, 1],
      [two, 1],
    ]);
    const params = { name: "memory_read", arguments: { key: "three" }, _meta: { "io.governd/session": "mcp" } };
    const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
    expect((await client.send({ path: `/v1/mcp/agents/${memory.agent}`, body })).status).toBe(200);
    expect((await found(await memory.in("mcp").write("four"), "causes")).map(([, depth]) => depth)).toEqual([1]);
  });

  test("a list without values, and a read that found nothing, show nothing", async () => {
    const memory = of({ client: workspace.client, agent: freshAgent() }, "bare");
    await memory.write("one");
    const headers = { "Governd-Session": "bare" };
    await workspace.client.send({ path: "/v1/data/list", query: { agent_id: memory.agent }, headers });
    await workspace.client.send({ path: "/v1/data/read", query: { agent_id: memory.agent, key: "none" }, headers });
    expect(await found(await memory.write("two"), "causes")).toEqual([]);
  });
});

describe("without a session", () => {
  test("what was read in the ten minutes before counts, in whatever session; in a session, only its own reads", async () => {
    await using moved = await TestDaemon.start({ clockOffsetMs: 0 });
    const { client: first } = await moved.workspace();
    let memory = of({ client: first, agent: "a" });
    const at = async (minutes: number) => {
      await moved.restart(minutes * MINUTE);
      memory = of({ client: moved.client(first.apiKey), agent: "a" });
    };
    const causes = async (id: string) => found(id, "causes", {}, memory.client);
    const effects = async (id: string) => found(id, "effects", {}, memory.client);
    const one = await memory.write("one");
    await memory.in("chat").read("one");
    await at(9);
    const two = await memory.write("two");
    const elsewhere = await memory.in("other-chat").write("three");
    await at(11);
    const four = await memory.write("four");
    expect(await causes(two)).toEqual([[one, 1]]);
    expect(await causes(elsewhere)).toEqual([]);
    expect(await causes(four)).toEqual([]);
    expect(await effects(one)).toEqual([[two, 1]]);
    // The clock is set back: what is earlier is what the log has before, and the times say how far apart it is.
    await at(5);
    const five = await memory.write("five");
    expect(await causes(five)).toEqual([[one, 1]]);
    await memory.read("four");
    await at(0);
    const six = await memory.write("six");
    expect(await causes(six)).toEqual([
      [one, 1],
      [four, 1],
    ]);
    expect(await effects(four)).toEqual([[six, 1]]);
    await memory.read("six");
    await at(-11);
    expect(await causes(await memory.write("seven"))).toEqual([]);
  });
});

test("an event that names no versions, since there were more than a thousand, is not followed", async () => {
  const memory = of({ client: workspace.client, agent: freshAgent() }, "thousands");
  const entries = Array.from({ length: 1_001 }, (_, at) => ({ key: `k/${String(at).padStart(4, "0")}`, value: "v" }));
  await memory.client.writeAll(memory.agent, entries);
  const { id } = (await memory.client.checkpoint(memory.agent)).json;
  const headers = { "Governd-Session": "thousands" };
  const look = (query: Record<string, string>) => memory.client.send({ path: `/v1/checkpoints/${id}`, query, headers });
  expect((await look({})).status).toBe(200);
  expect(await found(await memory.write("after all"), "causes")).toEqual([]);
  expect((await look({ limit: "1000" })).status).toBe(200);
  const causes = await lineage(await memory.write("after a page"), "causes", { limit: 1000 });
  expect([causes.json.data.length, causes.json.has_more]).toEqual([1_000, false]);
});

test("pages come in the order of depth and position, each write once", async () => {
  const memory = of({ client: workspace.client, agent: freshAgent() }, "pages");
  const root = await memory.write("root");
  await memory.read("root");
  const first: string[] = [];
  for (let n = 0; n < 5; n++) first.push(await memory.write(`first/${n}`));
  const next = memory.in("next");
  await next.read("first/0", "first/3");
  const second = [await next.write("second"), await next.write("second")];
  const whole = [...first.map((id) => [id, 1]), ...second.map((id) => [id, 2])];
  expect(await found(root, "effects", { depth: 3 })).toEqual(whole as never);
  const paged: unknown[] = [];
  let cursor: string | null = null;
  do {
    const page = await lineage(root, "effects", { depth: 3, limit: 2, ...(cursor !== null && { cursor }) });
    expect(page.json.has_more).toBe(page.json.next_cursor !== null);
    paged.push(...depths(page));
    cursor = page.json.next_cursor;
  } while (cursor !== null);
  expect(paged).toEqual(whole);
});

describe("refused", () => {
  const made = async (scene: Scene) => {
    const { note, read } = await poisoned(scene);
    await scene.client.configure(scene.agent, { policies: { block_secrets: true } });
    await scene.client.write(scene.agent, "k", "ghp_0123456789abcdefghijABCDEFGHIJ012345");
    const events = scene.workspace.view.eventsAfter(-1);
    const blocked = events.findLast(({ line }) => line === `${scene.agent} data.write blocked`)?.id;
    return { note, read, blocked, genesis: events[0]?.id };
  };
  const notAWrite = (name: string, which: string, chain: string): Scenario => ({
    name,
    given: made,
    request: (scene) => ({ path: `/v1/lineage/${scene.made[which]}`, query: { direction: "effects" } }),
    status: 409,
    code: "not_a_write",
    appends: [`${chain} lineage.read conflict`],
    details: (scene: Scene) => ({ event_id: scene.made[which], code: "not_a_write" }),
  });
  const invalid = (query: Record<string, string>, param: string): Scenario => ({
    name: `${JSON.stringify(query)}: ${param}`,
    given: made,
    request: (scene) => ({ path: `/v1/lineage/${scene.made.note}`, query }),
    status: 400,
    code: "invalid_request",
    param,
    appends: [],
  });
  scenarios(
    () => workspace,
    [
      notAWrite("a read", "read", "agent"),
      notAWrite("a write that was blocked", "blocked", "agent"),
      notAWrite("an event of the workspace itself", "genesis", "-"),
      ...["aud_01h455vb4pex5vsknk084sn02q", "cp_01h455vb4pex5vsknk084sn02q", "aud_x"].map(
        (id): Scenario => ({
          name: `${id}: not found`,
          request: () => ({ path: `/v1/lineage/${id}`, query: { direction: "causes" } }),
          status: 404,
          code: "audit_event_not_found",
          appends: ["- lineage.read not_found"],
          details: { event_id: id },
        }),
      ),
      invalid({}, "direction"),
      invalid({ direction: "both" }, "direction"),
      invalid({ direction: "causes", depth: "0" }, "depth"),
      invalid({ direction: "causes", depth: "6" }, "depth"),
      invalid({ direction: "causes", limit: "0" }, "limit"),
      invalid({ direction: "causes", limit: "1001" }, "limit"),
      invalid({ direction: "causes", cursor: "WyJkMmY4YSIsNDFd" }, "cursor"),
      invalid({ direction: "causes", offset: "1" }, "offset"),
    ],
  );

  test("a cursor of the other direction", async () => {
    const memory = of({ client: workspace.client, agent: freshAgent() }, "cursors");
    const root = await memory.write("root");
    await memory.read("root");
    await memory.write("a");
    await memory.write("b");
    const { next_cursor: cursor } = (await lineage(root, "effects", { limit: 1 })).json;
    expect(cursor).toEqual(expect.any(String));
    expect((await lineage(root, "causes", { limit: 1, cursor })).json.param).toBe("cursor");
    expect((await lineage(root, "effects", { depth: 2, limit: 1, cursor })).json.param).toBe("cursor");
  });
});

test("keys for the trail may ask, and keys of agents may not", async () => {
  const { note, summary } = await poisoned({ client: workspace.client, agent: freshAgent() });
  const auditor = await daemon.clientWith(workspace.id, { scope: "auditor" });
  expect(await found(note, "effects", {}, auditor)).toEqual([[summary, 1]]);
  const program = await daemon.clientWith(workspace.id, { scope: "agent" });
  expect((await lineage(note, "effects", {}, program)).json.code).toBe("forbidden");
});

test("a key limited to agents sees only theirs, and nothing that others connect", async () => {
  const agent = freshAgent();
  const { note, summary, plan, other } = await poisoned({ client: workspace.client, agent });
  const memory = of({ client: workspace.client, agent }, "chat-3");
  await memory.of(other).read("plan");
  const back = await memory.write("back");
  const whole = [
    [summary, 1],
    [plan, 2],
    [back, 3],
  ];
  expect(await found(note, "effects", { depth: 5 })).toEqual(whole as never);
  const limited = await daemon.clientWith(workspace.id, { agents: [agent] });
  expect(await found(note, "effects", { depth: 5 }, limited)).toEqual([[summary, 1]]);
  expect(await found(back, "causes", { depth: 5 }, limited)).toEqual([]);
  expect((await lineage(plan, "causes", {}, limited)).json.code).toBe("audit_event_not_found");
});

const erase = async ({ client, agent }: Memory, key: string): Promise<number> =>
  (await client.delete("/v1/data", { agent_id: agent, key, erase: "true" })).status;

test("a write whose key was erased is shown without it, and leads on by what others state", async () => {
  const memory = of({ client: workspace.client, agent: freshAgent() }, "erasing");
  const secret = await memory.write("secret", "the report is due on Friday");
  await memory.search("when is the report due");
  const summary = await memory.write("summary");
  const before = await lineage(summary, "causes");
  expect(before.json.data).toMatchObject([{ audit_id: secret, key: "secret" }]);
  expect(await erase(memory, "secret")).toBe(200);
  expect((await lineage(summary, "causes")).json.data).toMatchObject([{ audit_id: secret, key: null }]);
  expect(await found(secret, "effects")).toEqual([[summary, 1]]);
  expect(await erase(memory, "summary")).toBe(200);
  expect(await found(summary, "causes")).toEqual([]);
  expect(await found(secret, "effects")).toEqual([]);
});

test("one version that was erased is shown without its key, and the others stay", async () => {
  const memory = of({ client: workspace.client, agent: freshAgent() }, "versions");
  const old = await memory.write("note", "the report is due on Friday");
  await memory.search("when is the report due");
  const present = await memory.write("note", "the report is due on Monday");
  const summary = await memory.write("summary");
  const { client, agent } = memory;
  const query = { agent_id: agent, key: "note", version: old };
  expect((await client.send({ method: "DELETE", path: "/v1/data/versions", query })).status).toBe(200);
  expect((await lineage(summary, "causes")).json.data).toMatchObject([{ audit_id: old, key: null }]);
  expect(await found(old, "effects")).toEqual([
    [present, 1],
    [summary, 1],
  ]);
});

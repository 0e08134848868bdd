/** The adapters of docs/integrations.md with the frameworks that they are for, and those frameworks' own tests. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type BaseStore, emptyCheckpoint, InMemoryStore, type Item } from "@langchain/langgraph-checkpoint";
import {
  Agent,
  type AgentInputItem,
  type Model,
  Runner,
  type Session,
  setTracingDisabled,
  Usage,
} from "@openai/agents";
import { generateText, isStepCount } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { ended } from "../ended.ts";
import type { Client } from "../support/client.ts";
import { TestDaemon } from "../support/daemon.ts";
import { Adapters, BLOCKS } from "./adapters.ts";
import { langGraphSuite } from "./langgraph-suite.ts";

/** An adapter is there to be copied and read: lines, without empty ones and comments. */
const MAX_LINES = 60;

const adapters = new Adapters();
let daemon: TestDaemon;
let client: Client;
// biome-ignore lint/suspicious/noExplicitAny: the client is that of the page
let request: (agent: string) => any;
let requests = 0;
let agents = 0;
let python: { url: string; key: string; ca: string };

beforeAll(async () => {
  daemon = await TestDaemon.start();
  client = (await daemon.workspace()).client;
  const { governd } = await adapters.import("governd.ts");
  request = (agent) => governd(client.url, client.apiKey, agent, send);
  const ca = join(adapters.directory, "ca.crt");
  writeFileSync(ca, client.ca);
  python = { url: client.url, key: client.apiKey, ca };
});
afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
  adapters[Symbol.dispose]();
});

const freshAgent = () => `agent-${++agents}`;

/** A fetch that trusts the daemon, and counts. */
const send = (url: string | URL, init: RequestInit = {}) => {
  requests++;
  return fetch(url, { ...init, tls: { ca: client.ca } });
};

/** Runs something and returns how many requests it took. */
async function requestsOf(work: () => Promise<unknown>): Promise<number> {
  const before = requests;
  await work();
  return requests - before;
}

test.each([...BLOCKS])("%s is short", (_name, code) => {
  const lines = code.split("\n").map((line) => line.trim());
  expect(lines.filter((line) => line !== "" && !/^(\/[/*]|#)(?!\w)/.test(line)).length).toBeLessThanOrEqual(MAX_LINES);
});

const saver = {
  checkpointerName: "governd",
  async createCheckpointer() {
    const { GoverndSaver } = await adapters.import("langgraph-saver.ts");
    return new GoverndSaver(request(freshAgent()));
  },
};

const { specTest, deltaChannelHistoryTests } = await langGraphSuite();
specTest(saver);
deltaChannelHistoryTests(saver);

test("a call of the saver is one request", async () => {
  const one = await saver.createCheckpointer();
  const config = { configurable: { thread_id: "t", checkpoint_ns: "" } };
  const checkpoint = { ...emptyCheckpoint(), channel_values: { a: 1 }, channel_versions: { a: 1 } };
  let put: object = {};
  const calls = [
    async () => {
      put = await one.put(config, checkpoint, { source: "loop", step: 1, parents: {} }, { a: 1 });
    },
    () =>
      one.putWrites(
        put,
        [
          ["a", 1],
          ["b", new Uint8Array([0, 255])],
        ],
        "task",
      ),
    () => one.getTuple(config),
    () => one.getTuple(put),
    () => Array.fromAsync(one.list(config)),
    () => Array.fromAsync(one.list({}, { limit: 1, filter: { source: "loop" }, before: put })),
    () => one.deleteThread("t"),
  ];
  for (const call of calls) expect(await requestsOf(call)).toBe(1);
});

test("a step that fans out has more writes than a batch takes", async () => {
  const one = await saver.createCheckpointer();
  const config = { configurable: { thread_id: "wide", checkpoint_ns: "" } };
  const put = await one.put(config, emptyCheckpoint(), { source: "loop", step: 1, parents: {} }, {});
  const writes = Array.from({ length: 1_100 }, (_, at): [string, number] => ["sent", at]);
  expect(await requestsOf(() => one.putWrites(put, writes, "task"))).toBe(2);
  const tuple = await one.getTuple(config);
  expect(tuple?.pendingWrites).toEqual(writes.map(([channel, at]) => ["task", channel, at]));
});

test("a step whose writes are larger than a body", async () => {
  const one = await saver.createCheckpointer();
  const config = { configurable: { thread_id: "large", checkpoint_ns: "" } };
  const put = await one.put(config, emptyCheckpoint(), { source: "loop", step: 1, parents: {} }, {});
  const writes = Array.from({ length: 9 }, (_, at): [string, string] => ["sent", `${at} é `.repeat(100_000)]);
  expect(await requestsOf(() => one.putWrites(put, writes, "task"))).toBe(2);
  const tuple = await one.getTuple(config);
  expect(tuple?.pendingWrites).toEqual(writes.map(([channel, text]) => ["task", channel, text]));
});

describe("the store for LangGraph", () => {
  const people = [
    [["users", "1"], "ana", { name: "Ana", age: 30, active: true, tags: ["x"], "a.b": 1 }],
    [["users", "1"], "bob/2", { name: "Bob", age: 41, active: false, note: null }],
    [["users", "2"], "eve", { name: "Eve", nested: { a: 1 } }],
    [["docs"], "\u{1F600} %", { text: "the quarterly report" }],
  ] as const;

  const filled = async () => {
    const { GoverndStore } = await adapters.import("langgraph-store.ts");
    const stores: BaseStore[] = [new GoverndStore(request(freshAgent())), new InMemoryStore()];
    for (const store of stores)
      for (const [namespace, key, value] of people) await store.put([...namespace], key, value);
    return stores as [BaseStore, BaseStore];
  };
  /** Items without their times, which differ, in the order of their keys. */
  const plain = (items: readonly (Item | null)[]) =>
    items
      .map((item) => item && { namespace: item.namespace, key: item.key, value: item.value })
      .sort((a, b) => (`${a?.namespace}${a?.key}` < `${b?.namespace}${b?.key}` ? -1 : 1));

  test("does what the store in memory does, with one request for a call", async () => {
    const [own, memory] = await filled();
    const searches: [string[], { filter?: object; limit?: number; offset?: number }?][] = [
      [[]],
      [["users"]],
      [["users", "1"], { filter: { active: true } }],
      [["users"], { filter: { age: { $gte: 30 }, name: { $ne: "Bob" } } }],
      [["users"], { filter: { age: 30 } }],
      [["users"], { filter: { "a.b": 1 } }],
      [["nobody"]],
    ];
    for (const [namespace, options] of searches) {
      let found: Item[] = [];
      const count = await requestsOf(async () => {
        found = await own.search(namespace, options);
      });
      expect([namespace, options, count, plain(found)]).toEqual([
        namespace,
        options,
        1,
        plain(await memory.search(namespace, options)),
      ]);
    }
    expect(await own.search([], { limit: 2, offset: 1 })).toHaveLength(2);
    // More than one page of the API has.
    expect(await own.search([], { limit: 1000, offset: 1 })).toHaveLength(people.length - 1);
    expect(await own.search([], { query: "report", limit: 100, offset: 1 })).toBeArray();
    for (const options of [{}, { prefix: ["users"] }, { suffix: ["1"] }, { prefix: ["*", "2"] }, { maxDepth: 1 }]) {
      expect((await own.listNamespaces(options)).sort()).toEqual((await memory.listNamespaces(options)).sort());
    }
    const operations = [
      { namespace: ["users", "1"], key: "ana" },
      { namespace: ["users", "1"], key: "bob/2", value: null },
      { namespace: ["users", "3"], key: "new", value: { a: 1 } },
      { namespace: ["users", "1"], key: "nobody" },
    ];
    const answers: (Item | null)[][] = [];
    expect(await requestsOf(async () => answers.push((await own.batch(operations)) as (Item | null)[]))).toBe(1);
    expect(plain(answers[0] as Item[])).toEqual(plain((await memory.batch(operations)) as Item[]));
    expect(plain(await own.search([]))).toEqual(plain(await memory.search([])));
    expect((await own.get(["users", "1"], "ana"))?.updatedAt).toBeInstanceOf(Date);
  });

  test("searches by meaning among what matches a filter", async () => {
    const [own] = await filled();
    const [first] = await own.search([], { query: "quarterly report", limit: 1 });
    expect(first).toMatchObject({ namespace: ["docs"], value: { text: "the quarterly report" } });
    expect(first?.score).toBeGreaterThan(0.3);
  });
});

test("a conversation of OpenAI Agents goes on in its session", async () => {
  const { GoverndSession } = await adapters.import("openai-session.ts");
  setTracingDisabled(true);
  const seen: AgentInputItem[][] = [];
  const model: Model = {
    async getResponse({ input }) {
      seen.push(input as AgentInputItem[]);
      const content = [{ type: "output_text" as const, text: `answer ${seen.length}` }];
      const message = { type: "message" as const, role: "assistant" as const, status: "completed" as const, content };
      return { usage: new Usage(), output: [message] };
    },
    getStreamedResponse: () => Promise.reject(new Error("nothing is streamed here")) as never,
  };
  const session: Session = new GoverndSession(request(freshAgent()), "customer/42");
  const other: Session = new GoverndSession(request(`agent-${agents}`), "customer/4");
  const runner = new Runner({ modelProvider: { getModel: () => model } });
  const agent = new Agent({ name: "assistant" });
  const texts = (items: AgentInputItem[]) =>
    items.map((item) => JSON.stringify(item).match(/question \d|answer \d/)?.[0]);
  for (const n of [1, 2, 3]) {
    const { finalOutput } = await runner.run(agent, `question ${n}`, { session });
    expect(finalOutput).toBe(`answer ${n}`);
  }
  const all = ["question 1", "answer 1", "question 2", "answer 2", "question 3", "answer 3"];
  expect(texts(seen[2] as AgentInputItem[])).toEqual(all.slice(0, 5));
  expect(texts(await session.getItems())).toEqual(all);
  expect(texts(await session.getItems(3))).toEqual(all.slice(3));
  expect(texts([(await session.popItem()) as AgentInputItem])).toEqual(["answer 3"]);
  expect(texts(await session.getItems())).toEqual(all.slice(0, 5));
  expect(await other.getItems()).toEqual([]);
  await session.clearSession();
  expect(await session.getItems()).toEqual([]);
  expect(await session.popItem()).toBeUndefined();
});

test("programs that share a session add and take every item once", async () => {
  const { GoverndSession } = await adapters.import("openai-session.ts");
  const agent = freshAgent();
  const sessions: Session[] = Array.from({ length: 3 }, () => new GoverndSession(request(agent), "shared"));
  const items = (of: number) => ["a", "b"].map((part) => ({ role: "user" as const, content: `${part}${of}` }));
  await Promise.all(sessions.map((session, of) => session.addItems(items(of))));
  const taken = await Promise.all(Array.from({ length: 7 }, (_, at) => sessions[at % 3]?.popItem()));
  const contents = taken.map((item) => (item as { content?: string } | undefined)?.content ?? "nothing");
  expect(contents.sort()).toEqual(["a0", "a1", "a2", "b0", "b1", "b2", "nothing"]);
});

test("the AI SDK's model calls the tools", async () => {
  const { memoryTools } = await adapters.import("ai-tools.ts");
  const calls: [string, object][] = [
    ["memory_write", { key: "color", value: "Her favourite color is green." }],
    ["memory_read", { key: "color" }],
    ["memory_search", { query: "favourite color" }],
    ["memory_delete", { key: "color" }],
  ];
  const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } } as never;
  const steps = calls.map(([toolName, input], i) => ({
    content: [{ type: "tool-call" as const, toolCallId: `call-${i}`, toolName, input: JSON.stringify(input) }],
    finishReason: { unified: "tool-calls" as const, raw: undefined },
    usage,
    warnings: [],
  }));
  const last = {
    content: [{ type: "text" as const, text: "done" }],
    finishReason: { unified: "stop" as const, raw: undefined },
    usage,
    warnings: [],
  };
  const model = new MockLanguageModelV4({ doGenerate: [...steps, last] as never });
  const tools = memoryTools(request(freshAgent()));
  const { text, steps: made } = await generateText({ model, tools, prompt: "Remember.", stopWhen: isStepCount(9) });
  expect(text).toBe("done");
  const outputs = made.flatMap(({ toolResults }) => toolResults.map(({ output }) => output));
  expect(outputs).toMatchObject([
    { allowed: true },
    { value: "Her favourite color is green." },
    { data: [{ key: "color" }] },
    { deleted: 1 },
  ]);
});

test("an MCP client uses the memory of an agent", async () => {
  const { memoryClient } = await adapters.import("mcp-client.ts");
  const mcp = await memoryClient(client.url, client.apiKey, freshAgent(), send);
  const { tools } = await mcp.listTools();
  expect(tools.map(({ name }: { name: string }) => name)).toContain("memory_search");
  const call = async (name: string, args: object) => (await mcp.callTool({ name, arguments: args })).structuredContent;
  expect(await call("memory_write", { key: "k", value: "green tea", metadata: { n: 1 } })).toMatchObject({
    allowed: true,
  });
  const found = await call("memory_search", { query: "tea", filter: { n: { $lte: 1 } } });
  expect(found.data).toMatchObject([{ key: "k", value: "green tea" }]);
  await mcp.close();
});

const PYTHON = ["python3", "/usr/bin/python3"].find(
  (path) => Bun.which(path) !== null && Bun.spawnSync([path, "-c", "import httpx, requests"]).success,
);
const SESSIONS = {
  requests: "import requests\nsession = requests.Session()\nsession.verify = ca",
  httpx: "import httpx\nsession = httpx.Client(verify=ca)",
};
const USE = `
from governd import Blocked, Governd
governd = Governd(session, url, key, agent)
version = governd.write("notes/1", "The report is due on Friday.", metadata={"source": "chat", "n": 1})
governd.write("notes/2", "The report is late.", metadata={"source": "mail", "n": 2})
assert governd.read("notes/1") == "The report is due on Friday."
assert [row["key"] for row in governd.query(limit=1, order="desc")] == ["notes/2", "notes/1"]
assert [row["audit_id"] for row in governd.query(filter={"n": {"$lt": 2}})] == [version]
assert governd.search("report due", filter={"source": "chat"})[0]["key"] == "notes/1"
try:
    governd.write("notes/3", "Call Jane on +1 415 555 2671.")
    raise SystemExit("stored")
except Blocked as blocked:
    assert blocked.findings[0]["detector"] == "phone"
governd.delete("notes/1")
try:
    governd.read("notes/1")
    raise SystemExit("found")
except RuntimeError as problem:
    assert str(problem).startswith("entry_not_found")
print("done")
`;

describe.skipIf(PYTHON === undefined)("Python", () => {
  test.each(Object.entries(SESSIONS))("%s", async (_name, session) => {
    const agent = freshAgent();
    await client.configure(agent, { policies: { block_pii: true } });
    const given = Object.entries({ ...python, agent }).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
    const child = Bun.spawn([PYTHON as string, "-c", `${given.join("\n")}\n${session}\n${USE}`], {
      cwd: adapters.directory,
      // A variable for other authorities would count more than `session.verify`.
      env: { PATH: process.env.PATH, PYTHONDONTWRITEBYTECODE: "1" },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    expect(await ended(child)).toEqual({ out: "done\n", err: "", code: 0 });
  });
});

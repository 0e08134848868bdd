/** Lists: pages by offset and by cursor, literal prefixes, byte order, limits; the same for all four. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Client } from "../support/client.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";

let daemon: TestDaemon;
let workspace: TestWorkspace;
let client: Client;

const COUNT = 7;

/** In UTF-8 byte order, which is not the order of UTF-16 code units. */
const KEYS = [
  "%",
  "%25",
  "*",
  "**",
  "A",
  "_",
  "_a",
  "a",
  "a%b",
  "a*b",
  "a/1",
  "a/2",
  "aA",
  "a_b",
  "ab",
  "b",
  "\u00e9",
  "\u0301e",
  "\ud7ff",
  "\ue000",
  "\uffff",
  "\uffffx",
  "\u{10000}",
  "\u{1F600}",
  "\u{1F600}b",
  "\u{10FFFF}",
  "\u{10FFFF}\u{10FFFF}",
].sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));

beforeAll(async () => {
  daemon = await TestDaemon.start({ confided: true });
  workspace = await daemon.workspace();
  client = workspace.client;
  for (let i = 0; i < COUNT; i++) {
    await client.configure("a", { i });
    await client.checkpoint("a", { label: String(i) });
    await client.write("a", `k${i}`, String(i));
  }
  await Promise.all(KEYS.map((key) => client.write("keys", key, key)));
});
afterAll(() => daemon[Symbol.asyncDispose]());

interface List {
  path: string;
  query: Record<string, string>;
  name: (item: never) => string;
  expected: string[];
}

const down = (prefix: string, from: number) => Array.from({ length: from }, (_, i) => `${prefix}${from - i}`);

const LISTS: List[] = [
  {
    path: "/v1/config/a/versions",
    query: {},
    name: (item: { version: string }) => item.version,
    expected: down("v", COUNT),
  },
  {
    path: "/v1/checkpoints",
    query: { agent_id: "a" },
    name: (item: { label: string }) => item.label,
    expected: ["6", "5", "4", "3", "2", "1", "0"],
  },
  {
    path: "/v1/data/list",
    query: { agent_id: "a" },
    name: (item: { key: string }) => item.key,
    expected: ["k0", "k1", "k2", "k3", "k4", "k5", "k6"],
  },
  {
    path: "/v1/audit",
    query: { agent_id: "a", operations: "config.update" },
    name: (item: { details: { version: string } }) => item.details.version,
    expected: down("v", COUNT),
  },
  {
    path: "/v1/config/a/versions",
    query: { order: "asc" },
    name: (item: { version: string }) => item.version,
    expected: down("v", COUNT).toReversed(),
  },
  {
    path: "/v1/checkpoints",
    query: { agent_id: "a", order: "asc" },
    name: (item: { label: string }) => item.label,
    expected: ["0", "1", "2", "3", "4", "5", "6"],
  },
  {
    path: "/v1/checkpoints",
    query: { agent_id: "a", sort: "label" },
    name: (item: { label: string }) => item.label,
    expected: ["6", "5", "4", "3", "2", "1", "0"],
  },
  {
    path: "/v1/checkpoints",
    query: { agent_id: "a", sort: "entry_count", order: "asc" },
    name: (item: { entry_count: number }) => String(item.entry_count),
    expected: ["0", "1", "2", "3", "4", "5", "6"],
  },
  {
    path: "/v1/audit",
    query: { agent_id: "a", operations: "config.update", order: "asc" },
    name: (item: { details: { version: string } }) => item.details.version,
    expected: down("v", COUNT).toReversed(),
  },
];

async function page(list: List, query: Record<string, string | number>) {
  const answered = await client.get(list.path, { ...list.query, ...query });
  return { ...answered, names: answered.json.data?.map(list.name) as string[] };
}

const named = ({ path, query }: List) => `${path} ${new URLSearchParams(query)}`;

describe.each(LISTS.map((list) => [named(list), list] as const))("%s", (_name, list) => {
  test.each([1, 2, 3, COUNT - 1, COUNT, COUNT + 1, 1000])("by cursor, %d at a time", async (limit) => {
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const found = await page(list, cursor === null ? { limit } : { limit, cursor });
      expect(found.status).toBe(200);
      expect(found.names.length).toBeLessThanOrEqual(limit);
      expect(found.json.has_more).toBe(found.json.next_cursor !== null);
      seen.push(...found.names);
      cursor = found.json.next_cursor;
    } while (cursor !== null);
    expect(seen).toEqual(list.expected);
  });

  test("by offset", async () => {
    for (let offset = 0; offset <= COUNT + 1; offset++) {
      const { names, json } = await page(list, { offset, limit: 3 });
      expect(names).toEqual(list.expected.slice(offset, offset + 3));
      expect(json.has_more).toBe(offset + 3 < COUNT);
    }
    expect((await page(list, { offset: Number.MAX_SAFE_INTEGER })).names).toEqual([]);
  });

  const next = async () => (await page(list, { limit: 2 })).json.next_cursor as string;

  test("a cursor holds for its own filters alone", async () => {
    const cursor = await next();
    for (const other of LISTS.filter((one) => one !== list)) {
      expect((await page(other, { cursor })).json).toMatchObject({ code: "invalid_request", param: "cursor" });
    }
    if (list.query.agent_id === undefined) return;
    const moved = await client.get(list.path, { ...list.query, agent_id: "keys", cursor });
    expect(moved.json).toMatchObject({ status: 400, param: "cursor" });
  });

  test.each([
    ["limit", { limit: 0 }],
    ["limit", { limit: 1001 }],
    ["limit", { limit: "05" }],
    ["limit", { limit: "1.0" }],
    ["limit", { limit: "-1" }],
    ["limit", { limit: "" }],
    ["offset", { offset: -1 }],
    ["offset", { offset: "9007199254740993" }],
    ["cursor", { cursor: "" }],
    ["cursor", { cursor: "nonsense" }],
    ["sort", { sort: "asc" }],
  ] as const)("a bad %s is refused: %p", async (param, query) => {
    const { status, json } = await page(list, query);
    expect({ status, param: json.param }).toEqual({ status: 400, param });
  });

  test("cursor and offset together are refused", async () => {
    const { json } = await page(list, { cursor: await next(), offset: 0 });
    expect(json).toMatchObject({ status: 400, code: "invalid_request", param: "cursor" });
  });

  test("a forged position is refused or finds nothing strange", async () => {
    const cursor = await next();
    const digest = Buffer.from(cursor, "base64url").subarray(0, 9);
    const positions = [
      '"\\u0000"',
      '"a\\u0000b"',
      '"\\ud800"',
      '"k"',
      "-1",
      "0",
      "9007199254740991",
      "1.5",
      "1e999",
      "null",
      "true",
      "{}",
      "[]",
      '"',
    ];
    for (const position of positions) {
      const forged = Buffer.concat([digest, Buffer.from(position)]).toString("base64url");
      const { status, json } = await page(list, { cursor: forged });
      expect({ position, status }).toEqual({ position, status: status === 200 ? 200 : 400 });
      if (status === 400) expect(json).toMatchObject({ code: "invalid_request", param: "cursor" });
    }
  });
});

const keysOf = ({ json }: { json: { data: { key: string }[] } }) => json.data.map(({ key }) => key);

test("keys are in UTF-8 byte order", async () => {
  expect(keysOf(await client.get("/v1/data/list", { agent_id: "keys" }))).toEqual(KEYS);
});

test("every prefix is literal, in lists, searches and deletions", async () => {
  const points = new Set(KEYS.flatMap((key) => [...key]));
  const prefixes = [...points, ...KEYS, "a", "A%", "aB", "\u{10FFFF}".repeat(3), "\ud7ff\u{10FFFF}"];
  for (const prefix of prefixes) {
    const found = keysOf(await client.get("/v1/data/list", { agent_id: "keys", prefix }));
    expect({ prefix, found }).toEqual({ prefix, found: KEYS.filter((key) => key.startsWith(prefix)) });
  }
  expect(keysOf(await client.get("/v1/data/list", { agent_id: "keys", prefix: "" }))).toEqual(KEYS);
});

test("a prefix deletes what begins with it and nothing else", async () => {
  for (const prefix of ["%", "_", "*", "\u{10FFFF}", "\u{1F600}", "\ud7ff"]) {
    const agent = `prefix-${[...prefix][0]?.codePointAt(0)}`;
    await Promise.all(KEYS.map((key) => client.write(agent, key, key)));
    const begins = KEYS.filter((key) => key.startsWith(prefix));
    const { json } = await client.delete("/v1/data/prefix", { agent_id: agent, prefix });
    expect(json.deleted).toBe(begins.length);
    const left = keysOf(await client.get("/v1/data/list", { agent_id: agent }));
    expect(left).toEqual(KEYS.filter((key) => !key.startsWith(prefix)));
  }
});

test("pages by cursor go on behind a key that was deleted meanwhile", async () => {
  await Promise.all(["1", "2", "3", "4"].map((key) => client.write("moving", key, key)));
  const first = await client.get("/v1/data/list", { agent_id: "moving", limit: 2 });
  await client.delete("/v1/data", { agent_id: "moving", key: "2" });
  await client.write("moving", "0", "0");
  const second = await client.get("/v1/data/list", { agent_id: "moving", limit: 2, cursor: first.json.next_cursor });
  expect(keysOf(second)).toEqual(["3", "4"]);
});

test("a page of large values ends early, with a cursor", async () => {
  const value = "x".repeat(1024 * 1024);
  for (let i = 0; i < 10; i++) await client.write("large", `k${i}`, value);
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const found = await client.get("/v1/data/list", {
      agent_id: "large",
      include_values: true,
      ...(cursor === undefined ? {} : { cursor }),
    });
    seen.push(...keysOf(found));
    cursor = found.json.next_cursor ?? undefined;
    if (cursor !== undefined) expect(found.json.data.length).toBeLessThan(10);
  } while (cursor !== undefined);
  expect(seen).toHaveLength(10);
});

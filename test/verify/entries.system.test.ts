/** What operations say of the entries that they found: honest logs hold, and others are found, by both programs. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../../src/json.ts";
import { saltedDigest } from "../../src/log/hash.ts";
import { canonicalJson } from "../../src/log/jcs.ts";
import { openConnection } from "../../src/store/connection.ts";
import { verifyDatabaseFile } from "../../src/verify/sources.ts";
import { verifyWorkspace } from "../../src/verify/workspace.ts";
import { rewriteLog } from "../corpus/rewrite.ts";
import { effort } from "../effort.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { SEED } from "../seed.ts";
import { Seeded } from "../seeded.ts";
import { TestDaemon } from "../support/daemon.ts";
import { temporaryDirectory } from "../temporary.ts";
import { Driver } from "./sample-workspace.ts";
import { HAS_PYTHON, SecondVerifier } from "./second-verifier.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const directory = temporaryDirectory();
const second = new SecondVerifier();
afterAll(async () => {
  await second[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});

const HOUR_MS = 3_600_000;
const base = directory.join("base.db");
/** The positions of the events that are changed. */
const at = { found: 0, missed: 0, ended: 0, endedPrefix: 0, missedPrefix: 0, foundAlone: 0, foundOld: 0 };

beforeAll(async () => {
  const driver = await Driver.create(base);
  const last = () => driver.connection.value<number>("SELECT max(seq) FROM events") as number;
  const perform = async (...[name, input]: Parameters<Driver["perform"]>) => {
    await driver.perform(name, input);
    return last();
  };
  for (const key of ["k/1", "k/2", "k/3", "m"]) await driver.write("a", key, "value");
  at.found = await perform("data.read", { agentId: "a", key: "m" });
  at.missed = await perform("data.read", { agentId: "a", key: "nothing" });
  at.ended = await perform("data.delete", { agentId: "a", key: "k/3" });
  at.missedPrefix = await perform("data.delete_prefix", { agentId: "a", prefix: "nothing" });
  at.endedPrefix = await perform("data.delete_prefix", { agentId: "a", prefix: "k/" });
  // Of an agent whose entries end by themselves, or by the retention of a config that is loosened afterwards.
  const expiry = { afterMs: HOUR_MS };
  await driver.perform("data.write", { agentId: "b", key: "ends", value: "v", metadata: {}, expiry });
  await driver.write("b", "grows old", "v");
  await driver.perform("config.update", { agentId: "b", config: { policies: { retention_days: 1 } } });
  driver.passDays(2);
  await perform("data.read", { agentId: "b", key: "ends" });
  at.foundOld = await perform("data.read", { agentId: "b", key: "grows old" });
  await driver.sweep();
  await driver.perform("config.update", { agentId: "b", config: {} });
  await perform("data.read", { agentId: "b", key: "grows old" });
  await driver.write("b", "stays", "v");
  at.foundAlone = await perform("data.read", { agentId: "b", key: "stays" });
  await recalled(driver, last);
  driver.close();
});

/** The positions of writes, and of reads that name what they returned. */
const seq = { first: 0, second: 0, deleted: 0, restored: 0, swept: 0, blank: 0, others: 0 };
const read = { one: 0, some: 0, checkpoint: 0 };
let checkpoint = "";

/** An agent whose versions were overwritten, deleted, brought back, swept and erased before it reads. */
async function recalled(driver: Driver, last: () => number): Promise<void> {
  const agentId = "r";
  const write = async (key: string, agent = agentId) => {
    await driver.write(agent, key, `value of ${key}`);
    return last();
  };
  const expiry = { afterMs: HOUR_MS };
  await driver.perform("data.write", { agentId, key: "ends", value: "v", metadata: {}, expiry });
  seq.swept = last();
  seq.first = await write("k");
  seq.restored = await write("back/1");
  seq.deleted = await write("gone");
  seq.blank = await write("erased");
  seq.others = await write("k", "a");
  checkpoint = (await driver.perform("checkpoint.create", { agentId, label: null, metadata: {} })).id as string;
  seq.second = await write("k");
  await driver.perform("data.delete_prefix", { agentId, prefix: "back/" });
  await driver.perform("data.delete", { agentId, key: "gone" });
  await driver.perform("checkpoint.restore", { checkpointId: checkpoint, restoreConfig: false, restoreData: true });
  seq.second = await write("k");
  await driver.perform("data.delete", { agentId, key: "gone" });
  driver.passDays(1);
  await driver.sweep();
  await driver.perform("data.erase", { agentId, key: "erased" });
  for (const name of ["one", "some", "checkpoint"] as const) {
    await driver.perform("data.read", { agentId, key: "k" });
    read[name] = last();
  }
}

/** Returns what both programs find when an event is another one, and all that follows fits it. */
async function said(seq: number, changed: JsonObject, details: JsonObject | null) {
  const path = directory.join("changed.db");
  copyFileSync(base, path);
  {
    using connection = openConnection(path);
    const salt = connection.value<Uint8Array>("SELECT details_salt FROM events WHERE seq = ?", [seq]) as Uint8Array;
    const text = details && canonicalJson(details);
    const commitment = text && { details_commitment: saltedDigest(salt, text) };
    await rewriteLog(connection, seq, { ...changed, ...commitment });
    if (text !== null) connection.run("UPDATE events SET details = ? WHERE seq = ?", [text, seq]);
    connection.truncateLog();
  }
  return await found(path);
}

async function found(path: string) {
  const { report } = await verifyDatabaseFile({ path, immutable: true }, { path });
  using reader = openConnection(path, { readOnly: true });
  const inParts = await verifyWorkspace(reader, { scope: "workspace" }, { maxKeys: 2 });
  const codes: string[] = report.problems.map(({ code }) => code);
  return {
    codes,
    seqs: report.problems.map(({ seq }) => seq),
    inParts: inParts.problems.length > 0,
    second: HAS_PYTHON ? (await second.run(path)).codes : codes,
  };
}

const impossible = (seq: number) => ({
  ...{ codes: ["operation_impossible"], seqs: [seq as number | null], second: ["operation_impossible"], inParts: true },
});

test("an honest log holds", async () => {
  expect(await found(base)).toEqual({ codes: [], seqs: [], inParts: false, second: [] });
});

type Case = [what: string, seq: () => number, changed: JsonObject, details: JsonObject | null];

test.each<Case>([
  ["a read of what was not there", () => at.missed, { result: "ok" }, null],
  ["a whole read of what was not there", () => at.missed, { operation: "data.read_full", result: "ok" }, null],
  ["a deletion of what was not there", () => at.missed, { operation: "data.delete", result: "ok" }, null],
  ["a read that found nothing where there was something", () => at.found, { result: "not_found" }, { key: "m" }],
  [
    "a deletion that found nothing where there was something",
    () => at.found,
    { operation: "data.delete", result: "not_found" },
    { key: "m" },
  ],
  ["a read of what had been past its retention", () => at.foundOld, { result: "ok" }, null],
  [
    "a read that found nothing after a sweep, which cannot have removed it",
    () => at.foundAlone,
    { result: "not_found" },
    { key: "stays" },
  ],
  ["a deletion by prefix of more than there was", () => at.endedPrefix, {}, { prefix: "k/", count: 3 }],
  ["a deletion by prefix of fewer than there were", () => at.endedPrefix, {}, { prefix: "k/", count: 1 }],
  [
    "a deletion by prefix of what was not there",
    () => at.missedPrefix,
    { result: "ok" },
    { prefix: "nothing", count: 2 },
  ],
  ["a deletion by prefix that found nothing where there was something", () => at.missedPrefix, {}, { prefix: "m" }],
])("%s is found", async (_, seq, changed, details) => {
  expect(await said(seq(), changed, details)).toEqual(impossible(seq()));
});

const LIST = { operation: "data.list" };
const SEARCH = { operation: "data.search" };
const LOOK = { operation: "checkpoint.read" };
const COMPARISON = { operation: "checkpoint.compare" };
const momentAt = (position: number) => ({ seq: position, timestamp: "2026-01-01T00:00:00.000Z" });
/** The details of a read of a moment that returned one version. */
const ofPast = (operation: "data.read" | "data.list", written: number, position: number): JsonObject => ({
  ...(operation === "data.read" ? { key: "k" } : { prefix: "", count: 1 }),
  ...{ returned: [written], as_of: momentAt(position) },
});
const searched = (more: JsonObject) => ({ prefix: "", limit: 10, count: 1, ...more });
const looked = (more: JsonObject) => ({ checkpoint_id: checkpoint, ...more });

type Recalled = [what: string, seq: () => number, changed: JsonObject, details: () => JsonObject];

test.each<Recalled>([
  ["a read of a version that was overwritten", () => read.one, {}, () => ({ key: "k", returned: [seq.first] })],
  ["a read of another key's version", () => read.one, {}, () => ({ key: "k", returned: [seq.restored] })],
  [
    "a whole read of an older version",
    () => read.one,
    { operation: "data.read_full" },
    () => ({ key: "k", returned: [seq.first] }),
  ],
  ["a read, without its key,", () => read.one, {}, () => ({ redacted: true, returned: [seq.first] })],
  ["a search with what was deleted", () => read.some, SEARCH, () => searched({ returned: [seq.deleted] })],
  ["a search with another agent's version", () => read.some, SEARCH, () => searched({ returned: [seq.others] })],
  ["a search with what is no write", () => read.some, SEARCH, () => searched({ returned: [read.one] })],
  ["a search with what came later", () => read.some, SEARCH, () => searched({ returned: [read.checkpoint] })],
  [
    "one wrong version among others",
    () => read.some,
    LIST,
    () => ({ prefix: "", count: 2, returned: [seq.deleted, seq.second] }),
  ],
  [
    "a search of an earlier state, with what was written after it",
    () => read.some,
    SEARCH,
    () => searched({ returned: [seq.second], read_seq: seq.second - 1 }),
  ],
  [
    "a search of a later state than its event's own",
    () => read.some,
    SEARCH,
    () => searched({ returned: [seq.second], read_seq: read.some }),
  ],
  ["a search of an earlier state with nothing", () => read.some, SEARCH, () => searched({ returned: [], read_seq: 3 })],
  ["a look at what a checkpoint does not see", () => read.checkpoint, LOOK, () => looked({ returned: [seq.second] })],
  [
    "a comparison with what neither state has",
    () => read.checkpoint,
    COMPARISON,
    () => looked({ count: 1, returned: [seq.others] }),
  ],
  ...(["data.read", "data.list"] as const).flatMap((operation): Recalled[] => [
    [
      `${operation} of a moment with what was written after it`,
      () => read.some,
      { operation },
      () => ofPast(operation, seq.second, seq.second - 1),
    ],
    [
      `${operation} of a moment with what had ended before it`,
      () => read.some,
      { operation },
      () => ofPast(operation, seq.first, seq.second),
    ],
    [`${operation} of its own moment`, () => read.some, { operation }, () => ofPast(operation, seq.second, read.some)],
  ]),
  [
    "a read of a moment with another key's version",
    () => read.some,
    {},
    () => ofPast("data.read", seq.deleted, seq.others),
  ],
  [
    "a read in a state from before the moment",
    () => read.some,
    LIST,
    () => ({ ...ofPast("data.list", seq.first, seq.others), read_seq: seq.others - 1 }),
  ],
  [
    "a number of versions without a root",
    () => read.some,
    LIST,
    () => ({ prefix: "", count: 2, returned_count: 2_000 }),
  ],
  [
    "a number of versions that would be listed",
    () => read.some,
    LIST,
    () => ({ prefix: "", count: 2, returned_count: 1_000, returned_root: "0".repeat(64) }),
  ],
])("%s is found", async (_, at, changed, details) => {
  expect(await said(at(), changed, details())).toEqual(impossible(at()));
});

test.each<Recalled>([
  ["what a restore brought back", () => read.some, SEARCH, () => searched({ returned: [seq.restored, seq.second] })],
  ["what ended by itself", () => read.some, SEARCH, () => searched({ returned: [seq.swept] })],
  ["what was erased", () => read.some, SEARCH, () => searched({ returned: [seq.blank] })],
  [
    "an earlier state",
    () => read.some,
    SEARCH,
    () => searched({ returned: [seq.first, seq.deleted], read_seq: seq.others - 1 }),
  ],
  ["a moment", () => read.some, {}, () => ofPast("data.read", seq.first, seq.others)],
  ["a list of a moment", () => read.some, LIST, () => ofPast("data.list", seq.deleted, seq.others)],
  [
    "a moment that found nothing where there is something now",
    () => read.some,
    { result: "not_found" },
    () => ({ key: "k", as_of: momentAt(1) }),
  ],
  ["a moment that is gone", () => read.some, { result: "not_found" }, () => ({ key: "k", code: "moment_gone" })],
  ["a checkpoint", () => read.checkpoint, LOOK, () => looked({ returned: [seq.first, seq.deleted] })],
  [
    "a checkpoint beside the present",
    () => read.checkpoint,
    COMPARISON,
    () => looked({ count: 1, returned: [seq.first, seq.deleted, seq.second] }),
  ],
  [
    "a number and a root",
    () => read.some,
    LIST,
    () => ({ prefix: "", count: 2, returned_count: 1_001, returned_root: "0".repeat(64) }),
  ],
])("a read of %s holds", async (_, at, changed, details) => {
  expect(await said(at(), changed, details())).toEqual({ codes: [], seqs: [], inParts: false, second: [] });
});

test.each<[string, JsonObject]>([
  ["twice", { returned: [4, 4] }],
  ["descending", { returned: [5, 4] }],
  ["that are none", { returned: [-1] }],
  ["beyond a thousand", { returned: Array.from({ length: 1_001 }, (_, at) => at) }],
])("positions %s are no list of them", async (_, returned) => {
  const found = await said(read.some, LIST, { prefix: "", count: 2, ...returned });
  expect([found.codes, found.second]).toEqual([["details_invalid"], ["details_invalid"]]);
});

const SWEEP = { operation: "data.expire", actor: "system", result: "ok" };

test.each<[string, () => number, JsonObject]>([
  ["where nothing expires", () => at.missed, { count: 1, through: 0 }],
  ["of more than there was", () => at.foundAlone, { count: 50, through: 0 }],
  ["of history after itself", () => at.foundAlone, { count: 1, through: 1000 }],
])("a sweep %s is found", async (_, seq, details) => {
  const { inParts: _parts, ...rest } = await said(seq(), SWEEP, details);
  const { inParts: __, ...expected } = impossible(seq());
  expect(rest).toEqual(expected);
});

test("what clients read, write, delete and restore at once is never called impossible", async () => {
  await using daemon = await TestDaemon.start();
  const { client, view, id } = await daemon.workspace();
  const random = new Seeded(SEED);
  const answered = new Set<string>();
  const checkpoints: string[] = [];
  const ask = async () => {
    const agent_id = random.pick(["a", "b"]);
    const key = random.pick(["k", "k/1", "k/2", "m"]);
    const expires_at = new Date(Date.now() + random.pick([-1_000, 5, 50, 500])).toISOString();
    const operations = ["write", "read", "delete", "read"].map((op) => {
      return { op, key: random.pick(["k", "m"]), ...(op === "write" && { value: "v", if_version: null }) };
    });
    const sent = random.pick<Parameters<typeof client.send>[0]>([
      { path: "/v1/data/write", body: { agent_id, key, value: "v" } },
      { path: "/v1/data/write", body: { agent_id, key, value: "v", expires_at } },
      { path: "/v1/data/read", query: { agent_id, key } },
      { path: "/v1/data/read-full", query: { agent_id, key } },
      { path: "/v1/data/read", query: { agent_id, key, as_of: `seq:${random.between(0, view.head)}` } },
      {
        path: "/v1/data/list",
        query: { agent_id, include_values: true, as_of: `seq:${random.between(0, view.head)}` },
      },
      { method: "DELETE", path: "/v1/data", query: { agent_id, key } },
      { method: "DELETE", path: "/v1/data/prefix", query: { agent_id, prefix: "k/" } },
      { method: "DELETE", path: "/v1/data", query: { agent_id, key, erase: random.pick([true, false, false, false]) } },
      { path: "/v1/data/batch", body: { agent_id, operations, atomic: random.pick([true, false]) } },
      { path: "/v1/data/list", query: { agent_id, include_values: true, limit: random.pick([2, 100]) } },
      { path: "/v1/data/list", query: { agent_id, include_values: true, sort: "updated_at" } },
      { path: "/v1/data/query", body: { agent_id, filter: {}, include_values: true } },
      { path: "/v1/data/search", body: { agent_id, query: "v", collapse: random.pick([true, false]) } },
      { path: "/v1/checkpoints", body: { agent_id } },
      ...checkpoints
        .slice(-1)
        .flatMap((one) => [
          { path: `/v1/checkpoints/${one}` },
          { path: `/v1/checkpoints/${one}/changes` },
          { path: `/v1/checkpoints/${random.pick(checkpoints)}/restore`, body: {} },
        ]),
    ]);
    const { status, json } = await client.send(sent);
    if (status === 201) checkpoints.push(json.id);
    answered.add(`${sent.path.replace(/cp_\w+/, "")} ${status}`);
  };
  for (let round = 0; round < effort({ usual: 25, long: 400 }); round++) {
    await Promise.all(Array.from({ length: 12 }, ask));
  }
  expect(answered.size).toBeGreaterThan(15);
  expect((await view.verify()).problems).toEqual([]);
  const path = join(daemon.dataDir, "workspaces", `${id}.db`);
  using reader = openConnection(path, { readOnly: true });
  for (const scope of [{ scope: "workspace" }, { agentId: "a" }] as const)
    expect((await verifyWorkspace(reader, scope, { maxKeys: 2 })).problems).toEqual([]);
  if (HAS_PYTHON) expect((await second.run(path)).codes).toEqual([]);
});

/** What goes wrong inside: one operation after it wrote, or the transaction of all of them. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import type { Reply } from "../../src/core/writer/contract.ts";
import { checkTail } from "../../src/core/writer/head.ts";
import type { Job } from "../../src/core/writer/job.ts";
import { WorkspaceWriter } from "../../src/core/writer/perform.ts";
import { Problem } from "../../src/problem.ts";
import { verifyWorkspace } from "../../src/verify/workspace.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { bodyOf, OpenWorkspace } from "../support/open-workspace.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";

let directory: TemporaryDirectory;
let workspace: OpenWorkspace;

beforeEach(async () => {
  directory = temporaryDirectory();
  workspace = await OpenWorkspace.make(directory.path);
});
afterEach(() => {
  workspace[Symbol.dispose]();
  directory[Symbol.dispose]();
});

const SECRET = "hunter2";
const writing = (key: string, value = "v") => workspace.job("data.write", { agentId: "a", key, value, metadata: {} });

const failing = (error: Error): Job => workspace.failing(writing("broken", SECRET), error);

const codes = (settled: Reply[]) =>
  settled.map(({ answer }) => (answer.kind === "problem" ? answer.code : answer.kind));
const count = (table: string) => workspace.connection.get<[number]>(`SELECT count(*) FROM ${table}`)?.[0];
const read = async (key: string) => (await workspace.perform("data.read", { agentId: "a", key })).answer;
const problems = async () => (await verifyWorkspace(workspace.connection, { scope: "workspace" })).problems;

test("an operation that fails after it wrote costs only itself", async () => {
  const settled = await workspace.writer.perform([writing("one"), failing(new Error(SECRET)), writing("two")]);
  expect(codes(settled)).toEqual(["json", "internal", "json"]);
  expect(settled[1]?.auditId).toBeNull();
  expect(JSON.stringify(settled)).not.toContain(SECRET);
  expect(workspace.failures.map(({ operation }) => operation)).toContain("data.write");
  expect(count("events")).toBe(3);
  expect(count("entries")).toBe(2);
  expect((await read("broken")).kind).toBe("problem");
  expect(bodyOf(await workspace.perform("data.read", { agentId: "a", key: "two" })).value).toBe("v");
  expect(await problems()).toEqual([]);
});

test("so does one that fails before it wrote, one that is refused, and each of several", async () => {
  const early: Job = { ...writing("x"), run: async () => Promise.reject(new TypeError(SECRET)) };
  const refused: Job = { ...writing("x"), run: async () => Promise.reject(new Problem("forbidden", "No.")) };
  const late = failing(new Error("late"));
  const settled = await workspace.writer.perform([early, writing("one"), late, refused, late, writing("two"), early]);
  expect(codes(settled)).toEqual(["internal", "json", "internal", "forbidden", "internal", "json", "internal"]);
  expect(count("events")).toBe(3);
  expect(await problems()).toEqual([]);
});

test("a refusal after a write undoes the write", async () => {
  const settled = await workspace.writer.perform([failing(new Problem("forbidden", "No.")), writing("one")]);
  expect(codes(settled)).toEqual(["forbidden", "json"]);
  expect(count("entries")).toBe(1);
  expect(workspace.failures).toEqual([]);
});

test("an agent does not begin with an operation that failed", async () => {
  await workspace.writer.perform([failing(new Error("late"))]);
  expect(count("agents")).toBe(1);
  await workspace.writer.perform([writing("one")]);
  expect(count("agents")).toBe(2);
  expect(await problems()).toEqual([]);
});

test("an event that cannot be recorded: what it was about did not happen", async () => {
  const { run, ...job } = writing("unrecorded");
  const unrecordable: Job = {
    ...job,
    async run(...given) {
      const outcome = await run(...given);
      return { ...outcome, details: { n: Number.NaN } };
    },
  };
  const settled = await workspace.writer.perform([unrecordable, writing("one")]);
  expect(codes(settled)).toEqual(["internal", "json"]);
  expect((await read("unrecorded")).kind).toBe("problem");
  expect(await problems()).toEqual([]);
});

test("a full disk: all that shared the transaction are told so, and afterwards writes go on", async () => {
  await workspace.writer.perform([writing("before")]);
  const pages = workspace.connection.get<[number]>("PRAGMA page_count")?.[0] as number;
  workspace.connection.exec(`PRAGMA max_page_count = ${pages + 2}`);
  const large = "x".repeat(100_000);
  const settled = await workspace.writer.perform([writing("one"), writing("two", large), writing("three")]);
  expect(codes(settled)).toEqual(["unavailable", "unavailable", "unavailable"]);
  expect(count("events")).toBe(2);
  expect(count("entries")).toBe(1);
  workspace.connection.exec("PRAGMA max_page_count = 1073741823");
  expect(codes(await workspace.writer.perform([writing("one"), writing("two", large)]))).toEqual(["json", "json"]);
  expect(count("events")).toBe(4);
  expect(await problems()).toEqual([]);
});

test("a file that takes no writes for a while", async () => {
  workspace.connection.exec("PRAGMA query_only = ON");
  expect(codes(await workspace.writer.perform([writing("one"), writing("two")]))).toEqual([
    "unavailable",
    "unavailable",
  ]);
  workspace.connection.exec("PRAGMA query_only = OFF");
  expect(codes(await workspace.writer.perform([writing("one")]))).toEqual(["json"]);
  expect(await problems()).toEqual([]);
});

test("what fails after the commit is reported, and the clients are told what was done", async () => {
  const failures: string[] = [];
  const fail = () => {
    throw Object.assign(new Error("the disk"), { code: "SQLITE_IOERR_READ" });
  };
  const writer = new WorkspaceWriter(workspace.connection, {
    onFailure: (where) => void failures.push(where),
    onHead: fail,
    onRows: fail,
  });
  const wish = { label: null, scope: "full", agents: null, networks: null, expiresInMs: null } as const;
  const settled = await writer.perform([writing("one"), workspace.job("key.create", wish)]);
  expect(codes(settled)).toEqual(["json", "json"]);
  expect(failures).toEqual(["noting the head", "noting changed rows"]);
  expect(codes(await writer.perform([writing("two")]))).toEqual(["json"]);
  expect(await problems()).toEqual([]);
});

test("another process holds the file: nothing is written, and afterwards writes go on", async () => {
  using other = new OpenWorkspace(workspace.path);
  workspace.connection.exec("PRAGMA busy_timeout = 1");
  other.connection.exec("BEGIN IMMEDIATE");
  expect(codes(await workspace.writer.perform([writing("one")]))).toEqual(["unavailable"]);
  other.connection.exec("ROLLBACK");
  expect(codes(await workspace.writer.perform([writing("one")]))).toEqual(["json"]);
  expect(await problems()).toEqual([]);
});

test("the check of the log's end reads one snapshot, whatever another process appends meanwhile", async () => {
  await workspace.writer.perform([writing("one")]);
  using other = new OpenWorkspace(workspace.path);
  let meddled = false;
  const interrupted = new Proxy(workspace.connection, {
    get(connection, name) {
      if (name === "value" && !meddled) {
        // As an append would: head and log are others when the second look begins.
        meddled = true;
        other.connection.run("DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)");
      }
      const member = Reflect.get(connection, name, connection);
      return typeof member === "function" ? member.bind(connection) : member;
    },
  });
  expect(checkTail(interrupted)).toBe(workspace.writer.workspaceId);
  expect(meddled).toBe(true);
  expect(() => checkTail(workspace.connection)).toThrow("does not end with the event");
});

test("two writers on one file take turns, and nothing forks", async () => {
  using other = new OpenWorkspace(workspace.path);
  for (let i = 0; i < 50; i++) {
    const writer = i % 3 === 0 ? other : workspace;
    const body = bodyOf(
      await writer.perform("data.write", { agentId: i % 2 ? "a" : "b", key: `k${i}`, value: "v", metadata: {} }),
    );
    expect(body.allowed).toBe(true);
    if (i % 10 === 0) await writer.perform("config.update", { agentId: "a", config: { i } });
    if (i % 7 === 0) await other.perform("checkpoint.create", { agentId: "a", label: null, metadata: {} });
  }
  expect(other.writer.headSeq + workspace.writer.headSeq).toBeGreaterThan(100);
  expect(await problems()).toEqual([]);
});

test(
  "a full tile has the hashes of the events, whatever was undone or written by others since they were appended",
  async () => {
    const personal = { name: "data.write", input: { agentId: "a", key: "k", value: SECRET, metadata: {} } } as const;
    const refused = { ...personal, input: { ...personal.input, condition: { versions: ["other"] } } } as const;
    const other = new OpenWorkspace(workspace.path);
    const group = (length: number) => Array.from({ length }, (_, at) => writing(`k/${at}`));
    for (let round = 0; round < 24; round++) {
      const undone = [workspace.job("data.batch", { agentId: "a", atomic: true, parts: [personal, refused] })];
      const between = [[], undone, [failing(new Error(SECRET))], []][round % 4] ?? [];
      await workspace.writer.perform([...group(9), ...between, ...group(14)]);
      if (round % 4 === 3) await other.perform("data.read", { agentId: "a", key: "k/1" });
    }
    other[Symbol.dispose]();
    const tiles = workspace.connection.all<[number, Uint8Array]>(
      "SELECT tile, hashes FROM tiles WHERE level = 0 ORDER BY tile",
    );
    expect(tiles).toHaveLength(2);
    for (const [tile, hashes] of tiles) {
      const sql = "SELECT lower(group_concat(hex(hash), '' ORDER BY seq)) FROM events WHERE seq BETWEEN ? AND ?";
      const [expected] = workspace.connection.get<[string]>(sql, [tile * 256, tile * 256 + 255]) ?? [];
      expect(Buffer.from(hashes).toString("hex")).toBe(expected as string);
    }
    expect(await problems()).toEqual([]);
  },
  PROCESS_TEST_MS,
);

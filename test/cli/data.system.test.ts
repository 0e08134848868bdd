/** `governd data export` and `governd data import` against a daemon, also when they are interrupted. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DaemonApi } from "../../src/cli/data/api.ts";
import { exportEntries } from "../../src/cli/data/export.ts";
import { importEntries } from "../../src/cli/data/import.ts";
import { ended } from "../ended.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { engineEnvironment } from "../support/engine.ts";
import { freshAgent } from "../support/scenario.ts";
import { PROCESS_TEST_MS, type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";
import { governd } from "./governd.ts";
import { GOVERND } from "./governd-process.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const EMAIL = "jane.roe@acme.io";

let directory: TemporaryDirectory;
let daemon: TestDaemon;
let workspace: TestWorkspace;
let keyFile: string;

beforeAll(async () => {
  directory = temporaryDirectory();
  daemon = await TestDaemon.start();
  workspace = await daemon.workspace();
  keyFile = directory.join("api-key");
  writeFileSync(keyFile, `${workspace.client.apiKey}\n`);
});
afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});

const data = (word: string, file: string, agent: string, ...more: string[]) => {
  const where = ["--url", daemon.url, "--ca", join(daemon.dataDir, "tls", "ca.crt"), "--api-key-file", keyFile];
  return governd(["data", word, file, "--agent", agent, ...where, ...more], { released: false });
};
const lines = (file: string) => readFileSync(file, "utf8").trimEnd().split("\n");
const written = (name: string, content: readonly (object | string)[]) => {
  const file = directory.join(name);
  writeFileSync(file, content.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join(""));
  return file;
};
const writes = (agent: string) =>
  workspace.view.eventsAfter(-1).filter(({ agentId, operation }) => agentId === agent && operation === "data.write");

/** The API of a daemon. Fails at the nth request, after the daemon has answered it. */
class Interrupted extends DaemonApi {
  constructor(private left: number) {
    super({ url: daemon.url, tls: { ca: [daemon.ca] } }, workspace.client.apiKey);
  }

  override async ask(request: Parameters<DaemonApi["ask"]>[0]) {
    const answer = await super.ask(request);
    if (--this.left === 0) throw new Error("interrupted");
    return answer;
  }
}

const nobody = async () => {};

test("what is exported can be imported", async () => {
  const [from, to] = [freshAgent(), freshAgent()];
  const { client } = workspace;
  const entries = Array.from({ length: 120 }, (_, at) => ({
    key: `k/${String(at).padStart(3, "0")}`,
    value: `v${at}\n\u0000"`,
    metadata: { at },
    ...(at % 2 === 0 && { expires_at: "2999-12-31T00:00:00.000Z" }),
  }));
  const operations = entries.map((entry) => ({ op: "write", ...entry }));
  await client.post("/v1/data/batch", { agent_id: from, operations });
  await client.write(from, "other", "x");
  const file = directory.join("entries.ndjson");
  const exported = await data("export", file, from, "--prefix", "k/");
  expect(exported).toMatchObject({ code: 0, out: `120 lines in ${file}.\n` });
  expect(lines(file).map((line) => JSON.parse(line))).toMatchObject(entries);
  expect(existsSync(`${file}.part`)).toBe(false);
  const imported = await data("import", file, to, "--json");
  expect(imported.json()).toEqual({ agent_id: to, file, written: 120, kept: 0, refused: 0, refusals: [] });
  expect(imported.code).toBe(0);
  const again = directory.join("again.ndjson");
  expect((await data("export", again, to)).code).toBe(0);
  expect(lines(again).map((line) => JSON.parse(line))).toMatchObject(entries);
  expect((await data("export", again, to)).err).toContain("exists");
});

test("refused lines are reported by their numbers, never with their text", async () => {
  const agent = freshAgent();
  await workspace.client.configure(agent, { policies: { block_pii: true } });
  const file = written("refused.ndjson", [
    { key: "a", value: "fine" },
    { key: "b", value: `mail ${EMAIL}` },
    "{not json",
    "",
    { key: "", value: "no key" },
    { key: "c", value: 5 },
    { key: "d", value: "fine", metadata: [EMAIL] },
    { key: "e", value: "x".repeat(1024 * 1024 + 1) },
    { key: "f", value: "fine too" },
  ]);
  const { code, out, err } = await data("import", file, agent);
  expect(code).toBe(1);
  const said = out.trimEnd().split("\n");
  expect(said.map((line) => line.split(":")[0])).toEqual([
    ...["line 2", "line 3", "line 5", "line 6", "line 7", "line 8"],
    "2 lines written, 0 kept as they were, 6 refused.",
  ]);
  expect(said[0]).toBe("line 2: blocked by policy:block_pii: an email address in value");
  expect(out + err).not.toContain("jane");
  const { json } = await workspace.client.get("/v1/data/list", { agent_id: agent });
  expect(json.data.map(({ key }: { key: string }) => key)).toEqual(["a", "f"]);
});

test("entries that exist can be kept", async () => {
  const agent = freshAgent();
  await workspace.client.write(agent, "a", "mine");
  const file = written("kept.ndjson", [
    { key: "a", value: "theirs" },
    { key: "b", value: "theirs" },
  ]);
  const kept = await data("import", file, agent, "--keep");
  expect(kept).toMatchObject({ code: 0, out: "1 line written, 1 kept as they were, 0 refused.\n" });
  expect((await workspace.client.read(agent, "a")).json.value).toBe("mine");
});

test("what comes too fast for a limit waits for its turn", async () => {
  const agent = freshAgent();
  const limitTo = (most: number) =>
    workspace.client.configure(agent, { policies: { block_secrets: true, limits: { writes_per_minute: most } } });
  await limitTo(2);
  const token = `ghp_${"aB3dE5fG7h".repeat(3)}aB3dE5`;
  const values = ["1", `token ${token}`, "2", "3", "4", "5"];
  const file = written(
    "fast.ndjson",
    values.map((value, at) => ({ key: `k/${at}`, value })),
  );
  const waits: number[] = [];
  const wait = async (ms: number) => {
    waits.push(ms);
    // A higher limit has the same effect as the end of the minute.
    await limitTo(2 + 2 * waits.length);
  };
  const done = await importEntries(new Interrupted(-1), { file, agent, keep: false, resume: false }, nobody, wait);
  expect(done).toMatchObject({ written: 5, refused: 1, refusals: [{ line: 2 }] });
  expect(waits.length).toBe(2);
  for (const ms of waits) expect(ms > 50_000 && ms <= 60_000).toBe(true);
  expect(writes(agent).filter(({ result }) => result === "allowed")).toHaveLength(5);
});

test("an interrupted import is resumed, and every line is written once", async () => {
  const agent = freshAgent();
  const file = written(
    "interrupted.ndjson",
    Array.from({ length: 1_200 }, (_, at) => ({ key: `k${at}`, value: `v${at}` })),
  );
  const wish = { file, agent, keep: false, resume: false };
  await expect(importEntries(new Interrupted(2), wish, nobody)).rejects.toThrow("interrupted");
  expect((await data("import", file, agent)).err).toContain("--resume");
  expect((await data("import", file, agent, "--resume", "--keep")).err).toContain("other options");
  const resumed = await data("import", file, agent, "--resume", "--json");
  expect(resumed.json()).toMatchObject({ written: 1_200, refused: 0 });
  expect(writes(agent)).toHaveLength(1_200);
  expect((await data("import", file, agent, "--resume")).err).toContain("nothing to resume");
});

test("an interrupted export is resumed, without a part of it twice", async () => {
  const agent = freshAgent();
  const operations = Array.from({ length: 350 }, (_, at) => ({ op: "write", key: `k${at}`, value: `v${at}` }));
  await workspace.client.post("/v1/data/batch", { agent_id: agent, operations });
  const file = directory.join("pages.ndjson");
  const wish = { file, agent, prefix: "", resume: false };
  await expect(exportEntries(new Interrupted(3), wish, nobody)).rejects.toThrow("interrupted");
  expect(existsSync(file)).toBe(false);
  // What a run wrote after the last whole page is cut off.
  writeFileSync(`${file}.part`, `${readFileSync(`${file}.part`, "utf8")}{"key": "hal`);
  expect((await data("export", file, agent, "--resume")).out).toBe(`350 lines in ${file}.\n`);
  const keys = lines(file).map((line) => JSON.parse(line).key);
  expect(keys).toEqual([...new Set(keys)].sort());
  expect(keys).toHaveLength(350);
});

test("mistakes of usage and a wrong key are reported", async () => {
  const file = written("wrong.ndjson", [{ key: "a", value: "b" }]);
  const where = ["--agent", "a", "--url", daemon.url];
  expect((await governd(["data", "import", file, ...where])).err).toContain("GOVERND_API_KEY");
  expect((await governd(["data", "import", file, "--agent", "a", "--url", "http://x"])).err).toContain("https");
  const wrong = directory.join("wrong-key");
  writeFileSync(wrong, "gov_wrong");
  const refused = await data("import", file, freshAgent(), "--api-key-file", wrong);
  expect(refused).toMatchObject({ code: 2, err: expect.stringContaining("returned 401") });
  // The refused import can be resumed, but not for another agent.
  expect((await data("import", file, freshAgent(), "--resume")).err).toContain("other options");
});

/** Runs the command in a process of its own, which reads `input`. */
async function streamed(word: string, agent: string, input: string, ...more: string[]) {
  const where = ["--url", daemon.url, "--ca", join(daemon.dataDir, "tls", "ca.crt"), "--api-key-file", keyFile];
  const child = Bun.spawn([...GOVERND, "data", word, "-", "--agent", agent, ...where, ...more], {
    cwd: directory.path,
    env: engineEnvironment(["data"]),
    stdin: new Blob([input]),
    stdout: "pipe",
    stderr: "pipe",
  });
  return await ended(child);
}

test("- is standard output of an export and standard input of an import, and makes no file", async () => {
  const [from, to] = [freshAgent(), freshAgent()];
  for (let at = 0; at < 3; at++) await workspace.client.write(from, `k/${at}`, `v${at}`);
  const before = readdirSync(directory.path);
  const exported = await streamed("export", from, "");
  expect([exported.code, exported.err]).toEqual([0, "3 lines on standard output.\n"]);
  const rows = exported.out
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(rows).toMatchObject([0, 1, 2].map((at) => ({ key: `k/${at}`, value: `v${at}` })));
  const imported = await streamed("import", to, `${exported.out}no JSON\n`);
  expect([imported.code, imported.out]).toEqual([
    1,
    "line 4: not a JSON object with the texts key and value\n3 lines written, 0 kept as they were, 1 refused.\n",
  ]);
  const again = await streamed("export", to, "", "--json");
  expect(
    again.out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line).value),
  ).toEqual(["v0", "v1", "v2"]);
  expect(JSON.parse(again.err)).toEqual({ agent_id: to, file: "-", entries: 3 });
  const many = Array.from({ length: 1_200 }, (_, at) => JSON.stringify({ key: `m/${at}`, value: "x".repeat(100) }));
  expect((await streamed("import", freshAgent(), many.join("\n"))).out).toContain("1,200 lines written");
  for (const word of ["export", "import"]) {
    const refused = await streamed(word, to, "", "--resume");
    expect([refused.code, refused.err]).toEqual([
      2,
      "governd: --resume needs a file: standard input and output cannot be continued.\n",
    ]);
  }
  expect(readdirSync(directory.path)).toEqual(before);
});

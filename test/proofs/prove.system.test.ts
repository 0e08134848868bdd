/** `governd prove` beside a daemon and without one, and what it says when there is no proof. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { governdProcess, type RunningDaemon, startGovernd } from "../cli/governd-process.ts";
import { eventually } from "../eventually.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const directory = temporaryDirectory();
const data = directory.join("data");
let daemon: RunningDaemon | null = null;
let workspace: string;
let apiKey: string;

const now = () => new Date().toISOString();
const send = (path: string, body?: object) =>
  (daemon as RunningDaemon).ask(path, { apiKey, ...(body && { method: "POST", body: JSON.stringify(body) }) });

beforeAll(async () => {
  const created = await governdProcess(["workspace", "create", "--name", "w", "--data-dir", data, "--json"]);
  ({ workspace_id: workspace, api_key: apiKey } = created.json() as { workspace_id: string; api_key: string });
  daemon = await startGovernd(data, ["--seal-interval", "1s", "--state-roots", "daily"]);
  const write = (key: string) => ({ op: "write", key, value: `of ${key}` });
  await send("/v1/data/batch", { agent_id: "bot", operations: ["notes/1", "notes/2", "plan"].map(write) });
  await eventually("there is a state root", async () =>
    (await (await send("/v1/audit?scope=workspace")).text()).includes("state.root"),
  );
});
afterAll(async () => {
  await daemon?.stop();
  directory[Symbol.dispose]();
});

let files = 0;

async function prove(...words: string[]) {
  const output = directory.join(`${files++}.json`);
  const which = ["--data-dir", data, "--workspace", workspace, "--agent", "bot", "--output", output];
  const at = words.includes("--at") ? [] : ["--at", now()];
  return { output, ...(await governdProcess(["prove", ...which, ...at, ...words])) };
}

const verify = (path: string) => governdProcess(["verify", path, "--public-key", `${data}/keys/seal.pub`]);

async function provesAll(): Promise<void> {
  const held = await prove("--key", "plan", "--with-values");
  expect([held.code, held.out, held.err]).toEqual([
    0,
    expect.stringContaining('held: bot had an entry under "plan"'),
    "",
  ]);
  expect(JSON.parse(readFileSync(held.output, "utf8")).entries).toMatchObject([{ value: "of plan" }]);
  const absent = await prove("--key", "other");
  expect([absent.code, absent.out]).toEqual([0, expect.stringContaining("absent: bot had no entry")]);
  const under = await prove("--prefix", "notes/", "--json");
  expect(under.json()).toMatchObject({ claim: "complete", entries: 2, output: under.output });
  const all = await prove("--complete");
  expect([all.code, all.out]).toEqual([0, expect.stringContaining("complete: the 3 entries")]);
  for (const { output } of [held, absent, under, all]) {
    const { code, out } = await verify(output);
    expect([code, out]).toEqual([0, expect.stringContaining("moment: right after event")]);
  }
}

test("beside a daemon, which goes on with the log", async () => {
  await provesAll();
  expect((await send("/v1/data/write", { agent_id: "bot", key: "later", value: "v" })).status).toBe(200);
  const trail = (await (await send("/v1/audit?agent_id=bot")).json()) as {
    data: { operation: string; actor: string }[];
  };
  expect(trail.data.filter(({ operation }) => operation === "proof.create").map(({ actor }) => actor)).toEqual(
    Array(4).fill("cli"),
  );
});

test("says what is missing, and writes no file", async () => {
  for (const [words, code, message] of [
    [["--key", "plan", "--at", "2020-01-01"], 2, /No state root is that old.*recorded at 20/],
    [["--key", "plan", "--at", "2999-01-01"], 2, /in the future/],
    [["--key", "plan", "--at", "yesterday"], 2, /must be a date/],
    [[], 2, /one of --key, --prefix and --complete/],
    [["--key", "plan", "--complete"], 2, /one of --key, --prefix and --complete/],
    [["--prefix", ""], 2, /must not be empty/],
    [["--complete", "--agent", "no agent"], 2, /not the id of an agent/],
    [["--complete", "--workspace", "ws_01h455vb4pex5vsknk084sn02q"], 2, /no such workspace/i],
  ] as const) {
    const { output, ...said } = await prove(...words);
    expect([words, said.code, said.err]).toEqual([words, code, expect.stringMatching(message)]);
    expect(existsSync(output)).toBe(false);
  }
});

test("an existing file is not overwritten", async () => {
  const output = directory.join("mine.txt");
  writeFileSync(output, "mine");
  const { code, err } = await prove("--complete", "--output", output);
  expect([code, err, readFileSync(output, "utf8")]).toEqual([2, expect.stringContaining("cannot be created"), "mine"]);
});

test("without a daemon", async () => {
  await daemon?.stop();
  daemon = null;
  await provesAll();
  const { code, out } = await governdProcess(["verify", data]);
  expect([code, out]).toEqual([0, expect.stringContaining("state roots: 1 computed again")]);
});

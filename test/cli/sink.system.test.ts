/** `governd sink`, with and without a daemon. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../eventually.ts";
import { makeCertificate } from "../http/support/certificate.ts";
import { TestReceiver } from "../sinks/receiver.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { PROCESS_TEST_MS, type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";
import { governd, makeWorkspace } from "./governd.ts";

setDefaultTimeout(PROCESS_TEST_MS);

let directory: TemporaryDirectory;
let receiver: TestReceiver;
let daemon: TestDaemon;
let workspace: TestWorkspace;
beforeAll(async () => {
  directory = temporaryDirectory();
  receiver = await TestReceiver.start();
  writeFileSync(directory.join("ca.pem"), receiver.ca);
  daemon = await TestDaemon.start({ flags: { sink_allow: "127.0.0.1" } });
  workspace = await daemon.workspace();
});
afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});

/** Runs `governd sink …` beside the daemon. */
async function sink(...words: string[]) {
  const changes = words[0] !== "list" && words[0] !== "show";
  const allow = changes ? ["--sink-allow", "127.0.0.1"] : [];
  const { code, out, err } = await governd(["sink", ...words, "--data-dir", daemon.dataDir, ...allow]);
  return { code, out, err, json: words.includes("--json") ? JSON.parse(out || err) : null };
}

const create = (...words: string[]) => {
  const where = ["--workspace", workspace.id, "--type", "webhook", "--url", receiver.url];
  return sink("create", ...where, "--ca-file", directory.join("ca.pem"), "--json", ...words);
};

test("the daemon delivers to a sink that a command makes, and no more to one that a command removes", async () => {
  const made = await create("--start", "beginning", "--operation", "data.write", "--operation", "data.delete");
  expect(made.code).toBe(0);
  const { secret, public_key: _, audit_id: __, ...shown } = made.json;
  expect(secret).toStartWith("whsec_");
  expect(shown).toMatchObject({
    workspace_id: workspace.id,
    created_by: "cli",
    filter: { operations: ["data.write", "data.delete"] },
    state: "ok",
    position: null,
  });
  await workspace.client.write("a", "k", "v");
  await eventually("it is delivered", () => receiver.events.length === 1);
  expect(receiver.events).toMatchObject([{ operation: "data.write" }]);
  await eventually("it is listed", async () => {
    const { json } = await sink("list", "--workspace", workspace.id, "--json");
    return json.data[0].lag === 0 && json.data[0].position === workspace.view.head;
  });
  expect((await workspace.client.get(`/v1/sinks/${shown.id}`)).json).toMatchObject({ created_by: "cli", lag: 0 });
  const removed = await sink("delete", shown.id, "--json");
  expect([removed.code, removed.json]).toMatchObject([0, { id: shown.id, deleted: 1 }]);
  expect((await workspace.client.get(`/v1/sinks/${shown.id}`)).status).toBe(404);
});

test("a sink is shown, changed, tested, rotated, in words and as JSON, and never with its secrets", async () => {
  const token = directory.join("token");
  writeFileSync(token, "hec-token\n");
  const { json: made } = await create("--enabled", "off", "--token-file", token, "--details", "on");
  const { id } = made;
  const changed = await sink("update", id, "--format", "ocsf", "--agent", "a", "--details", "off", "--json");
  expect(changed.json).toMatchObject({ id, format: "ocsf", filter: { agents: ["a"] }, include_details: false });
  // A list of the filter that the command does not name stays as it is.
  const more = await sink("update", id, "--result", "blocked", "--session", "chat/42", "--json");
  expect(more.json.filter).toEqual({ agents: ["a"], results: ["blocked"], sessions: ["chat/42"] });
  const shown = await sink("show", id);
  expect([shown.code, shown.out]).toEqual([
    0,
    expect.stringContaining("agents a; results blocked; sessions chat/42, as ocsf"),
  ]);
  const none = await sink("update", id, "--without", "filter", "--without", "token", "--json");
  expect(none.json.filter).toEqual({});
  expect((await sink("update", id, "--format", "ocsf")).out).toContain("It is so already.");
  const tested = await sink("test", id);
  expect([tested.code, tested.out]).toEqual([0, `Sink ${id} works: the receiver took a record.\n`]);
  expect(receiver.lines.at(-1)).toEqual({ type: "test", sink_id: id });
  const rotated = await sink("rotate", id, "--json");
  expect(rotated.json.secret).toStartWith("whsec_");
  expect(rotated.json.secret).not.toBe(made.secret);
  const all = [shown.out, tested.out, (await sink("list")).out, (await sink("show", id, "--json")).out].join("");
  for (const text of ["hec-token", "whsec_", made.secret]) expect(all.includes(text) && text).toBe(false);
  const { json } = await workspace.client.get("/v1/audit", { scope: "workspace", operations: "sink.rotate" });
  expect(json.data).toMatchObject([{ actor: "cli", details: { sink_id: id } }]);
  await sink("delete", id);
});

test("a test that fails has exit code 1; what is refused, 2, with a reason", async () => {
  const { json: made } = await create("--enabled", "off");
  const { cert } = await makeCertificate();
  writeFileSync(directory.join("other.pem"), cert);
  await sink("update", made.id, "--ca-file", directory.join("other.pem"));
  const tested = await sink("test", made.id, "--json");
  expect([tested.code, tested.json.delivered]).toEqual([1, false]);
  expect(tested.json.message).toContain("cannot be verified");
  for (const [words, reason] of [
    [["show", "snk_none"], "no such sink"],
    [["update", made.id], "Name what to change"],
    [["update", made.id, "--url", "http://127.0.0.1"], '"url" must be an https address'],
    [["update", made.id, "--url", "https://127.0.0.2"], "sink_allow"],
    [["update", made.id, "--operation", "no.such"], 'The argument "filter" is not valid'],
    [["update", made.id, "--ca-file", directory.join("nowhere")], "no such file or directory"],
    [["create", "--workspace", "ws_none", "--type", "webhook", "--url", "https://127.0.0.1"], "no such workspace"],
  ] as const) {
    const { code, err } = await sink(...words);
    expect([words, code, err]).toEqual([words, 2, expect.stringContaining(reason)]);
  }
  await sink("delete", made.id);
});

test("commands work without a daemon", async () => {
  const data = directory.join("data");
  const siem = directory.join("siem");
  mkdirSync(siem);
  const made = await makeWorkspace(data);
  const run = async (...words: string[]) => {
    const { code, out, err } = await governd(["sink", ...words, "--json", "--data-dir", data]);
    expect([code, err]).toEqual([0, ""]);
    return JSON.parse(out);
  };
  const created = await run(
    ...["create", "--workspace", made.workspace_id, "--type", "file", "--url", "events.ndjson"],
    ...["--start", "beginning", "--sink-directory", siem],
  );
  expect(created).toMatchObject({ type: "file", state: "ok" });
  expect(await run("list")).toMatchObject({ data: [{ id: created.id, lag: expect.any(Number), position: null }] });
  expect(await run("test", created.id, "--sink-directory", siem)).toMatchObject({ delivered: true });
  expect(await Bun.file(join(siem, "events.ndjson")).text()).toBe(`{"type":"test","sink_id":"${created.id}"}\n`);
});

test("governd check tells of sinks that cannot deliver", async () => {
  const data = directory.join("checked");
  const siem = directory.join("checked-siem");
  mkdirSync(siem);
  const { workspace_id } = await makeWorkspace(data);
  const places = ["--sink-allow", "127.0.0.1", "--sink-directory", siem];
  const make = async (type: string, url: string) => {
    const words = ["--workspace", workspace_id, "--type", type, "--url", url, "--json", "--data-dir", data];
    return (await governd(["sink", "create", ...words, ...places])).json<{ id: string }>().id;
  };
  const file = await make("file", "events.ndjson");
  await make("syslog", "tls://127.0.0.1");
  const check = async (...words: string[]) => {
    const { code, json } = await governd(["check", "--json", "--data-dir", data, ...words]);
    const { findings } = json<{ findings: { check: string; severity: string; message: string }[] }>();
    return [code, ...findings.filter((one) => one.check === "sinks").map((one) => `${one.severity}: ${one.message}`)];
  };
  expect(await check(...places)).toEqual([0, "ok: 2 sinks of 2 deliver, and none failed last"]);
  expect(await check("--sink-allow", "127.0.0.1")).toEqual([
    0,
    expect.stringContaining(`warning: ${file} delivers nothing`),
  ]);
  expect(await check("--sink-allow", "127.0.0.1", "--sink-directory", directory.join("none"))).toEqual([
    0,
    expect.stringContaining("cannot write into sink_directory: no such file or directory"),
  ]);
  rmSync(join(data, "keys", "sinks.key"));
  expect(await check(...places)).toEqual([
    1,
    expect.stringContaining("problem: the key does not decrypt the secrets of 2 sinks"),
  ]);
});

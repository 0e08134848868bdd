/** Events reach a receiver in order, each of them, whatever becomes of it and of the daemon. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { createPublicKey, verify } from "node:crypto";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { USER_AGENT } from "../../src/outbound.ts";
import { startGovernd } from "../cli/governd-process.ts";
import { effort } from "../effort.ts";
import { eventually } from "../eventually.ts";
import { administer } from "../support/administration.ts";
import { Client } from "../support/client.ts";
import { TestDaemon } from "../support/daemon.ts";
import { WorkspaceView } from "../support/workspace-view.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { type Taken, TestReceiver } from "./receiver.ts";

setDefaultTimeout(PROCESS_TEST_MS * effort({ usual: 2, long: 20 }));

const ALLOW = { sink_allow: "127.0.0.1" } as const;

const sinkOf = (receiver: TestReceiver, more: object = {}) => ({
  type: "webhook",
  url: receiver.url,
  ca: receiver.ca,
  start: "beginning",
  ...more,
});

const writes = async (client: Client, count: number, value = "stored and confidential") => {
  const operations = Array.from({ length: count }, (_, i) => ({ op: "write", key: `k${i}`, value: `${value} ${i}` }));
  expect((await client.post("/v1/data/batch", { agent_id: "a", operations })).status).toBe(200);
};

test("a receiver gets every event, signed, with position, hash and seal, and no part of a value", async () => {
  await using receiver = await TestReceiver.start();
  await using daemon = await TestDaemon.start({ flags: { ...ALLOW, seal_interval: "1s" } });
  const { client, view } = await daemon.workspace();
  await writes(client, 3);
  const { json: sink } = await client.post("/v1/sinks", sinkOf(receiver));
  await writes(client, 700);
  await eventually("all is delivered", () => receiver.position === view.head);
  expect(receiver.events.map(({ seq }) => seq)).toEqual(Array.from({ length: view.head + 1 }, (_, i) => i));
  const { headers, body } = receiver.taken.at(-1) as Taken;
  expect(headers).toMatchObject({ "content-type": "application/x-ndjson", "user-agent": USER_AGENT });
  new Webhook(sink.secret).verify(body, headers, { jsonParse: false });
  const x = Buffer.from(sink.public_key.slice("whpk_".length), "base64").toString("base64url");
  const key = createPublicKey({ format: "jwk", key: { kty: "OKP", crv: "Ed25519", x } });
  const [, signature = ""] = / v1a,(\S+)/.exec(headers["webhook-signature"] ?? "") ?? [];
  const content = Buffer.from(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`);
  expect(verify(null, content, key, Buffer.from(signature, "base64"))).toBe(true);
  const last = receiver.lines.at(-1);
  const [event] = receiver.events.slice(-1);
  expect(last).toEqual({ type: "position", position: view.head, hash: event?.hash, seal_size: expect.anything() });
  const all = receiver.taken.map(({ body: text }) => text).join("");
  for (const part of ["confidential", '"details"', "details_salt", '"k1"']) expect(all).not.toContain(part);
  await eventually("the state is shown", async () => {
    const { json } = await client.get(`/v1/sinks/${sink.id}`);
    return json.position === view.head && json.lag === 0 && json.state === "ok" && json.last_error === null;
  });
});

test("after a rotation, the old and the new secret sign", async () => {
  await using receiver = await TestReceiver.start();
  await using daemon = await TestDaemon.start({ flags: ALLOW });
  const { client } = await daemon.workspace();
  const { json: old } = await client.post("/v1/sinks", sinkOf(receiver));
  const { json: now } = await client.send({ method: "POST", path: `/v1/sinks/${old.id}/rotate` });
  await writes(client, 1);
  // What was on its way when the keys were replaced has the old signatures alone.
  const signatures = () => receiver.taken.at(-1)?.headers["webhook-signature"]?.split(" ").length;
  await eventually("both keys sign", () => signatures() === 4);
  const { headers, body } = receiver.taken.at(-1) as Taken;
  for (const { secret } of [old, now]) new Webhook(secret).verify(body, headers, { jsonParse: false });
});

test("a filter leaves events out, and details are sent when they are asked for", async () => {
  await using receiver = await TestReceiver.start();
  await using daemon = await TestDaemon.start({ flags: ALLOW });
  const { client, view } = await daemon.workspace();
  const filter = { operations: ["data.write"], results: ["allowed"], agents: ["a"], sessions: ["one", "two"] };
  await client.post("/v1/sinks", sinkOf(receiver, { filter, include_details: true }));
  await client.write("b", "k", "v");
  await client.get("/v1/data/read", { agent_id: "a", key: "k" });
  await client.write("a", "k", "v");
  for (const session of ["one", "three"]) {
    const body = { agent_id: "a", key: session, value: "v" };
    await client.send({ path: "/v1/data/write", body, headers: { "Governd-Session": session } });
  }
  await eventually("all is looked at", () => receiver.position === view.head);
  expect(receiver.events).toMatchObject([{ operation: "data.write", agent_id: "a", details: { session: "one" } }]);
});

test.each(["cloudevents", "ocsf"])("events in the form %s hold no details either", async (format) => {
  await using receiver = await TestReceiver.start();
  await using daemon = await TestDaemon.start({ flags: ALLOW });
  const { client, view } = await daemon.workspace();
  await client.write("a", "confidential", "confidential");
  const { json: sink } = await client.post("/v1/sinks", sinkOf(receiver, { format }));
  await eventually(
    "the last position arrives",
    () => receiver.taken.at(-1)?.body.includes(`"position":${view.head},`) ?? false,
  );
  expect(receiver.taken.map(({ body }) => body).join("")).not.toContain("confidential");
  const [first] = receiver.lines;
  const last = receiver.lines.at(-1);
  const { headers, body } = receiver.taken.at(-1) as Taken;
  const { json: tested } = await client.send({ method: "POST", path: `/v1/sinks/${sink.id}/test` });
  expect(tested.delivered).toBe(true);
  if (format === "cloudevents") {
    // The body is one JSON text, so the library may parse it.
    expect(new Webhook(sink.secret).verify(body, headers)).toEqual(JSON.parse(body));
    expect(receiver.lines.at(-1)).toMatchObject({ specversion: "1.0", type: "governd.test" });
  }
  if (format === "ocsf") expect([first?.class_uid, last?.type]).toEqual([3004, "position"]);
  else expect([first?.type, last?.type]).toEqual(["governd.audit.workspace.create", "governd.position"]);
});

test("a receiver that is gone (410) switches its sink off; a redirect is not followed", async () => {
  await using elsewhere = await TestReceiver.start();
  await using moved = await TestReceiver.start(() => ({ status: 307, headers: { location: elsewhere.url } }));
  await using gone = await TestReceiver.start(() => 410);
  await using daemon = await TestDaemon.start({ flags: ALLOW });
  const { client, view } = await daemon.workspace();
  const { json: first } = await client.post("/v1/sinks", sinkOf(moved));
  const { json: second } = await client.post("/v1/sinks", sinkOf(gone));
  const stateOf = async ({ id }: { id: string }) => (await client.get(`/v1/sinks/${id}`)).json;
  await eventually("it fails", async () => (await stateOf(first)).state === "failing");
  expect((await stateOf(first)).last_error.message).toContain("redirects are not followed");
  await eventually("it is off", async () => (await stateOf(second)).state === "disabled");
  const change = view.eventsAfter(0).find(({ operation }) => operation === "sink.change");
  expect(change?.details).toMatchObject({ sink_id: second.id, changed: ["enabled"], enabled: false });
  expect([gone.requests, elsewhere.requests]).toEqual([1, 0]);
});

test("neither an agent's writes nor a neighbour's wait for a receiver that never answers", async () => {
  await using receiver = await TestReceiver.start(() => "waits");
  await using daemon = await TestDaemon.start({ flags: ALLOW });
  const { client } = await daemon.workspace();
  await client.post("/v1/sinks", sinkOf(receiver));
  await eventually("it is asked", () => receiver.requests > 0);
  const neighbour = await daemon.workspace();
  for (let i = 0; i < 20; i++) {
    for (const one of [client, neighbour.client]) expect((await one.write("a", "k", `${i}`)).json.allowed).toBe(true);
  }
  expect((await client.get("/v1/sinks")).json.data[0]).toMatchObject({ position: null });
});

test("the backlog of a sink to which nothing is delivered grows with each event, also after a restart", async () => {
  using directory = temporaryDirectory();
  const dataDir = directory.join("data");
  await using failing = await TestReceiver.start(() => 503);
  await using silent = await TestReceiver.start(() => "waits");
  const { workspace, apiKey } = await administer(dataDir, (administration) => administration.createWorkspace("w"));
  using view = new WorkspaceView(join(dataDir, "workspaces", `${workspace.id}.db`));
  const words = ["--sink-allow", "127.0.0.1", "--metrics-listen", "127.0.0.1:0"];
  let daemon = await startGovernd(dataDir, words);
  const clientOf = async ({ url, ready }: typeof daemon) =>
    new Client(url, await Bun.file(ready.ca_file as string).text(), apiKey);
  let client = await clientOf(daemon);
  const ids: string[] = [];
  for (const [receiver, enabled] of [
    [failing, true],
    [silent, true],
    [silent, false],
  ] as const) {
    const { json } = await client.post("/v1/sinks", sinkOf(receiver, { enabled }));
    ids.push(json.id);
  }
  /** The backlogs that the API and, of sinks that are enabled, the metrics show. */
  const backlogs = async () => {
    const { json } = await client.get("/v1/sinks");
    const shown = ids.map((id) => json.data.find((sink: { id: string }) => sink.id === id).lag);
    const metrics = await (await fetch(daemon.ready.metrics as string)).text();
    const measured = ids.map((id) => metrics.match(`governd_sink_lag_events{sink="${id}"} (\\d+)`)?.[1]);
    return { shown, measured: measured.slice(0, 2).map(Number), disabled: measured[2] };
  };
  const expectBacklogs = async () => {
    const all = view.head + 1;
    await eventually("all backlogs are the whole log", async () => {
      const { shown, measured, disabled } = await backlogs();
      return [...shown, ...measured].every((lag) => lag === all) && disabled === undefined;
    });
  };
  await eventually("both are tried", () => failing.requests > 0 && silent.requests > 0);
  await expectBacklogs();
  await writes(client, 30);
  await expectBacklogs();
  await daemon.stop("SIGKILL");
  daemon = await startGovernd(dataDir, words);
  client = await clientOf(daemon);
  await expectBacklogs();
  await writes(client, 20);
  await expectBacklogs();
  await daemon.stop();
});

const KILLS = effort({ usual: 2, long: 50 });

test(`every event arrives once and in order, although the daemon is killed ${KILLS} times and the receiver fails`, async () => {
  using directory = temporaryDirectory();
  const dataDir = directory.join("data");
  // It refuses every third request, every fifth time it dies after it took the batch, and every fourth time it is slow.
  await using receiver = await TestReceiver.start((number) =>
    number % 3 === 0 ? 500 : number % 5 === 0 ? "dies" : number % 4 === 0 ? "slow" : 200,
  );
  const { workspace, apiKey } = await administer(dataDir, (administration) => administration.createWorkspace("w"));
  const words = ["--sink-allow", "127.0.0.1"];
  let daemon = await startGovernd(dataDir, words);
  let written = 0;
  const clientOf = async ({ url, ready }: typeof daemon) =>
    new Client(url, await Bun.file(ready.ca_file as string).text(), apiKey);
  const made = await (await clientOf(daemon)).post("/v1/sinks", sinkOf(receiver));
  expect(made.status).toBe(201);
  for (let kill = 0; kill < KILLS; kill++) {
    const client = await clientOf(daemon);
    const before = receiver.requests;
    for (const more of [300, 400]) {
      await writes(client, more);
      written += more;
    }
    await eventually("something is being delivered", () => receiver.requests > before);
    await daemon.stop("SIGKILL");
    daemon = await startGovernd(dataDir, words);
  }
  const client = await clientOf(daemon);
  const { json } = await client.get("/v1/audit", { agent_id: "a", limit: 1 });
  expect(json.data[0].agent_seq).toBeGreaterThanOrEqual(written - 1);
  const stateOf = async () => (await client.get(`/v1/sinks/${made.json.id}`)).json;
  for (let state = await stateOf(); state.lag !== 0; state = await stateOf()) {
    await eventually("more is delivered", async () => (await stateOf()).lag !== state.lag);
  }
  const seqs = receiver.events.map(({ seq }) => seq);
  expect(seqs).toEqual(Array.from({ length: seqs.length }, (_, i) => i));
  expect(seqs.length).toBeGreaterThan(written);
  expect(receiver.events.every(({ workspace_id: id }) => id === workspace.id)).toBe(true);
  await daemon.stop();
});

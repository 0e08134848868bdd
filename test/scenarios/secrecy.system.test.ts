/**
 * Nothing that a client confides is repeated: a daemon as a process of its own, at the level debug, is told
 * values, keys, passwords and tokens in every place where a request can hold one, rightly and wrongly. Then
 * everything that it wrote is searched, and its metrics, and the audit export. The scenarios beside this
 * file are searched in the same way (`confided`).
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { makeWorkspace } from "../cli/governd.ts";
import { startGovernd } from "../cli/governd-process.ts";
import { Confidences } from "../support/confidences.ts";
import { ensureServer } from "../support/own-server.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS);

/** A text that is found wherever it gets to. */
let made = 0;
const secret = (kind: string): string => `${kind}-zq${(++made).toString(36)}x7-confided`;

test("what is confided is repeated by no log, no metric and no trail", async () => {
  using directory = temporaryDirectory();
  const dataDir = directory.join("data");
  const metricsListen = "127.0.0.1:0";
  const words = ["--log-level", "debug", "--metrics-listen", metricsListen, "--seal-interval", "1s"];
  await using daemon = await startGovernd(dataDir, words);
  await ensureServer(dataDir);
  const { api_key: apiKey } = await makeWorkspace(dataDir);
  /** Nowhere at all. */
  const never: string[] = [apiKey];
  /** Neither in the log nor in the metrics; the details of events name data keys. */
  const unsaid: string[] = [];
  const hide = (kind: string) => {
    const text = secret(kind);
    never.push(text);
    return text;
  };
  const name = (kind: string) => {
    const text = secret(kind);
    unsaid.push(text);
    return text;
  };
  const ask = async (path: string, init: Parameters<typeof daemon.ask>[1] = {}) => {
    const response = await daemon.ask(path, { apiKey, ...init });
    await response.arrayBuffer();
    return response.status;
  };
  const post = (path: string, body: unknown, init: Parameters<typeof daemon.ask>[1] = {}) =>
    ask(path, { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body), ...init });

  // What works.
  const config = {
    instructions: hide("instructions"),
    model: hide("model"),
    [hide("member")]: 1,
    policies: { block_pii: true, block_secrets: true },
  };
  const put = { method: "PUT", body: JSON.stringify(config) };
  expect(await ask("/v1/config/bot", put)).toBe(200);
  const key = name("key");
  const entry = { agent_id: "bot", key, value: hide("value"), metadata: { [hide("name")]: hide("inner") } };
  expect(await post("/v1/data/write", entry)).toBe(200);
  expect(await ask(`/v1/data/read?agent_id=bot&key=${key}`)).toBe(200);
  expect(await ask(`/v1/data/list?agent_id=bot&prefix=${name("prefix")}`)).toBe(200);
  expect(await post("/v1/data/search", { agent_id: "bot", query: hide("query") })).toBe(200);
  const filter = { [name("member")]: hide("operand"), [name("other")]: { $in: [hide("choice")] } };
  expect(await post("/v1/data/query", { agent_id: "bot", filter })).toBe(200);
  expect(await post("/v1/data/search", { agent_id: "bot", query: hide("words"), filter })).toBe(200);
  expect(await post("/v1/data/query", { agent_id: "bot", filter: { a: { $gt: [hide("wrong")] } } })).toBe(400);
  const checkpoint = { agent_id: "bot", label: name("label"), metadata: { why: name("reason") } };
  expect(await post("/v1/checkpoints", checkpoint)).toBe(201);
  expect(await ask(`/v1/data?agent_id=bot&key=${key}`, { method: "DELETE" })).toBe(200);
  // What policies refuse: the match and everything around it. A key that they do not object to is named.
  const person = `${secret("jo")}@confided.example.org`;
  const token = `ghp_${"zQ7x".repeat(8)}Zq7X`;
  never.push(person, token);
  for (const value of [`${hide("before")} ${person}`, `token ${token}`]) {
    expect(await post("/v1/data/write", { agent_id: "bot", key: name("refused"), value })).toBe(200);
  }
  // What is wrong.
  const wrongKey = `gov_${"0zq7k".repeat(5)}a_${"zq7k".repeat(8)}_0000000`;
  never.push(wrongKey);
  expect(await ask("/v1/config/bot", { apiKey: wrongKey })).toBe(401);
  expect(await ask(`/v1/config/${name("path")}%20x`)).toBe(404);
  expect(await ask(`/v1/${hide("nowhere")}`)).toBe(404);
  expect(await ask(`/v1/data/list?agent_id=bot&${hide("parameter")}=${hide("argument")}`)).toBe(400);
  expect(await ask(`/v1/checkpoints/${name("id")},`)).toBe(404);
  expect(await ask("/v1/config/bot", { headers: { "x-request-id": `${hide("request")} !` } })).toBe(200);
  expect(await ask("/v1/config/bot", { headers: { "if-none-match": hide("tag") } })).toBe(200);
  expect(await ask("/v1/config/bot", { headers: { "x-workspace-id": hide("workspace") } })).toBe(403);
  for (const body of [
    `{"agent_id":"bot","key":"${hide("broken")}`,
    JSON.stringify({ agent_id: "bot", key: hide("k"), value: 7 }),
    JSON.stringify({ agent_id: hide("agent with spaces"), key: hide("k"), value: hide("v") }),
    JSON.stringify({ ...entry, [hide("unknown")]: hide("v") }),
    JSON.stringify({ ...entry, key: `${hide("control")}\u0001` }),
    JSON.stringify({ ...entry, value: hide("long").repeat(60_000) }),
    JSON.stringify({ ...entry, value: hide("too long").repeat(200_000) }),
  ]) {
    expect([400, 413]).toContain(await post("/v1/data/write", body));
  }
  expect(await ask("/v1/config/bot", { method: "PUT", body: `{"policies":{"${hide("policy")}":true}}` })).toBe(400);
  // People.
  const [password, wrong] = [hide("password"), hide("wrong password")];
  const link = new URL(daemon.ready.sign_up_url as string);
  const start = link.hash.slice(1) || link.pathname.split("/").at(-1) || "";
  const origin = { headers: { origin: daemon.url } };
  const email = `${hide("person")}@example.org`;
  const signUp = { token: start, email, password, workspace: "mine" };
  await post("/account/sign-up", signUp, origin);
  await post("/account/sign-up", { ...signUp, token: hide("token") }, origin);
  expect(await post("/account/sign-in", { email, password: wrong }, origin)).toBe(401);
  expect(await ask("/account", { headers: { cookie: `__Host-governd_session=${hide("session")}` } })).toBe(401);

  const exported = await daemon.ask("/v1/audit/export", {
    method: "POST",
    body: JSON.stringify({ scope: "workspace", format: "ndjson" }),
    apiKey,
  });
  const trail = await exported.text();
  expect(trail).toContain('"operation":"data.write"');
  const metrics = await (await fetch((daemon.ready as unknown as { metrics: string }).metrics)).text();
  expect(metrics).toContain("governd_http_requests_total");
  const { code, err } = await daemon.stop();
  expect(code).toBe(0);
  expect(err.split("\n").filter((line) => line.includes('"message":"request"')).length).toBeGreaterThan(25);
  expect(err).toContain('"decision":"blocked"');
  for (const text of never) {
    expect({ text, log: err.includes(text), metrics: metrics.includes(text), trail: trail.includes(text) }).toEqual({
      text,
      log: false,
      metrics: false,
      trail: false,
    });
  }
  for (const text of unsaid) expect([text, err.includes(text), metrics.includes(text)]).toEqual([text, false, false]);
});

test("the search finds what is repeated, as it is and as JSON writes it", () => {
  const confidences = new Confidences();
  const body = { agent_id: "bot", key: "the-data-key", value: 'a "quoted" value' };
  confidences.note({ path: "/v1/data/write", body }, "gov_the-api-key");
  expect(confidences.size).toBe(3);
  confidences.assertKeptBy("a log", "nothing of it, for bot");
  for (const text of ["the-data-key", 'a "quoted" value', 'a \\"quoted\\" value', "gov_the-api-key"]) {
    expect(() => confidences.assertKeptBy("a log", `so ${text} stands here`)).toThrow();
  }
  // The details of events name data keys.
  confidences.assertKeptByTrail("the-data-key");
  expect(() => confidences.assertKeptByTrail('a \\"quoted\\" value')).toThrow();
});

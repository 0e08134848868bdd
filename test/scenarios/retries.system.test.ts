/** Requests with an `Idempotency-Key`: what their repetition answers, and that nothing is done or recorded again. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { apiRoutes } from "../../src/serve/http/app.ts";
import { eventually } from "../eventually.ts";
import type { Answered, Client, Sent } from "../support/client.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { prepare, requestOf } from "../support/route-requests.ts";
import { freshAgent } from "../support/scenario.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;

let daemon: TestDaemon;
let workspace: TestWorkspace;
let client: Client;

beforeAll(async () => {
  daemon = await TestDaemon.start({ confided: true });
  workspace = await daemon.workspace();
  ({ client } = workspace);
});
afterAll(() => daemon[Symbol.asyncDispose]());

let keys = 0;
const freshKey = (): string => `retry-${++keys}`;

const keyed = (sent: Sent, key: string, headers: Record<string, string> = {}): Sent => ({
  ...sent,
  headers: { ...sent.headers, ...headers, "idempotency-key": key },
});
const write = (agent: string, key = "k", value = "v"): Sent => ({
  path: "/v1/data/write",
  body: { agent_id: agent, key, value },
});
const configure = (agent: string, config: object): Sent => ({
  method: "PUT",
  path: `/v1/config/${agent}`,
  body: config,
});
/** What of an answer the repetition has, too. */
const shown = ({ status, text, headers }: Answered) => ({
  status,
  text,
  audit: headers.get("x-audit-id"),
  type: headers.get("content-type"),
  etag: headers.get("etag"),
});

/** Expects the repetition of a request to get its answer, and to leave nothing. */
async function expectReplay(sent: Sent, first: Answered): Promise<void> {
  const { head } = workspace.view;
  const again = await client.send(sent);
  expect(shown(again)).toEqual(shown(first));
  expect(again.headers.get("idempotent-replayed")).toBe("true");
  expect(workspace.view.eventsAfter(head)).toEqual([]);
}

/** Sends a request twice. Returns the first answer. */
async function sentTwice(sent: Sent): Promise<Answered> {
  const request = keyed(sent, freshKey());
  const first = await client.send(request);
  expect(first.headers.get("idempotent-replayed")).toBeNull();
  await expectReplay(request, first);
  return first;
}

async function expectProblem(sent: Sent, status: number, code: string): Promise<Answered> {
  const answered = await client.send(sent);
  expect({ status: answered.status, code: answered.json?.code }).toEqual({ status, code });
  return answered;
}

describe("the same request again", () => {
  test.each(
    apiRoutes.filter(({ retryable }) => retryable).map((route) => [`${route.method} ${route.path}`, route] as const),
  )("%s", async (_, route) => {
    const agent = freshAgent();
    await client.configure(agent, {});
    const { audit_id: event } = (await client.write(agent, "k", "v")).json;
    const { id: checkpoint } = (await client.checkpoint(agent)).json;
    const subject = { agent, checkpoint, event };
    await prepare(client, route, subject);
    const { head } = workspace.view;
    const first = await sentTwice(requestOf(route, subject));
    expect(first.status).toBe(route.status);
    expect(workspace.view.eventsAfter(head).at(-1)?.id).toBe(first.headers.get("x-audit-id") as string);
  });

  test("a refused one has the first request's id in its document", async () => {
    const agent = freshAgent();
    await client.configure(agent, { policies: { block_pii: true } });
    const blocked = await sentTwice(write(agent, "k", "mail jane.roe@acme.io"));
    expect(blocked.json).toMatchObject({ allowed: false, blocked_by: "policy:block_pii" });
    const missing = await sentTwice({ method: "DELETE", path: "/v1/data", query: { agent_id: agent, key: "none" } });
    expect(missing.json).toMatchObject({ code: "entry_not_found", request_id: missing.headers.get("x-request-id") });
    const conflict = await sentTwice({ ...configure(agent, {}), headers: { "if-match": '"v9"' } });
    expect(conflict).toMatchObject({ status: 412, json: { code: "version_conflict" } });
    const label = await sentTwice({ path: "/v1/checkpoints", body: { agent_id: agent, label: "of jane.roe@acme.io" } });
    expect(label).toMatchObject({ status: 409, json: { code: "blocked", blocked_by: "policy:block_pii" } });
    expect(label.json.findings).toHaveLength(1);
  });

  test("a large value, which is screened elsewhere first", async () => {
    await sentTwice(write(freshAgent(), "k", "word ".repeat(20_000)));
  });

  test("two equal configurations are one version, and two equal checkpoints one", async () => {
    const agent = freshAgent();
    expect((await sentTwice(configure(agent, { a: 1 }))).json.version).toBe("v1");
    await sentTwice({ path: "/v1/checkpoints", body: { agent_id: agent } });
    expect((await client.get(`/v1/config/${agent}/versions`)).json.data).toHaveLength(1);
    expect((await client.get("/v1/checkpoints", { agent_id: agent })).json.data).toHaveLength(1);
  });

  test("a key of its own for each API key", async () => {
    const agent = freshAgent();
    const other = await daemon.clientWith(workspace.id, { scope: "full" });
    const request = keyed(write(agent), freshKey());
    const answers = [await client.send(request), await other.send(request)];
    expect(answers.map(({ headers }) => headers.get("idempotent-replayed"))).toEqual([null, null]);
    expect(new Set(answers.map(({ json }) => json.audit_id)).size).toBe(2);
  });
});

describe("another request with the key", () => {
  test("is refused, and leaves nothing", async () => {
    const [agent, key] = [freshAgent(), freshKey()];
    const sent = configure(agent, { a: 1 });
    await client.send(keyed(sent, key));
    const { head } = workspace.view;
    const others: Sent[] = [
      keyed(configure(agent, { a: 2 }), key),
      keyed(sent, key, { "if-match": '"v1"' }),
      keyed(configure(freshAgent(), { a: 1 }), key),
      keyed({ method: "POST", path: `/v1/config/${agent}/rollback`, body: { version: "v1" } }, key),
      keyed({ method: "DELETE", path: "/v1/data", query: { agent_id: agent, key: "k" } }, key),
    ];
    for (const other of others) {
      const { headers } = await expectProblem(other, 422, "idempotency_mismatch");
      expect(headers.get("x-audit-id")).toBeNull();
    }
    expect(workspace.view.eventsAfter(head)).toEqual([]);
    const remove = (name: string) => ({ method: "DELETE", path: "/v1/data", query: { agent_id: agent, key: name } });
    const second = freshKey();
    await client.send(keyed(remove("a"), second));
    await expectProblem(keyed(remove("b"), second), 422, "idempotency_mismatch");
  });
});

describe("at the same time", () => {
  test("one of them is done, and the others are told to wait or get its answer", async () => {
    for (const sent of [
      write(freshAgent(), "k", "v"),
      write(freshAgent(), "k", "word ".repeat(4_000)),
      configure(freshAgent(), { a: 1 }),
    ]) {
      const request = keyed(sent, freshKey());
      const { head } = workspace.view;
      const answers = await Promise.all(Array.from({ length: 8 }, () => client.send(request)));
      expect(workspace.view.eventsAfter(head)).toHaveLength(1);
      const [first] = answers.filter(({ status }) => status === 200);
      for (const answer of answers) {
        if (answer.status === 200) expect(answer.text).toBe(first?.text as string);
        else {
          expect(answer).toMatchObject({ status: 409, json: { code: "idempotency_in_progress" } });
          expect(answer.headers.get("retry-after")).toMatch(/^\d+$/);
        }
      }
      await expectReplay(request, first as Answered);
    }
  });

  test("another request with the key is refused", async () => {
    const [agent, key] = [freshAgent(), freshKey()];
    const sent = ["a", "b", "c", "d"].map((value) => client.send(keyed(write(agent, "k", value), key)));
    const statuses = (await Promise.all(sent)).map(({ status }) => status);
    expect(statuses.sort()).toEqual([200, 422, 422, 422]);
  });
});

describe("the header", () => {
  test.each(["", "a b", "a\tb", "ü", "x".repeat(256), "a, b"])("%j is refused", async (key) => {
    const sent = { ...write(freshAgent()), headers: { "idempotency-key": key } };
    const { json } = await expectProblem(sent, 400, "invalid_request");
    expect(json.param).toBe("Idempotency-Key");
  });

  test("takes all visible characters", async () => {
    const all = Array.from({ length: 94 }, (_, at) => String.fromCharCode(33 + at)).join("");
    for (const key of [all, "x".repeat(255)])
      expect((await client.send(keyed(write(freshAgent()), key))).status).toBe(200);
  });

  test.each<Sent>([
    { path: "/v1/audit/export", body: { scope: "workspace" } },
    { path: "/v1/audit/verify", body: { scope: "workspace" } },
    { path: "/v1/audit/stream", query: { scope: "workspace" } },
    { path: "/v1/policies/check", body: { value: "any", policies: { block_pii: true } } },
    { path: "/v1/policies/replay", body: { policies: { block_pii: true } } },
  ])("%j refuses it", async (sent) => {
    const { json } = await expectProblem(keyed(sent, freshKey()), 400, "invalid_request");
    expect(json.param).toBe("Idempotency-Key");
  });

  test("means nothing on a read", async () => {
    const agent = freshAgent();
    await client.write(agent, "k", "v");
    for (const key of [freshKey(), "not a key"]) {
      const read = { path: "/v1/data/read", query: { agent_id: agent, key: "k" }, headers: { "idempotency-key": key } };
      const answers = [await client.send(read), await client.send(read)];
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      expect(new Set(answers.map(({ headers }) => headers.get("x-audit-id"))).size).toBe(2);
    }
  });
});

describe("a stored answer has no text that is stored nowhere else", () => {
  /** Tables with what clients have stored, and what events say. */
  const KEPT = ["entries", "configs", "checkpoints", "events"];
  const MARK = "unmistakable quince";
  const policies = { screening: { pii: { mode: "redact" } } };
  /** Values for the members of requests that are texts of clients, which a policy redacts in part. */
  const TEXTS: Record<string, unknown> = {
    value: `${MARK}, written to jane.roe@acme.io`,
    query: `${MARK}, written to jane.roe@acme.io`,
    label: MARK,
    reason: MARK,
    metadata: { note: MARK },
    policies,
  };

  const rowsWith = (table: string): number =>
    workspace.view.connection
      .all<unknown[]>(`SELECT * FROM ${table}`)
      .filter((row) => row.some((cell) => String(cell instanceof Uint8Array ? Buffer.from(cell) : cell).includes(MARK)))
      .length;

  const taking = apiRoutes.filter(({ body, method }) => {
    const members = Object.keys(body?.schema.properties ?? {});
    return method !== "GET" && members.some((name) => name !== "policies" && name in TEXTS);
  });

  test.each(taking.map((route) => [`${route.method} ${route.path}`, route] as const))("%s", async (_, route) => {
    const agent = freshAgent();
    await client.configure(agent, { policies });
    const { audit_id: event } = (await client.write(agent, "k", "v")).json;
    const { id: checkpoint } = (await client.checkpoint(agent)).json;
    const request = requestOf(route, { agent, checkpoint, event });
    const members = Object.keys(route.body?.schema.properties ?? {}).filter((name) => name in TEXTS);
    const texts = Object.fromEntries(members.map((name) => [name, TEXTS[name]]));
    const before = { kept: KEPT.map(rowsWith), answers: rowsWith("answers") };
    const { status } = await client.send(
      keyed({ ...request, body: { ...(request.body as object), ...texts } }, freshKey()),
    );
    const isKept = KEPT.some((table, at) => rowsWith(table) > (before.kept[at] as number));
    const isInAnswer = rowsWith("answers") > before.answers;
    expect(isInAnswer && !isKept, "an answer repeats what is kept nowhere").toBe(false);
    if (!route.retryable) expect(status).toBe(400);
  });

  test("there are such routes", () => {
    expect(taking.map(({ operation }) => operation)).toContain("policy.check");
    expect(taking.some(({ retryable }) => retryable)).toBe(true);
  });
});

describe("what is refused before its operation is not stored", () => {
  test("a malformed body", async () => {
    const [agent, key] = [freshAgent(), freshKey()];
    await expectProblem(keyed({ path: "/v1/data/write", body: { agent_id: agent } }, key), 400, "invalid_request");
    expect((await client.send(keyed(write(agent), key))).status).toBe(200);
  });

  test("a suspended agent", async () => {
    const agent = freshAgent();
    await client.write(agent, "k", "v");
    await client.post(`/v1/agents/${agent}/suspend`, {});
    const request = keyed(write(agent), freshKey());
    await expectProblem(request, 403, "agent_suspended");
    await client.post(`/v1/agents/${agent}/resume`, {});
    const first = await client.send(request);
    expect(first.status).toBe(200);
    // A stored answer is given whatever happened since.
    await client.post(`/v1/agents/${agent}/suspend`, {});
    await expectReplay(request, first);
  });
});

describe("an erasure", () => {
  test("destroys the stored answers that show what is erased, and does not make requests be done again", async () => {
    const [agent, other] = [freshAgent(), freshAgent()];
    for (const each of [agent, other])
      for (const key of ["erased/1", "kept"]) await client.write(each, key, `secret words of ${key}`);
    const search = (agentId: string, prefix: string): Sent => ({
      path: "/v1/data/search",
      body: { agent_id: agentId, query: "secret words", prefix },
    });
    const erased = keyed(search(agent, "erased/"), freshKey());
    const kept = [keyed(search(agent, "kept"), freshKey()), keyed(search(other, "erased/"), freshKey())];
    await eventually("search is ready", async () => (await client.send(search(agent, ""))).status === 200);
    const [first, ...firsts] = [
      await client.send(erased),
      await client.send(kept[0] as Sent),
      await client.send(kept[1] as Sent),
    ];
    expect(first?.text).toContain("secret words");
    const erasure = keyed(
      { method: "DELETE", path: "/v1/data", query: { agent_id: agent, key: "erased/1", erase: true } },
      freshKey(),
    );
    const done = await client.send(erasure);
    expect(done).toMatchObject({ status: 200, json: { deleted: 1 } });
    await expectReplay(erasure, done);
    const { head } = workspace.view;
    await expectProblem(erased, 422, "idempotency_mismatch");
    expect(workspace.view.eventsAfter(head)).toEqual([]);
    for (const [at, sent] of kept.entries()) await expectReplay(sent, firsts[at] as Answered);
    const bodies = workspace.view.connection.all<[string | null]>(
      "SELECT body FROM answers WHERE body LIKE '%erased/1%'",
    );
    expect(bodies).toHaveLength(1); // the other agent's
  });
});

test("an erasure destroys what findings of the agent say, also in a batch", async () => {
  const [agent, other] = [freshAgent(), freshAgent()];
  const member = "held_for_quarantine";
  const entry = { key: "k", value: "v", metadata: { [member]: "mail jane.roe@acme.io" } };
  const requests: Sent[] = [];
  for (const each of [agent, other]) {
    await client.configure(each, { policies: { block_pii: true } });
    const batch = {
      agent_id: each,
      atomic: false,
      operations: [
        { op: "write", ...entry },
        { op: "read", key: "x" },
      ],
    };
    requests.push(keyed({ path: "/v1/data/write", body: { agent_id: each, ...entry } }, freshKey()));
    requests.push(keyed({ path: "/v1/data/batch", body: batch }, freshKey()));
  }
  const firsts: Answered[] = [];
  for (const request of requests) firsts.push(await client.send(request));
  for (const { text } of firsts) expect(text).toContain(`metadata.${member}`);
  await client.send({ method: "DELETE", path: "/v1/data", query: { agent_id: agent, key: "k", erase: true } });
  for (const request of requests.slice(0, 2)) await expectProblem(request, 422, "idempotency_mismatch");
  for (const at of [2, 3]) await expectReplay(requests[at] as Sent, firsts[at] as Answered);
});

describe("a stored answer", () => {
  test("outlives the daemon, and ends after 24 hours", async () => {
    const agent = freshAgent();
    const request = keyed(write(agent), freshKey());
    const first = await client.send(request);
    const restarted = async (offsetMs: number) => {
      await daemon.restart(offsetMs);
      client = daemon.client(client.apiKey);
    };
    await restarted(DAY_MS - 60_000);
    await expectReplay(request, first);
    await restarted(DAY_MS + 60_000);
    const again = await client.send(request);
    expect(again.headers.get("idempotent-replayed")).toBeNull();
    expect(again.json.audit_id).not.toBe(first.json.audit_id);
    await restarted(0);
    expect((await workspace.view.verify()).problems).toEqual([]);
  });

  test("beyond quota_answers is refused, and nothing is done", async () => {
    await daemon.restart(0, { quota_answers: 1 });
    client = daemon.client(client.apiKey);
    const { head } = workspace.view;
    const full = await expectProblem(keyed(write(freshAgent()), freshKey()), 507, "quota_exceeded");
    expect(full.json).toMatchObject({ quota: "answers", limit: 1, used: expect.any(Number) });
    expect(workspace.view.eventsAfter(head)).toEqual([]);
    expect((await client.send(write(freshAgent()))).status).toBe(200);
    await daemon.restart();
    client = daemon.client(client.apiKey);
  });
});

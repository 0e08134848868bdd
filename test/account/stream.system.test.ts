import { afterAll, beforeAll, expect, test } from "bun:test";
import { eventually } from "../eventually.ts";
import { administer } from "../support/administration.ts";
import type { Client } from "../support/client.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { Browser, signUp, tokenOf } from "./browser.ts";

let daemon: TestDaemon;
let workspace: TestWorkspace;
beforeAll(async () => {
  daemon = await TestDaemon.start();
  workspace = await daemon.workspace();
});
afterAll(() => daemon[Symbol.asyncDispose]());

/** A live stream as a client reads it. */
class Stream {
  text = "";
  ended = false;
  /** It ended in the middle, rather than by its server's word. */
  broken = false;
  readonly #reader: { cancel(): Promise<void> };

  constructor(readonly response: Response) {
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    this.#reader = reader;
    void (async () => {
      const decoder = new TextDecoder();
      try {
        for (;;) {
          const { done, value } = await reader.read();
          if (done) break;
          this.text += decoder.decode(value, { stream: true });
        }
      } catch {
        this.broken = true;
      }
      this.ended = true;
    })();
  }

  // biome-ignore lint/suspicious/noExplicitAny: events have every form
  get events(): any[] {
    return [...this.text.matchAll(/^id: (\S+)\nevent: audit\ndata: (.*)\n\n/gm)].map(([, id, data]) => {
      const event = JSON.parse(data as string);
      expect(event.id).toBe(id);
      return event;
    });
  }

  until(ready: () => boolean): Promise<void> {
    return eventually(`the stream has it: ${ready}`, ready);
  }

  close(): Promise<void> {
    return this.#reader.cancel();
  }
}

const follow = async (client: Client, query: Record<string, string>, headers: Record<string, string> = {}) =>
  new Stream(await client.open({ path: "/v1/audit/stream", query, headers }));

test("sends an agent's events as they are committed, and no others", async () => {
  const { client, view } = workspace;
  await client.write("bot", "before", "v");
  const head = view.head;
  const stream = await follow(client, { agent_id: "bot" });
  expect(stream.response.headers.get("content-type")).toBe("text/event-stream");
  await stream.until(() => stream.text.startsWith("retry: 2000\n\n"));
  expect(view.eventsAfter(head).map(({ line, details }) => [line, details])).toEqual([["bot audit.stream ok", {}]]);
  expect(stream.response.headers.get("x-audit-id")).toBe(view.eventsAfter(head)[0]?.id as string);
  await client.write("other", "k", "v");
  const { json } = await client.write("bot", "k", "v");
  await stream.until(() => stream.events.length > 0);
  expect(stream.events).toEqual([await view.event(json.audit_id)]);
  await stream.close();
});

test("resumes after Last-Event-ID without a gap", async () => {
  const { client } = workspace;
  const first = await client.write("resumed", "k0", "v");
  for (let i = 1; i <= 250; i++) await client.write("resumed", `k${i}`, "v");
  const stream = await follow(client, { agent_id: "resumed" }, { "last-event-id": first.json.audit_id });
  // The stream's own event is one of those behind it.
  await stream.until(() => stream.events.length >= 251);
  const numbers = stream.events.map((event) => event.agent_seq);
  expect(numbers).toEqual(Array.from({ length: 251 }, (_, i) => i + 2));
  await stream.close();
  const all = await follow(client, { scope: "workspace" }, { "last-event-id": first.json.audit_id });
  await all.until(() => all.events.length >= 252);
  expect(all.events.map((event) => event.seq)).toEqual(
    Array.from({ length: all.events.length }, (_, i) => all.events[0].seq + i),
  );
  await all.close();
});

test("what cannot be followed", async () => {
  const { client } = workspace;
  const get = (query: Record<string, string>, headers: Record<string, string> = {}) =>
    client.send({ path: "/v1/audit/stream", query, headers });
  expect((await get({})).json.param).toBe("agent_id");
  expect((await get({ agent_id: "bot", scope: "workspace" })).json.param).toBe("scope");
  expect((await get({ agent_id: "bot" }, { "last-event-id": "7" })).json.param).toBe("Last-Event-ID");
  const unknown = await get({ agent_id: "bot" }, { "last-event-id": "aud_01h455vb4pex5vsknk084sn02q" });
  expect([unknown.status, unknown.json.code]).toEqual([404, "audit_event_not_found"]);
  const limited = await daemon.clientWith(workspace.id, { agents: ["bot"] });
  expect((await limited.send({ path: "/v1/audit/stream", query: { scope: "workspace" } })).status).toBe(403);
});

test("an agent that has not begun is followed from its first event; others write beside the daemon", async () => {
  const stream = await follow(workspace.client, { agent_id: "unborn" });
  await workspace.client.write("unborn", "k", "v");
  await stream.until(() => stream.events.length === 1);
  expect(stream.events[0]).toMatchObject({ agent_seq: 1, operation: "data.write" });
  await stream.close();
  const all = await follow(workspace.client, { scope: "workspace" });
  await all.until(() => all.text !== "");
  await daemon.clientWith(workspace.id, {});
  await all.until(() => all.events.some((event) => event.operation === "key.create"));
  await all.close();
});

test("ends when its key is revoked, and when its session ends", async () => {
  const { client } = workspace;
  const { apiKey, record } = await administer(daemon.dataDir, (administration) =>
    administration.createKey({
      workspaceId: workspace.id,
      label: null,
      scope: "auditor",
      agents: null,
      expiresInMs: null,
    }),
  );
  const stream = await follow(daemon.client(apiKey), { scope: "workspace" });
  await stream.until(() => stream.text !== "");
  await administer(daemon.dataDir, (administration) => administration.revokeKey(record.id));
  await stream.until(() => stream.ended);

  const person = await signUp(daemon, tokenOf(daemon.signUpUrl));
  const headers = { cookie: `__Host-governd_session=${person.browser.session}`, "x-workspace-id": person.workspaceId };
  const own = new Stream(
    await client.open({ path: "/v1/audit/stream", query: { scope: "workspace" }, headers, key: null }),
  );
  await own.until(() => own.text !== "");
  expect(own.ended).toBe(false);
  const elsewhere = new Browser(daemon);
  elsewhere.cookies.set("__Host-governd_session", person.browser.session as string);
  await elsewhere.post("/account/sign-out");
  await own.until(() => own.ended);
});

test("streams are bounded for a workspace, and give their place back", async () => {
  const own = await daemon.workspace();
  const open = await Promise.all(Array.from({ length: 32 }, () => follow(own.client, { agent_id: "bot" })));
  const refused = await own.client.send({ path: "/v1/audit/stream", query: { agent_id: "bot" } });
  expect([refused.status, refused.json.code]).toEqual([503, "unavailable"]);
  expect((await workspace.client.get("/v1/agents")).status).toBe(200);
  await Promise.all(open.map((stream) => stream.close()));
  // That a client has gone is noticed a moment later.
  await eventually("there is a place again", async () => {
    const again = await follow(own.client, { agent_id: "bot" });
    await again.close();
    return again.response.status === 200;
  });
});

test("a stop does not wait for them", async () => {
  const stream = await follow(workspace.client, { scope: "workspace" });
  await stream.until(() => stream.text !== "");
  await daemon.restart();
  await stream.until(() => stream.ended);
  // A stop breaks off the streams that do not end in time.
  expect(stream.broken).toBe(false);
});

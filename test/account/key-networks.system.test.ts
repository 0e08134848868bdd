/** Keys that are limited to networks: every way into `/v1` asks where the request comes from. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { apiRoutes } from "../../src/serve/http/app.ts";
import { governd } from "../cli/governd.ts";
import { administer } from "../support/administration.ts";
import { TestDaemon } from "../support/daemon.ts";
import type { WorkspaceView } from "../support/workspace-view.ts";
import { PROCESS_TEST_MS } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const INSIDE = [
  "10.1.2.3",
  "192.0.2.7",
  "2001:db8:1::9",
  "::ffff:10.9.9.9",
  "192.0.2.7:50123",
  "[2001:db8:1::9]:50123",
  "11.0.0.1, 10.1.2.3:50123",
];
const OUTSIDE = [
  "11.0.0.1",
  "192.0.2.8",
  "2001:db9::1",
  "::1",
  "",
  "unknown",
  "10.1.2.3, 11.0.0.1",
  "10.1.2.3, 11.0.0.1:50123",
  "10.1.2.3, [2001:db9::1]:50123",
  "10.1.2.3, unknown",
];
const NETWORKS = ["10.0.0.0/8", "192.0.2.7", "2001:db8::/32"];

let daemon: TestDaemon;
let view: WorkspaceView;
let key: { id: string; text: string };
beforeAll(async () => {
  daemon = await TestDaemon.start({ flags: { tls: "off", trusted_proxies: "127.0.0.1", log_level: "info" } });
  const { workspace } = await administer(daemon.dataDir, (administration) => administration.createWorkspace("test"));
  view = daemon.viewOf(workspace.id);
  const networks = NETWORKS.flatMap((network) => ["--network", network]);
  const made = await governd([
    "key",
    "create",
    "--workspace",
    workspace.id,
    ...networks,
    "--json",
    "--data-dir",
    daemon.dataDir,
  ]);
  const { key_id: id, api_key: text } = made.json<{ key_id: string; api_key: string }>();
  key = { id, text };
});
afterAll(() => daemon[Symbol.asyncDispose]());

const send = (from: string, path = "/v1/agents", init: RequestInit = {}) =>
  fetch(`${daemon.url.replace("https", "http")}${path}`, {
    ...init,
    headers: { "x-api-key": key.text, "x-forwarded-proto": "https", "x-forwarded-for": from },
  });

test("the client's address decides, in IPv4 and IPv6, behind a proxy", async () => {
  for (const from of INSIDE) expect([from, (await send(from)).status]).toEqual([from, 200]);
  for (const from of OUTSIDE) {
    const answer = await send(from);
    expect([from, answer.status, ((await answer.json()) as { code: string }).code]).toEqual([from, 403, "forbidden"]);
  }
  expect(await daemon.log()).toContain(key.id);
});

test("no route is served from elsewhere, and nothing is recorded", async () => {
  const before = view.eventsAfter(-1).length;
  for (const { method, path } of apiRoutes) {
    const answer = await send("11.0.0.1", path.replace(/:\w+/g, "x"), { method });
    expect([method, path, answer.status]).toEqual([method, path, 403]);
  }
  expect((await send("11.0.0.1", "/v1/nothing")).status).toBe(403);
  expect(view.eventsAfter(-1).length).toBe(before);
});

test("a change is in force at once, also for a stream that is open", async () => {
  const stream = await send("10.0.0.1", "/v1/audit/stream?scope=workspace");
  expect(stream.status).toBe(200);
  const ended = Array.fromAsync(stream.body as ReadableStream);
  const limit = (...words: string[]) => governd(["key", "limit", key.id, ...words, "--data-dir", daemon.dataDir]);
  expect((await limit("--network", "11.0.0.0/8")).out).toBe(`Key ${key.id} is accepted from 11.0.0.0/8.\n`);
  await ended;
  expect([(await send("10.0.0.1")).status, (await send("11.0.0.1")).status]).toEqual([403, 200]);
  expect((await limit("--anywhere")).code).toBe(0);
  expect((await send("10.0.0.1")).status).toBe(200);
  for (const bad of [["--network", "10.0.0.0/33"], ["--network", "fe80::1%eth0"], ["--network", "host"], []]) {
    expect((await limit(...bad)).code).toBe(2);
  }
  const changes = view.eventsAfter(-1).filter(({ operation }) => operation === "key.change");
  expect(changes.map(({ details }) => details)).toEqual([
    { key_id: key.id, networks: ["11.0.0.0/8"] },
    { key_id: key.id, networks: null },
  ]);
  expect((await view.verify()).valid).toBe(true);
});

test("a key that replaces another one is limited as that was", async () => {
  const { id } = key;
  const rotated = await administer(daemon.dataDir, async (administration) => {
    await administration.limitKey(id, NETWORKS);
    return await administration.rotateKey(id, 0);
  });
  key = { id: rotated.record.id, text: rotated.apiKey };
  expect([(await send("10.0.0.1")).status, (await send("11.0.0.1")).status]).toEqual([200, 403]);
});

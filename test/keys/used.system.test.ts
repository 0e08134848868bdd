/** Keys in a running daemon: when they were last used, many changes of one at once, and a workspace that is full. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { dataDirectory } from "../../src/core/datadir/layout.ts";
import { type Person, signUp, tokenOf } from "../account/browser.ts";
import { governd } from "../cli/governd.ts";
import { keysIn } from "../support/administration.ts";
import { TestDaemon } from "../support/daemon.ts";
import { PROCESS_TEST_MS } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const CLIENTS = 20;

let daemon: TestDaemon;
let founder: Person;
let base: string;
beforeAll(async () => {
  daemon = await TestDaemon.start({
    flags: { rate_limit: "1000", quota_entries: "3", quota_bytes: String(1024 * 1024) },
  });
  founder = await signUp(daemon, tokenOf(daemon.signUpUrl));
  base = `/account/workspaces/${founder.workspaceId}`;
});
afterAll(() => daemon[Symbol.asyncDispose]());

const made = async (label: string): Promise<{ id: string; api_key: string }> => {
  const { status, json } = await founder.browser.post(`${base}/keys`, { label });
  expect(status).toBe(201);
  return json;
};
const keyIn = async (id: string) =>
  (await keysIn(dataDirectory(daemon.dataDir), founder.workspaceId)).find((key) => key.id === id);
const lines = () => daemon.viewOf(founder.workspaceId).eventsAfter(-1);
const eventsOf = (operation: string, id: string) =>
  lines().filter((event) => event.operation === operation && JSON.stringify(event.details).includes(id));

test("every change of a key is recorded, and shown as it was answered", async () => {
  const before = lines().length;
  const { id } = await made("changed");
  const limited = await founder.browser.put(`${base}/keys/${id}`, { networks: ["192.0.2.7"] });
  expect([limited.status, limited.json.networks]).toEqual([200, ["192.0.2.7"]]);
  const rotated = await founder.browser.post(`${base}/keys/${id}/rotate`, { overlap_hours: 1 });
  expect([rotated.status, rotated.json.networks]).toEqual([201, ["192.0.2.7"]]);
  expect((await founder.browser.delete(`${base}/keys/${id}`)).status).toBeLessThan(300);
  expect(
    lines()
      .slice(before)
      .map(({ line }) => line),
  ).toEqual(["- key.create ok", "- key.change ok", "- key.rotate ok", "- key.revoke ok"]);
});

test("the last use is stored in the workspace's file without an event, and survives a restart", async () => {
  const { id, api_key } = await made("used");
  const client = daemon.client(api_key);
  const before = Date.now();
  expect((await client.get("/v1/agents")).status).toBe(200);
  const { head } = daemon.viewOf(founder.workspaceId);
  await daemon.restart();
  const used = (await keyIn(id))?.lastUsedAt as number;
  expect(used).toBeGreaterThanOrEqual(before);
  expect(used).toBeLessThanOrEqual(Date.now());
  expect(daemon.viewOf(founder.workspaceId).head).toBe(head);
  const { data } = (await founder.browser.get(`${base}/keys`)).json;
  const shown = (data as { id: string; last_used_at: string }[]).find((key) => key.id === id);
  expect(Date.parse(shown?.last_used_at as string)).toBe(used);
  // A later use replaces it, and a restart without one leaves it.
  expect((await daemon.client(api_key).get("/v1/agents")).status).toBe(200);
  await daemon.restart();
  const later = (await keyIn(id))?.lastUsedAt as number;
  expect(later).toBeGreaterThan(used);
  await daemon.restart();
  expect((await keyIn(id))?.lastUsedAt).toBe(later);
  const { code, out } = await governd(["verify", daemon.dataDir]);
  expect([code, out]).toEqual([0, expect.stringContaining("not covered: key_use")]);
});

test("of many rotations of one key at once, exactly one succeeds", async () => {
  const { id } = await made("rotated");
  const answers = await Promise.all(
    Array.from({ length: CLIENTS }, (_, at) =>
      founder.browser.post(`${base}/keys/${id}/rotate`, { overlap_hours: at + 1 }),
    ),
  );
  const done = answers.filter(({ status }) => status === 201);
  expect(done).toHaveLength(1);
  expect(answers.filter(({ status, json }) => status === 409 && json.code === "key_ended")).toHaveLength(CLIENTS - 1);
  const [event, ...others] = eventsOf("key.rotate", id);
  expect(others).toEqual([]);
  expect(event?.details).toMatchObject({ key_id: done[0]?.json.id, replaces: id });
  const old = await keyIn(id);
  expect([old?.replacedBy, old?.expiresAt]).toEqual([
    done[0]?.json.id,
    Date.parse(event?.details?.replaced_expires_at as string),
  ]);
  expect((await daemon.client(done[0]?.json.api_key).get("/v1/agents")).status).toBe(200);
});

test("of many revocations of one key at once, one is recorded, and all are answered alike", async () => {
  const { id, api_key } = await made("revoked");
  const answers = await Promise.all(
    Array.from({ length: CLIENTS }, () => founder.browser.delete(`${base}/keys/${id}`)),
  );
  expect(new Set(answers.map(({ status }) => status)).size).toBe(1);
  expect(answers[0]?.status).toBeLessThan(300);
  expect(eventsOf("key.revoke", id)).toHaveLength(1);
  expect((await daemon.client(api_key).get("/v1/agents")).status).toBe(401);
});

test("many clients that create, limit, rotate and revoke at once leave what their events say", async () => {
  const shared = await Promise.all(Array.from({ length: 4 }, (_, at) => made(`shared ${at}`)));
  const answers = await Promise.all(
    Array.from({ length: CLIENTS }, async (_, at) => {
      const { id } = shared[at % shared.length] as { id: string };
      const requests = [
        () => founder.browser.post(`${base}/keys`, { label: `new ${at}` }),
        () => founder.browser.put(`${base}/keys/${id}`, { networks: [`192.0.2.${at}`] }),
        () => founder.browser.post(`${base}/keys/${id}/rotate`, { overlap_hours: 1 }),
        () => founder.browser.delete(`${base}/keys/${id}`),
      ];
      const all = [];
      for (const request of [...requests.slice(at % 4), ...requests.slice(0, at % 4)]) all.push(await request());
      return all;
    }),
  );
  expect(answers.flat().filter(({ status }) => status >= 500)).toEqual([]);
  for (const { id } of shared) expect(eventsOf("key.revoke", id)).toHaveLength(1);
  const { code, out } = await governd(["verify", daemon.dataDir]);
  expect([code, out]).toEqual([0, expect.stringContaining("Verified")]);
});

test("a workspace over its quota still accepts a revocation, and its keys still end", async () => {
  const { id, api_key } = await made("full");
  const client = daemon.client(api_key);
  for (let at = 0; at < 3; at++) expect((await client.write("a", `k${at}`, "v")).status).toBe(200);
  expect((await client.write("a", "more", "v")).json.code).toBe("quota_exceeded");
  // Past the reserve, too.
  const text = "x".repeat(900_000);
  await daemon.restart(0, { quota_bytes: 64 * 1024 * 1024, quota_entries: 1_000 });
  for (let at = 0; at < 4; at++) expect((await daemon.client(api_key).write("a", `big${at}`, text)).status).toBe(200);
  await daemon.restart();
  expect((await daemon.client(api_key).write("a", "k0", "v")).json.code).toBe("quota_exceeded");
  expect((await founder.browser.post(`${base}/keys`, { label: "one more" })).status).toBe(507);
  expect((await founder.browser.delete(`${base}/keys/${id}`)).status).toBeLessThan(300);
  expect(eventsOf("key.revoke", id)).toHaveLength(1);
  expect((await daemon.client(api_key).write("a", "k0", "v")).status).toBe(401);
});

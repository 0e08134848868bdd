/**
 * Whoever has an export cannot try short texts, like telephone numbers, until one fits: no digest in it is of a content
 * without a secret salt, and no salt of a content is in it.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { createHash } from "node:crypto";
import { canonicalJson } from "../../src/log/jcs.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { PROCESS_TEST_MS } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const NUMBER = "4155550123";
const ENTRY = { key: "phone", metadata: { n: NUMBER }, value: NUMBER };
const CONFIG = { phone: NUMBER };
const WORKSPACE_POLICIES = { policies: { retention_days: 4000 } };

let daemon: TestDaemon;
let workspace: TestWorkspace;
let trail: string;

beforeAll(async () => {
  daemon = await TestDaemon.start();
  workspace = await daemon.workspace();
  const { client } = workspace;
  const done = async (sent: Parameters<typeof client.send>[0]) => {
    const answered = await client.send(sent);
    if (answered.status >= 300) throw new Error(`${sent.path}: ${answered.text}`);
    return answered;
  };
  await done({ method: "PUT", path: "/v1/policies", body: WORKSPACE_POLICIES });
  for (const agent_id of ["a", "b"]) {
    await done({ method: "PUT", path: `/v1/config/${agent_id}`, body: CONFIG });
    await done({ path: "/v1/data/write", body: { agent_id, ...ENTRY } });
    await done({ path: "/v1/data/batch", body: { agent_id, operations: [{ op: "write", ...ENTRY, key: "other" }] } });
    await done({ path: "/v1/data/search", body: { agent_id, query: NUMBER } });
    await done({ path: "/v1/data/query", body: { agent_id, filter: { n: NUMBER } } });
    const { json } = await done({ path: "/v1/checkpoints", body: { agent_id } });
    await done({ method: "PUT", path: `/v1/config/${agent_id}`, body: {} });
    await done({ path: `/v1/config/${agent_id}/rollback`, body: { version: "v1" } });
    await done({ method: "DELETE", path: "/v1/data", query: { agent_id, key: ENTRY.key } });
    await done({ method: "PUT", path: `/v1/config/${agent_id}`, body: {} });
    await done({ path: `/v1/checkpoints/${json.id}/restore`, body: {} });
    await done({ path: "/v1/policies/check", body: { agent_id, ...ENTRY } });
  }
  const sent = { path: "/v1/audit/export", body: { scope: "workspace", format: "ndjson" } };
  trail = (await done(sent)).text;
});
afterAll(() => daemon[Symbol.asyncDispose]());

/** The texts whose digests somebody would try. */
const guesses = [
  ...[
    NUMBER,
    JSON.stringify(NUMBER),
    CONFIG,
    {},
    WORKSPACE_POLICIES,
    { exceptions_from_agents: false, ...WORKSPACE_POLICIES, require_config: false },
  ],
  ...[ENTRY, { ...ENTRY, key: "other" }, ENTRY.metadata].flatMap((one) => [
    one,
    Object.values(one),
    [...Object.values(one)].join(""),
  ]),
].map((one) => (typeof one === "string" ? one : canonicalJson(one)));

test("no digest is of a text that somebody could guess", () => {
  for (const lead of ["", "\0", "\n"])
    for (const guess of guesses) {
      const digest = createHash("sha256")
        .update(lead + guess)
        .digest();
      for (const shown of [digest.toString("hex"), digest.toString("base64"), digest.toString("base64url")])
        expect([guess, trail.includes(shown)]).toEqual([guess, false]);
    }
});

test("equal contents have different digests, unless one is the other that came back", () => {
  const digests = [...trail.matchAll(/"(?:value|config)_digest":"([0-9a-f]{64})"/g)].map(([, digest]) => digest);
  expect(digests.length).toBe(1 + 2 * 7);
  expect(new Set(digests).size).toBe(digests.length);
});

test("a salt is in no export, and is gone with its content", async () => {
  const { client, view } = workspace;
  const saltsOf = (table: string, salt: string) => view.connection.all<[string]>(`SELECT ${salt} FROM ${table}`).flat();
  const salts = [...saltsOf("entries", "lower(hex(salt))"), ...saltsOf("configs", "salt")];
  expect(salts.length).toBeGreaterThan(8);
  for (const salt of salts)
    expect([salt, trail.includes(salt)]).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), false]);
  const query = { agent_id: "a", key: "phone", erase: "true" };
  expect((await client.send({ method: "DELETE", path: "/v1/data", query })).status).toBe(200);
  expect(
    view.connection.value<number>(
      "SELECT count(*) FROM entries e JOIN agents a ON a.first_seq = e.agent WHERE agent_id = 'a' AND key = 'phone'",
    ),
  ).toBe(0);
});

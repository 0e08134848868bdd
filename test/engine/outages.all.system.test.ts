/** What clients see while the libSQL server is down, does not answer, or answers too late. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { namespaceOf } from "../../src/engine-libsql/server-engine.ts";
import { signUp, tokenOf } from "../account/browser.ts";
import { eventually } from "../eventually.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { LIBSQL_SERVER, type LibsqlServer } from "../support/libsql-server.ts";
import { PROCESS_TEST_MS } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS);

/** Expects what says that nothing was done, or that nobody knows, as when the server ends the connection. */
function expectNoAnswer({ status, json }: { status: number; json: { code?: unknown } }): void {
  expect([status, json.code === "unavailable" || json.code === "outcome_unknown"]).toEqual([503, true]);
}

describe.skipIf(LIBSQL_SERVER === null)("while the libSQL server fails", () => {
  let daemon: TestDaemon;
  let server: LibsqlServer;
  let workspace: TestWorkspace;

  beforeAll(async () => {
    daemon = await TestDaemon.start({ engine: "libsql-server" });
    server = daemon.server as LibsqlServer;
    workspace = await daemon.workspace();
  });
  afterAll(() => daemon[Symbol.asyncDispose]());

  const write = (key: string, value: string, headers = {}) =>
    workspace.client.send({ path: "/v1/data/write", body: { agent_id: "a", key, value }, headers });
  const stored = async (key: string) => (await workspace.client.get(`/v1/data/read?agent_id=a&key=${key}`)).json?.value;
  const works = () => eventually("writes succeed again", async () => (await write("probe", "1")).status === 200);
  const verifies = async () =>
    expect((await workspace.client.post("/v1/audit/verify", { scope: "workspace" })).json).toMatchObject({
      valid: true,
    });

  test("a server that is down is unavailable, nothing was written, and it goes on without a restart", async () => {
    await write("k", "before");
    await server.kill();
    const many = await Promise.all([1, 2, 3, 4].map((n) => write("k", `${n}`)));
    for (const answered of many) expect([answered.status, answered.json.code]).toEqual([503, "unavailable"]);
    expect((await write("k", "again")).status).toBe(503);
    await server.restart();
    await works();
    expect(await stored("k")).toBe("before");
    await verifies();
  });

  test("a server that does not answer leaves the outcome unknown, until it does", async () => {
    await write("k", "before");
    await server.freeze();
    const retry = { "idempotency-key": "frozen-1" };
    // That the answers come at all, while the server is frozen, is the daemon's own limit.
    const answered = await write("k", "during", retry);
    expect([answered.status, answered.json.code]).toEqual([503, "outcome_unknown"]);
    expect((await write("other", "1")).status).toBe(503);
    server.resume();
    await works();
    // The node went on until the write was there, once.
    expect(await stored("k")).toBe("during");
    const repeated = await write("k", "during", retry);
    expect([repeated.status, repeated.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
    await verifies();
  });

  test("people are told the same as programs", async () => {
    const { browser } = await signUp(daemon, tokenOf(daemon.signUpUrl));
    const logged = (await daemon.log()).length;
    await server.freeze();
    const { status, json } = await browser.post("/account/workspaces", { name: "during" });
    server.resume();
    expectNoAnswer({ status, json });
    expect(json.detail).not.toContain("disk");
    // As when a program writes: the workspace's thread reports that it could not commit, and nothing else fails, but a seal
    // may have been due.
    const failures = (await daemon.log())
      .slice(logged)
      .split("\n")
      .filter((line) => line.includes("unexpected failure"));
    expect(failures.filter((line) => !/"where":"(commit in|sealing) ws_/.test(line))).toEqual([]);
    await works();
  });

  test("another namespace in the place of a deleted one takes no write, and neither does a deleted one", async () => {
    const moved = await daemon.workspace();
    const namespace = namespaceOf(moved.id);
    const writeTo = (key: string) => moved.client.post("/v1/data/write", { agent_id: "a", key, value: "v" });
    const deletion = () => server.admin("DELETE", `/v1/namespaces/${namespace}`);
    expect((await writeTo("before")).status).toBe(200);
    // The node sends nothing between the two.
    await deletion();
    await server.createNamespace(namespace);
    expectNoAnswer(await writeTo("after"));
    expect((await server.execute(namespace, "SELECT name FROM sqlite_schema")).rows).toEqual([]);
    await deletion();
    expectNoAnswer(await writeTo("later"));
  });
});

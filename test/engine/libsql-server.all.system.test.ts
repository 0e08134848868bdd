/** What governd relies on in the libSQL server, asked of the server itself. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { eventually } from "../eventually.ts";
import { LIBSQL_SERVER, LibsqlServer, type Statement, texts } from "../support/libsql-server.ts";
import { PROCESS_TEST_MS } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS);

describe.skipIf(LIBSQL_SERVER === null)("the libSQL server", () => {
  let server: LibsqlServer;
  beforeAll(async () => {
    server = await LibsqlServer.start();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test("names its version, by which its faults are known", async () => {
    const answered = await server.request("any", "/version");
    expect(await answered.text()).toStartWith("sqld 0.24.32 ");
  });

  test("a namespace is the first label of the host, and exists when it was created", async () => {
    await server.createNamespace("one");
    await server.createNamespace("other");
    await server.execute("one", "CREATE TABLE t (a)");
    await server.execute("one", "INSERT INTO t VALUES (9007199254740993)");
    expect((await server.execute("one", "SELECT a FROM t")).rows).toEqual([
      [{ type: "integer", value: "9007199254740993" }],
    ]);
    await expect(server.execute("other", "SELECT a FROM t")).rejects.toThrow("no such table");
    await expect(server.execute("none", "SELECT 1")).rejects.toThrow("404");
    await expect(server.createNamespace("one")).rejects.toThrow("400");
  });

  test("a namespace is not durable unless it was created so", async () => {
    await server.createNamespace("lax", {});
    await server.createNamespace("strict");
    const modeOf = async (name: string) => {
      const { durability_mode: mode } = (await (await server.admin("GET", `/v1/namespaces/${name}/config`)).json()) as {
        durability_mode: string;
      };
      const [[synchronous] = []] = texts(await server.execute(name, "PRAGMA synchronous"));
      return { mode, synchronous };
    };
    expect(await modeOf("lax")).toEqual({ mode: "relaxed", synchronous: "1" });
    expect(await modeOf("strict")).toEqual({ mode: "strong", synchronous: "2" });
  });

  test("the admin API takes its key as it is, in the scheme basic", async () => {
    const status = async (authorization?: string) =>
      (
        await fetch(`${server.adminUrl}/v1/namespaces/strict/config`, {
          headers: { ...(authorization !== undefined && { authorization }) },
        })
      ).status;
    expect(await status()).toBe(401);
    expect(await status("basic another")).toBe(401);
    expect(await status(`Bearer ${server.adminToken}`)).toBe(401);
    expect(await status(`basic ${server.adminToken}`)).toBe(200);
  });

  test("a token may be for one namespace, for reading, or over", async () => {
    await server.createNamespace("mine");
    await server.createNamespace("theirs");
    await server.execute("mine", "CREATE TABLE t (a)");
    const status = async (namespace: string, token: string, sql = "SELECT 1") => {
      const body = { requests: [{ type: "execute", stmt: { sql } }] };
      return (await server.request(namespace, "/v3/pipeline", body, token)).status;
    };
    const write = "INSERT INTO t VALUES (1)";
    const mine = await server.tokenFor({ id: "mine" });
    expect(await status("mine", mine, write)).toBe(200);
    expect(await status("theirs", mine)).toBe(404);
    const reading = await server.tokenFor({ a: "ro" });
    expect(await status("mine", reading)).toBe(200);
    expect(await status("mine", reading, write)).toBe(403);
    expect(await status("mine", await server.tokenFor({ exp: 1 }))).toBe(401);
    expect(await status("mine", "")).toBe(401);
  });

  /** The guard: it breaks the table's CHECK unless the head is where it is expected. */
  const guarded = (seq: number, hash: string): Statement[] => [
    {
      sql: "UPDATE head SET one = 2 WHERE seq <> ? OR hash <> ?",
      args: [
        { type: "integer", value: String(seq) },
        { type: "text", value: hash },
      ],
    },
    {
      sql: "INSERT INTO events SELECT value ->> 0, value ->> 1 FROM json_each(?)",
      args: [{ type: "text", value: JSON.stringify([0, 1, 2].map((n) => [seq + n + 1, `event ${seq + n + 1}`])) }],
    },
    { sql: `UPDATE head SET seq = ${seq + 3}, hash = 'h${seq + 3}'` },
  ];
  const withHead = async (namespace: string) => {
    await server.createNamespace(namespace);
    await server.execute(
      namespace,
      "CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER, hash TEXT)",
    );
    await server.execute(namespace, "CREATE TABLE events (seq INTEGER PRIMARY KEY, text TEXT)");
    await server.execute(namespace, "INSERT INTO head VALUES (1, 0, 'h0')");
  };
  const stateOf = async (namespace: string) =>
    texts(await server.execute(namespace, "SELECT seq, hash, (SELECT count(*) FROM events) FROM head"))[0];

  test("a guard that does not hold takes the whole batch back, and says so", async () => {
    await withHead("guard");
    const first = await server.transaction("guard", guarded(0, "h0"));
    expect(first.step_errors.every((error) => error === null)).toBe(true);
    expect(await stateOf("guard")).toEqual(["3", "h3", "3"]);
    for (const stale of [guarded(0, "h0"), guarded(3, "another")]) {
      const { step_results, step_errors } = await server.transaction("guard", stale);
      expect(step_errors[1]).toMatchObject({ code: "SQLITE_CONSTRAINT", message: expect.stringContaining("CHECK") });
      // Nothing after the guard ran, but the end of the transaction did.
      expect(step_results.map((result) => result !== null)).toEqual([true, false, false, false, false, true]);
    }
    expect(await stateOf("guard")).toEqual(["3", "h3", "3"]);
  });

  test("of nodes that write at once without asking each other, one commits", async () => {
    await withHead("race");
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => server.transaction("race", guarded(0, "h0"))));
    expect(outcomes.filter(({ step_errors }) => step_errors.every((error) => error === null))).toHaveLength(1);
    expect(await stateOf("race")).toEqual(["3", "h3", "3"]);
  });

  test("what it answered survives its death, and it goes on when it is back", async () => {
    await withHead("death");
    await server.transaction("death", guarded(0, "h0"));
    await server.kill();
    await expect(server.execute("death", "SELECT 1")).rejects.toThrow();
    await server.restart();
    expect(await stateOf("death")).toEqual(["3", "h3", "3"]);
    await server.transaction("death", guarded(3, "h3"));
    expect(await stateOf("death")).toEqual(["6", "h6", "6"]);
  });

  test("a string has as many bytes as its namespace was created for", async () => {
    await server.createNamespace("short");
    await server.createNamespace("long", { durability_mode: "strong", max_row_size: 64_000_000 });
    const sql = "SELECT length(hex(zeroblob(5000000)))";
    await expect(server.execute("short", sql)).rejects.toThrow("too big");
    expect((await server.execute("long", sql)).rows).toEqual([[{ type: "integer", value: "10000000" }]]);
  });

  test("a dump is SQL text of one state, for whoever may read", async () => {
    await server.createNamespace("dumped");
    await server.execute("dumped", "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT, c BLOB)");
    await server.execute("dumped", "INSERT INTO t VALUES (1, 'it''s', x'00ff')");
    const answered = await server.request("dumped", "/dump", undefined, await server.tokenFor({ a: "ro" }));
    expect(await answered.text()).toContain("INSERT INTO t VALUES(1,'it''s',X'00ff');");
  });
});

test.skipIf(LIBSQL_SERVER === null)(
  "beyond its open namespaces, the server at times denies those that exist",
  async () => {
    await using server = await LibsqlServer.start({ maxActiveNamespaces: 2, tokens: false });
    const names = Array.from({ length: 8 }, (_, at) => `ns${at}`);
    for (const name of names) await server.createNamespace(name);
    const denied = async () => {
      const asked = await Promise.all(names.map((name) => server.execute(name, "SELECT 1").catch(String)));
      return asked.some((answered) => String(answered).includes("404"));
    };
    let seen = false;
    for (let round = 0; round < 500 && !seen; round++) seen = await denied();
    expect(seen).toBe(true);
  },
);

test.skipIf(LIBSQL_SERVER === null)("a replica is behind its primary, and comes after it", async () => {
  await using primary = await LibsqlServer.start({ tokens: false });
  await using replica = await LibsqlServer.start({ tokens: false, primary });
  await primary.createNamespace("shared");
  await primary.execute("shared", "CREATE TABLE t (a)");
  await primary.execute("shared", "INSERT INTO t VALUES (1)");
  await eventually("the replica has the row", async () => {
    const { rows } = await replica.execute("shared", "SELECT a FROM t").catch(() => ({ rows: [] }));
    return rows.length === 1;
  });
});

import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import manifest from "../../package.json" with { type: "json" };
import { effort } from "../effort.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { governd, type MadeWorkspace, makeWorkspace } from "./governd.ts";
import { governdProcess } from "./governd-process.ts";

setDefaultTimeout(PROCESS_TEST_MS);

let temporary: ReturnType<typeof temporaryDirectory>;
let data: string;

beforeEach(() => {
  temporary = temporaryDirectory();
  data = temporary.join("data");
});
afterEach(() => temporary[Symbol.dispose]());

const here = (...words: string[]) => governd([...words, "--data-dir", data]);

const newWorkspace = (name = "One") => makeWorkspace(data, name);

describe("the command line", () => {
  test.each([
    [],
    ["serve"],
    ["verify"],
    ["scan"],
    ["workspace"],
    ["workspace", "create"],
    ["workspace", "list"],
    ["key"],
    ["key", "create"],
    ["key", "list"],
    ["key", "revoke"],
    ["version"],
  ])("explains itself: governd %s %s --help", async (...words) => {
    const { code, out, err } = await governd([...words.filter(Boolean), "--help"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toStartWith(["Usage: governd", ...words.filter(Boolean)].join(" "));
  });

  test.each([
    [[], "Usage: governd"],
    [["nonsense"], "unknown command 'nonsense'"],
    [["serve", "--nonsense"], "unknown option '--nonsense'"],
    [["serve", "extra"], "too many arguments"],
    [["workspace", "create"], "required option '--name <name>'"],
    [["key", "create", "--workspace", "w", "--scope", "root"], "Allowed choices are full, agent, auditor"],
    [["key", "create", "--workspace", "w", "--expires", "soon"], "time with a unit"],
    [["key", "revoke"], "missing required argument 'key-id'"],
  ])("refuses %j", async (words, message) => {
    const { code, out, err } = await governd(words);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(message);
  });

  test.each([
    [["version"], 0, "out"],
    [["key", "create", "--workspace", "w"], 2, "err"],
    [["nonsense"], 2, "err"],
  ] as const)("is a process with an exit code and two streams: %j", async (words, code, stream) => {
    const outcome = await governdProcess(words, { cwd: temporary.path });
    expect(outcome.code).toBe(code);
    expect({ out: outcome.out !== "", err: outcome.err !== "" }).toEqual({
      out: stream === "out",
      err: stream === "err",
    });
  });

  test("a failure is JSON on request", async () => {
    const { code, out, err } = await governd(["workspace", "list", "--data-dir", data, "--json"]);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(JSON.parse(err).error).toMatchObject({ code: "data_directory_unusable" });
    const usage = await governd(["key", "list", "--json"]);
    expect(JSON.parse(usage.err)).toEqual({
      error: { code: "usage", message: "required option '--workspace <id>' not specified" },
    });
  });

  test("version", async () => {
    const { version } = manifest;
    expect((await governd(["version"])).out).toBe(`governd ${version}\n`);
    expect((await governd(["version", "--json"])).json()).toEqual({ version });
    expect((await governd(["--version"])).out).toBe(`${version}\n`);
  });

  test("settings come from the environment, too, and mistakes are all named", async () => {
    const { code, err } = await governdProcess(["workspace", "list", "--data-dir", data], {
      env: { GOVERND_THREADS: "x", GOVERND_NO_SUCH: "y" },
    });
    expect(code).toBe(2);
    expect(err).toBe(
      "governd: There are 2 mistakes in the settings:\n" +
        "  GOVERND_NO_SUCH (environment): there is no such setting\n" +
        "  threads (GOVERND_THREADS): must be a whole number\n",
    );
  });

  test("commands work in a pod beside a service called governd", async () => {
    const { code, err } = await governdProcess(["serve", "--print-settings", "--json", "--data-dir", data], {
      env: { GOVERND_SERVICE_HOST: "10.96.0.4", GOVERND_PORT: "tcp://10.96.0.4:443" },
    });
    expect([code, err]).toEqual([0, ""]);
  });

  test.each([
    [["verify", "-"], "evidence"],
    [["verify", "a.db", "-"], "evidence"],
    [["verify", "a.db", "--seal", "-"], "--seal"],
    [["receipt", "-", "--seq", "1"], "export"],
    [["backup", "-"], "dest"],
    [["restore", "-"], "backup"],
    [["scan", "--policies", "-"], "--policies"],
    [["workspace", "list", "--data-dir", "-"], "--data-dir"],
    [["serve", "--config", "-"], "--config"],
    [["data", "export", "-", "--agent", "a", "--api-key-file", "-"], "--api-key-file"],
    [["prune", "--workspace", "w", "--before", "2026-01-01", "--export", "-"], "--export"],
  ])("%p: a - where it is neither input nor output is refused", async (words, what) => {
    const { code, err } = await governd(words);
    expect([code, err]).toEqual([
      2,
      `governd: ${what}: - would be a file of that name. Standard input and output cannot be used here: name a file.\n`,
    ]);
  });

  test("a settings file that was named must be there", async () => {
    const { code, err } = await governd(["serve", "--config", temporary.join("none.toml")]);
    expect(code).toBe(2);
    expect(err).toBe(
      `governd: Cannot read the settings file ${temporary.join("none.toml")}: no such file or directory.\n`,
    );
  });

  test("serve --print-settings shows them and starts nothing", async () => {
    await Bun.write(temporary.join("governd.toml"), 'log_level = "warn"\n');
    const { code, out } = await governdProcess(["serve", "--print-settings", "--threads", "2"], {
      cwd: temporary.path,
    });
    expect(code).toBe(0);
    expect(out).toMatch(/^threads = 2 +# --threads$/m);
    expect(out).toMatch(/^log_level = "warn" +# .*governd\.toml$/m);
    expect(out).toMatch(/^listen = "127\.0\.0\.1:8443" +# default$/m);
    expect(existsSync(temporary.join("governd-data"))).toBe(false);
  });
});

describe("workspaces and keys", () => {
  test("a workspace comes with its first key, before any daemon ran", async () => {
    const made = await here("workspace", "create", "--name", "Büro", "--json");
    expect(made.code).toBe(0);
    const { workspace_id, api_key } = made.json<MadeWorkspace>();
    expect(Object.keys(made.json())).toEqual(["workspace_id", "api_key"]);
    expect(workspace_id).toMatch(/^ws_[0-7][0-9a-hjkmnp-tv-z]{25}$/);
    expect(api_key).toMatch(/^gov_[0-9a-z]{26}_[0-9a-z]{32}_[0-9a-z]{7}$/);
    const list = (await here("workspace", "list", "--json")).json<{ data: unknown[] }>();
    expect(list).toEqual({
      data: [{ workspace_id, name: "Büro", created_at: expect.stringMatching(/Z$/), created_by: "cli" }],
    });
    const keys = await here("key", "list", "--workspace", workspace_id, "--json");
    expect(keys.json<{ data: unknown[] }>().data).toMatchObject([{ label: "first key", scope: "full", agents: null }]);
    expect(keys.out).not.toContain(api_key.slice(4, 36));
  });

  test("a key is made as boundary, listed, and revoked", async () => {
    const { workspace_id } = await newWorkspace();
    const words = ["--label", "CI", "--scope", "agent", "--agent", "a", "--agent", "b", "--network", "10.0.0.0/8"];
    const made = await here("key", "create", "--workspace", workspace_id, ...words, "--expires", "90d", "--json");
    expect(made.code).toBe(0);
    const key = made.json<Record<string, string>>();
    expect(key).toEqual({
      key_id: expect.stringMatching(/^key_/),
      api_key: expect.stringMatching(/^gov_/),
      workspace_id,
      label: "CI",
      scope: "agent",
      agents: ["a", "b"] as never,
      networks: ["10.0.0.0/8"] as never,
      expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    const left = Date.parse(key.expires_at as string) - Date.now();
    expect(Math.abs(left - 90 * 86_400_000)).toBeLessThan(60_000);
    const revoked = await here("key", "revoke", key.key_id as string, "--json");
    expect(revoked.code).toBe(0);
    const again = await here("key", "revoke", key.key_id as string, "--json");
    expect(again.json()).toEqual(revoked.json());
    const { data: keys } = (await here("key", "list", "--workspace", workspace_id, "--json")).json<{
      data: Record<string, unknown>[];
    }>();
    expect(keys).toHaveLength(2);
    expect(keys[1]).toEqual({ ...revoked.json() });
    expect((await here("key", "list", "--workspace", workspace_id)).out).toContain("revoked");
  });

  test("a workspace or a key that does not exist is a failure", async () => {
    await newWorkspace();
    for (const words of [
      ["key", "create", "--workspace", "ws_none"],
      ["key", "list", "--workspace", "../../etc/passwd"],
      ["key", "revoke", "key_none"],
    ]) {
      const { code, out, err } = await here(...words);
      expect({ code, out }).toEqual({ code: 2, out: "" });
      expect(err).toStartWith("governd: There is no such ");
    }
  });

  test("a revocation or a list makes no data directory", async () => {
    for (const words of [
      ["key", "revoke", "key_x"],
      ["workspace", "list"],
      ["key", "create", "--workspace", "w"],
    ]) {
      expect((await here(...words)).code).toBe(2);
      expect(existsSync(data)).toBe(false);
    }
  });

  test.each(["", " ", "a\u0007", "x".repeat(257)])("a workspace cannot be named %j", async (name) => {
    const { code, err } = await here("workspace", "create", "--name", name);
    expect(code).toBe(2);
    expect(err).toStartWith("governd: The name of a workspace must ");
  });

  // These commands seldom collide: most mistakes show in one of ten rounds.
  const rounds = Array.from({ length: effort({ usual: 2, long: 30 }) }, (_, i) => i + 1);
  test.each(rounds)("many first commands at once share one data directory: round %d", async () => {
    const create = (i: number) =>
      governdProcess(["workspace", "create", "--name", `W${i}`, "--json", "--data-dir", data]);
    const outcomes = await Promise.all(Array.from({ length: 6 }, (_, i) => create(i)));
    expect(outcomes.map(({ code, err }) => ({ code, err: err.includes("error") ? err : "" }))).toEqual(
      outcomes.map(() => ({ code: 0, err: "" })),
    );
    expect(new Set(outcomes.map((outcome) => outcome.json<MadeWorkspace>().workspace_id)).size).toBe(6);
    const list = (await here("workspace", "list", "--json")).json<{ data: unknown[] }>();
    expect(list.data).toHaveLength(6);
  });
});

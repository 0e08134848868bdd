/** An encrypted data directory, from its first command to a daemon, other keys, and back. */
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { governd, makeWorkspace } from "./governd.ts";
import { governdProcess, startGovernd } from "./governd-process.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const KEY = Buffer.alloc(32, 0xc3).toString("hex");
const OTHER = Buffer.alloc(32, 0x3c).toString("base64");
const NEEDLE = "needle-in-the-haystack";

let temporary: ReturnType<typeof temporaryDirectory>;
let data: string;
let key: string;
let other: string;

beforeEach(() => {
  temporary = temporaryDirectory();
  data = temporary.join("data");
  key = temporary.join("key");
  other = temporary.join("other");
  writeFileSync(key, KEY);
  writeFileSync(other, OTHER);
});
afterEach(() => temporary[Symbol.dispose]());

const withKey = (...words: string[]) => governd([...words, "--data-dir", data, "--encryption-key-file", key]);
const files = () =>
  readdirSync(data, { recursive: true, encoding: "utf8" })
    .map((name) => `${data}/${name}`)
    .filter((path) => statSync(path).isFile());
const holding = (text: string) => files().filter((path) => readFileSync(path).includes(text));
const digest = () =>
  files()
    .filter((path) => path.endsWith(".db"))
    .map((path) => createHash("sha256").update(readFileSync(path)).digest("hex"));

const newWorkspace = () => makeWorkspace(data, NEEDLE, ["--encryption-key-file", key]);

describe("an encrypted data directory", () => {
  test("serves, holds nothing readable, and shows the key nowhere", async () => {
    const { api_key: apiKey, workspace_id: id } = await newWorkspace();
    await using daemon = await startGovernd(data, ["--encryption-key-file", key, "--log-level", "debug"]);
    const json = (body: object) => ({ method: "POST", body: JSON.stringify(body), apiKey });
    const written = await daemon.ask(
      "/v1/data/write",
      json({ agent_id: "alpha", key: NEEDLE, value: `${NEEDLE} value` }),
    );
    expect(written.status).toBe(200);
    const found = await daemon.ask("/v1/data/search", json({ agent_id: "alpha", query: NEEDLE, limit: 3 }));
    expect(await found.text()).toContain(NEEDLE);
    expect((await daemon.ask("/v1/audit/export", json({ scope: "workspace", format: "ndjson" }))).status).toBe(200);
    expect(holding(NEEDLE)).toEqual([]);
    // Beside the running daemon, while the file has a write-ahead log.
    expect(await governd(["verify", data, "--encryption-key-file", key])).toMatchObject({ code: 0 });
    expect(await withKey("workspace", "list")).toMatchObject({ code: 0 });
    expect(await withKey("key-info")).toMatchObject({ code: 0 });
    const erased = await withKey("erase", "--workspace", id, "--agent", "alpha", "--key", NEEDLE);
    expect(erased).toMatchObject({ code: 0 });
    const { err } = await daemon.stop();
    expect(err).not.toContain(KEY);
    expect(holding(NEEDLE)).toEqual([]);
    const settings = await withKey("serve", "--print-settings");
    expect(settings.out).toContain(`encryption_key_file = "${key}"`);
    expect(settings.out).not.toContain(KEY);
  });

  test.each([
    ["no key", [], "is encrypted, and no key was given"],
    ["another key", ["--encryption-key-file", "OTHER"], "does not open with this key"],
  ])("with %s nothing runs and nothing changes", async (_, words, message) => {
    const { workspace_id: id } = await newWorkspace();
    const before = digest();
    const flags = words.map((word) => (word === "OTHER" ? other : word));
    for (const command of [
      ["serve", "--listen", "127.0.0.1:0"],
      ["workspace", "list"],
      ["workspace", "create", "--name", "x"],
      ["key", "list", "--workspace", id],
      ["key", "create", "--workspace", id],
      ["account", "list"],
      ["key-info"],
      ["erase", "--workspace", id, "--agent", "a", "--key", "k"],
      ["prune", "--workspace", id, "--before", "2026-01-01"],
    ]) {
      // A daemon handles signals, which the process of the tests must not do.
      const run = command[0] === "serve" ? governdProcess : governd;
      const { code, out, err } = await run([...command, "--data-dir", data, ...flags]);
      expect({ command, code, out }).toEqual({ command, code: 2, out: "" });
      expect(err).toContain(message);
      expect(err.split("\n")).toHaveLength(2);
    }
    for (const evidence of [data, `${data}/workspaces/${id}.db`]) {
      const { code, out } = await governd(["verify", evidence, ...flags]);
      expect(code).toBe(2);
      expect(out).toContain(message);
    }
    expect(digest()).toEqual(before);
  });

  test("a plain one is refused with a key, encrypted, given another key, and decrypted", async () => {
    const plain = (...words: string[]) => governd([...words, "--data-dir", data]);
    expect(await plain("workspace", "create", "--name", NEEDLE)).toMatchObject({ code: 0 });
    expect(holding(NEEDLE).length).toBeGreaterThan(1);
    const refused = await withKey("workspace", "list");
    expect(refused).toMatchObject({ code: 2, out: "" });
    expect(refused.err).toContain("`governd rekey`");

    expect((await plain("rekey", "--new-key", key, "--json")).json()).toEqual({ rewritten: 2, already: 0, failed: [] });
    expect(holding(NEEDLE)).toEqual([]);
    expect(await governd(["verify", data, "--encryption-key-file", key])).toMatchObject({ code: 0 });
    expect((await plain("rekey", "--new-key", key, "--json")).json()).toMatchObject({ rewritten: 0, already: 2 });
    expect((await withKey("rekey", "--new-key", other, "--json")).json()).toMatchObject({ rewritten: 2 });
    expect(await withKey("workspace", "list")).toMatchObject({ code: 2 });
    const lost = await plain("rekey", "--decrypt", "--json");
    expect(lost.code).toBe(2);
    expect(lost.json<{ failed: unknown[] }>().failed).toHaveLength(2);
    const back = await plain("rekey", "--decrypt", "--encryption-key-file", other, "--json");
    expect(back.json()).toMatchObject({ rewritten: 2 });
    expect(await governd(["verify", data])).toMatchObject({ code: 0 });
  });

  test("keys are not changed under a running daemon, nor without saying to what", async () => {
    await newWorkspace();
    await using daemon = await startGovernd(data, ["--encryption-key-file", key]);
    expect((await withKey("rekey", "--new-key", other)).err).toContain("in use by another running governd");
    expect((await withKey("rekey")).err).toContain("--new-key FILE or --decrypt");
    expect((await daemon.ask("/readyz")).status).toBe(200);
  });
});

test("a backup of an encrypted data directory is encrypted with the same key, and so is what is restored", async () => {
  const { workspace_id: id } = await newWorkspace();
  const backups = temporary.join("backups");
  const made = await withKey("backup", backups, "--json");
  expect(made).toMatchObject({ code: 0 });
  const { path } = made.json<{ path: string }>();
  expect(readFileSync(`${path}/workspaces/${id}.db`).includes(NEEDLE)).toBe(false);
  const restored = temporary.join("restored");
  const restore = (...flags: string[]) => governd(["restore", "--keep-rights", path, "--data-dir", restored, ...flags]);
  expect((await restore()).code).toBe(2);
  expect((await restore("--encryption-key-file", other)).err).toContain("does not open with this key");
  expect(await restore("--encryption-key-file", key)).toMatchObject({ code: 0 });
  expect(await governd(["verify", restored, "--encryption-key-file", key])).toMatchObject({ code: 0 });
  expect(await withKey("check")).toMatchObject({ code: 0 });
  expect((await governd(["check", "--data-dir", data])).code).not.toBe(0);
  expect(await governd(["backup", backups, "--data-dir", data])).toMatchObject({ code: 2 });
});

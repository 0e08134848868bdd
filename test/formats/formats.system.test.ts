/** Data directories of every release are opened, verified, read and written by this program. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { CONTROL_MIGRATIONS } from "../../src/control/database.ts";
import { dataDirectory } from "../../src/datadir/layout.ts";
import { openConnection } from "../../src/store/connection.ts";
import { copiesBeforeMigration, schemaVersion } from "../../src/store/migrate.ts";
import { VERSION } from "../../src/version.ts";
import { WORKSPACE_MIGRATIONS } from "../../src/workspace/file.ts";
import { governd } from "../cli/governd.ts";
import { startGovernd } from "../cli/governd-process.ts";
import { PROCESS_TEST_MS, type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";
import { sealPem } from "./seal-pem.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const MAX_BYTES = 300_000;
const VERSIONS = readdirSync(import.meta.dir, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

function restored(version: string, directory: TemporaryDirectory): string {
  const root = directory.join("data");
  cpSync(join(import.meta.dir, version), root, { recursive: true });
  for (const name of readdirSync(root, { recursive: true }) as string[]) {
    if (!name.endsWith(".gz")) continue;
    const packed = join(root, name);
    writeFileSync(packed.slice(0, -".gz".length), gunzipSync(readFileSync(packed)), { mode: 0o600 });
    rmSync(packed);
  }
  for (const path of [root, join(root, "workspaces"), join(root, "seals")]) chmodSync(path, 0o700);
  for (const name of readdirSync(join(root, "seals"))) chmodSync(join(root, "seals", name), 0o600);
  for (const folder of ["keys", "tls"]) mkdirSync(join(root, folder), { recursive: true, mode: 0o700 });
  writeFileSync(join(root, "keys/seal.key"), sealPem().pem, { mode: 0o600 });
  return root;
}

/** Removes the key that `make.ts` put into the control database: unlike a key of governd, it has no event. */
function withoutInsertedKey(root: string): string {
  using connection = openConnection(dataDirectory(root).control);
  connection.exec("DELETE FROM api_keys");
  connection.truncateLog();
  return root;
}

function versionOf(path: string): number {
  const connection = openConnection(path, { readOnly: true });
  try {
    return schemaVersion(connection);
  } finally {
    connection.close();
  }
}

test("this version's directory is kept, too", () => {
  expect(VERSIONS).toContain(VERSION);
});

describe.each(VERSIONS)("the data directory of %s", (version) => {
  test("is small", () => {
    const files = readdirSync(join(import.meta.dir, version), { recursive: true }) as string[];
    const bytes = files.reduce((sum, name) => sum + statSync(join(import.meta.dir, version, name)).size, 0);
    expect(bytes).toBeLessThan(MAX_BYTES);
  });

  test("verifies as it is, with its key", async () => {
    using directory = temporaryDirectory();
    const root = restored(version, directory);
    const words = ["verify", root, "--public-key", sealPem().publicPem];
    const inserted = await governd([...words, "--json"]);
    const { sources } = inserted.json<{ sources: { problems: { code: string }[] }[] }>();
    expect(sources.flatMap(({ problems }) => problems.map(({ code }) => code))).toEqual(["key_added"]);
    withoutInsertedKey(root);
    const { code, out } = await governd(words);
    expect([code, out]).toEqual([0, expect.stringContaining("Verified: every hash, link, seal")]);
  });

  test("is upgraded, served, written and verified again", async () => {
    using directory = temporaryDirectory();
    const root = withoutInsertedKey(restored(version, directory));
    const data = dataDirectory(root);
    const [name] = readdirSync(data.workspaces) as [string];
    const [id, file] = [name.slice(0, -3), join(data.workspaces, name)];
    const before = { control: versionOf(data.control), workspace: versionOf(file) };
    const made = await governd(["key", "create", "--workspace", id, "--data-dir", root, "--json"]);
    expect([made.code, made.err]).toEqual([0, ""]);
    const apiKey = made.json<{ api_key: string }>().api_key;
    await using daemon = await startGovernd(root);
    const get = async (path: string) => (await daemon.ask(path, { apiKey })).json() as Promise<Record<string, unknown>>;
    expect((await get("/v1/data/read?agent_id=support-bot&key=greeting")).value).toBe("Hello");
    expect((await get("/v1/data/read?agent_id=support-bot&key=many/3")).value).toBe("276");
    const body = JSON.stringify({ agent_id: "support-bot", key: "new", value: "written by the newer one" });
    expect((await daemon.ask("/v1/data/write", { method: "POST", body, apiKey })).status).toBe(200);
    await daemon.stop();
    expect([versionOf(data.control), versionOf(file)]).toEqual([
      CONTROL_MIGRATIONS.length,
      WORKSPACE_MIGRATIONS.length,
    ]);
    expect(copiesBeforeMigration(data.control).length).toBe(before.control < CONTROL_MIGRATIONS.length ? 1 : 0);
    expect(copiesBeforeMigration(file).length).toBe(before.workspace < WORKSPACE_MIGRATIONS.length ? 1 : 0);
    const { code } = await governd(["verify", root, "--public-key", sealPem().publicPem]);
    expect(code).toBe(0);
    expect((await governd(["check", "--data-dir", root])).code).toBe(0);
  });
});

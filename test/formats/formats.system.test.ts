/** Data directories of every release are opened, verified, read and written by this program. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { dataDirectory } from "../../src/core/datadir/layout.ts";
import { WORKSPACE_SCHEMA } from "../../src/core/writer/file.ts";
import { openConnection } from "../../src/store/connection.ts";
import { copiesBeforeMigration, schemaVersion } from "../../src/store/migrate.ts";
import { VERSION } from "../../src/version.ts";
import { governd } from "../cli/governd.ts";
import { startGovernd } from "../cli/governd-process.ts";
import { PROCESS_TEST_MS, type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";
import { HAS_PYTHON, SecondVerifier } from "../verify/second-verifier.ts";
import { unpack } from "./packing.ts";
import { sealPem } from "./seal-pem.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const python = new SecondVerifier();
afterAll(() => python[Symbol.asyncDispose]());
const MAX_BYTES = 300_000;
const VERSIONS = readdirSync(import.meta.dir, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

const restored = (version: string, directory: TemporaryDirectory): string =>
  unpack(join(import.meta.dir, version), directory.join("data"));

function versionOf(path: string): number {
  const connection = openConnection(path, { readOnly: true });
  try {
    return schemaVersion(connection);
  } finally {
    connection.close();
  }
}

test("this version's directories are kept, too", () => {
  expect(VERSIONS).toEqual(expect.arrayContaining([VERSION, `${VERSION}-restored`]));
});

describe.each(VERSIONS)("the data directory of %s", (version) => {
  const isRestored = version.endsWith("-restored");
  test("is small", () => {
    const files = readdirSync(join(import.meta.dir, version), { recursive: true }) as string[];
    const bytes = files.reduce((sum, name) => sum + statSync(join(import.meta.dir, version, name)).size, 0);
    expect(bytes).toBeLessThan(MAX_BYTES);
  });

  test("verifies as it is, with its key", async () => {
    using directory = temporaryDirectory();
    const root = restored(version, directory);
    const words = ["verify", root, "--public-key", sealPem().publicPem];
    const { code, out } = await governd(words);
    expect([code, out]).toEqual([0, expect.stringContaining("Verified: every hash, link, seal")]);
  });

  test.skipIf(!isRestored)("shows its epoch in both programs", async () => {
    using directory = temporaryDirectory();
    const root = restored(version, directory);
    const [name] = readdirSync(dataDirectory(root).workspaces).sort() as [string];
    const file = join(dataDirectory(root).workspaces, name);
    const { out } = await governd(["verify", file, "--public-key", sealPem().publicPem, "--json"]);
    const [{ restores }] = JSON.parse(out).sources;
    const origin = `formats.example/${name.slice(0, -3)}/${restores[0].epoch}`;
    expect(restores).toMatchObject([{ epoch: 177009150601063, origin, lost_through: 298 }]);
    for (const words of HAS_PYTHON ? [[], ["--public-key", sealPem().publicPem]] : []) {
      const { code, out } = await python.run(...words, file);
      expect([code, out]).toEqual([0, expect.stringContaining(`from there on sealed as ${origin}`)]);
    }
  });

  test("is upgraded, served, written and verified again", async () => {
    using directory = temporaryDirectory();
    const root = restored(version, directory);
    const data = dataDirectory(root);
    const [name] = readdirSync(data.workspaces).sort() as [string];
    const [id, file] = [name.slice(0, -3), join(data.workspaces, name)];
    const before = versionOf(file);
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
    expect(versionOf(file)).toBe(WORKSPACE_SCHEMA);
    expect(copiesBeforeMigration(file).length).toBe(before < WORKSPACE_SCHEMA ? 1 : 0);
    const { code } = await governd(["verify", root, "--public-key", sealPem().publicPem]);
    expect(code).toBe(0);
    expect((await governd(["check", "--data-dir", root])).code).toBe(0);
  });
});

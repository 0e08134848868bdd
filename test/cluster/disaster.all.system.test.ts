/** The disk of a libSQL server is lost, and an older copy is left: what docs/scaling.md says to do, with real processes. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { governdProcess, type RunningDaemon, startGovernd } from "../cli/governd-process.ts";
import { eventually } from "../eventually.ts";
import { Client } from "../support/client.ts";
import { LIBSQL_SERVER, LibsqlServer } from "../support/libsql-server.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";

setDefaultTimeout(4 * PROCESS_TEST_MS);

/** Events that were acknowledged, and that the copy lacks. */
const LOST = 3;

/** The settings of a server, as words. */
const serverWords = ({ url, token, adminUrl, adminToken }: LibsqlServer): string[] => [
  ...["--engine", "libsql-server", "--engine-url", url, ...(token === "" ? [] : ["--engine-auth-token", token])],
  ...["--engine-admin-url", adminUrl, "--engine-admin-token", adminToken as string],
];

/** Runs a command, which must succeed. */
async function done(...words: string[]): Promise<string> {
  const { code, out, err } = await governdProcess(words);
  expect({ words: words[0], code, err: code === 0 ? "" : err }).toEqual({ words: words[0], code: 0, err: "" });
  return out;
}

const clientOf = (node: RunningDaemon, apiKey: string) =>
  new Client(node.url, readFileSync(node.ready.ca_file as string, "utf8"), apiKey);

test.skipIf(LIBSQL_SERVER === null)(
  "what is left of it is a declared restore: a new epoch, which verifies",
  async () => {
    using directory = temporaryDirectory();
    const lost = await LibsqlServer.start();
    await using _lost = lost;
    const old = directory.join("node1");
    let node = await startGovernd(old, serverWords(lost));
    const made = JSON.parse(
      await done("workspace", "create", "--name", "w", "--json", "--data-dir", old, ...serverWords(lost)),
    );
    const { api_key: apiKey } = made as { api_key: string };
    const write = (key: string) =>
      clientOf(node, apiKey).post("/v1/data/write", { agent_id: "a", key, value: `value of ${key}` });
    for (let at = 0; at < 5; at++) expect((await write(`kept-${at}`)).status).toBe(200);
    // The copy of its disk that will be left.
    const volume = directory.join("volume");
    await lost.kill();
    cpSync(lost.dataDir, volume, { recursive: true });
    await lost.restart();
    await eventually("the node goes on", async () => (await clientOf(node, apiKey).get("/v1/agents")).status === 200);
    for (let at = 0; at < LOST; at++) expect((await write(`lost-${at}`)).status).toBe(200);
    // The seals of the node are newer than the copy.
    await node.stop();
    await lost.kill();
    rmSync(lost.dataDir, { recursive: true });
    cpSync(volume, lost.dataDir, { recursive: true });
    await lost.restart();

    // 2. What there is of it is read into a new data directory.
    const found = directory.join("found");
    await done("verify", lost.url, "--engine-auth-token", lost.token, "--keep", found);

    // 3. The restore is declared.
    const [backups, declared] = [directory.join("backups"), directory.join("declared")];
    mkdirSync(backups);
    const backup = JSON.parse(await done("backup", backups, "--json", "--data-dir", found));
    await done("restore", "--keep-rights", backup.path, "--data-dir", declared, "--seals", old);

    // 4. It is brought to an empty server, whose nodes have new data directories.
    await using server = await LibsqlServer.start();
    await done("migrate", "--to", server.url, "--data-dir", declared, ...serverWords(server).slice(4));
    const next = directory.join("node2");
    mkdirSync(join(next, "keys"), { recursive: true, mode: 0o700 });
    cpSync(join(old, "keys", "seal.key"), join(next, "keys", "seal.key"));
    node = await startGovernd(next, serverWords(server));
    await using _ = node;
    const client = clientOf(node, apiKey);
    const read = async (key: string) => (await client.get(`/v1/data/read?agent_id=a&key=${key}`)).status;
    expect([await read("kept-4"), await read("lost-0")]).toEqual([200, 404]);
    expect((await write("after")).status).toBe(200);
    const { code, out } = await governdProcess(["verify", server.url, "--engine-auth-token", server.token]);
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/restored .* from a backup of .* events \d+ to \d+ are known to be lost/),
    ]);
  },
);

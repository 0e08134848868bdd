/** The sealing key is replaced at its age, and no workspace is ever without a key that works. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { dataDirectory, presentWorkspaces, workspaceFile } from "../../src/core/datadir/layout.ts";
import { isInterrupted, newSealKey, nextKeyFile, oldKeyFile } from "../../src/core/datadir/seal-key.ts";
import { sealingKey } from "../../src/core/rows/log/seals.ts";
import { SealKeyring } from "../../src/core/seals/keyring.ts";
import { systemClock } from "../../src/ids.ts";
import { parseVerifierKey } from "../../src/log/note.ts";
import { fileJournal } from "../../src/ops/directory/journal.ts";
import { openConnection } from "../../src/store/connection.ts";
import { governd } from "../cli/governd.ts";
import { GOVERND } from "../cli/governd-process.ts";
import { effort } from "../effort.ts";
import { eventually } from "../eventually.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { exampleDetails } from "../support/event-examples.ts";
import { temporaryDirectory } from "../temporary.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** Lets the key look older. */
function age(path: string, days: number): void {
  const time = new Date(systemClock() - days * DAY_MS);
  utimesSync(path, time, time);
}

/** Sends to the daemon as it listens now. */
const clientOf = (daemon: TestDaemon, { id }: TestWorkspace) => daemon.clientWith(id, { scope: "full" });

const keyOf = async (daemon: TestDaemon, workspace: TestWorkspace) =>
  (await (await clientOf(daemon, workspace)).send({ path: "/v1/audit/key" })).json;

/** Every workspace names a key that is at hand. */
async function requireKeys(root: string): Promise<void> {
  const directory = dataDirectory(root);
  for (const id of presentWorkspaces(directory)) {
    using connection = openConnection(workspaceFile(directory, id), { readOnly: true });
    const named = parseVerifierKey((await sealingKey(connection)) ?? "");
    const keyring = new SealKeyring({ kind: "file", path: directory.sealKey });
    expect(keyring.find(named.publicKey)?.publicBytes).toEqual(named.publicKey);
  }
}

test("the daemon replaces the key at its age, and destroys the old one", async () => {
  await using daemon = await TestDaemon.start({ flags: { seal_key_lifetime: "30d", seal_interval: "1s" } });
  const directory = dataDirectory(daemon.dataDir);
  const workspaces = [await daemon.workspace(), await daemon.workspace()] as const;
  const [workspace] = workspaces;
  await workspace.client.write("a", "k", "before");
  const first = join(daemon.dataDir, "first.pub");
  writeFileSync(first, readFileSync(directory.sealPublicKey));
  const oldPem = readFileSync(directory.sealKey, "utf8");
  age(directory.sealKey, 29);
  await daemon.restart();
  expect((await keyOf(daemon, workspace)).earlier).toHaveLength(0);
  age(directory.sealKey, 31);
  await daemon.restart();
  await eventually("the key is replaced", async () => (await daemon.log()).includes("the sealing key was replaced"));
  expect(isInterrupted(directory)).toBe(false);
  expect(readFileSync(directory.sealKey, "utf8")).not.toBe(oldPem);
  expect(statSync(directory.sealKey).mode & 0o777).toBe(0o600);
  for (const one of workspaces) {
    const { earlier, public_key } = await keyOf(daemon, one);
    expect([earlier.length, public_key]).toEqual([1, readFileSync(directory.sealPublicKey, "utf8")]);
  }
  const client = await clientOf(daemon, workspace);
  const written = await client.write("a", "k", "after");
  const receipt = join(daemon.dataDir, "receipt.txt");
  writeFileSync(receipt, (await client.send({ path: `/v1/audit/${written.json.audit_id}/receipt` })).text);
  for (const evidence of [receipt, workspaceFile(directory, workspace.id)]) {
    expect((await governd(["verify", evidence, "--public-key", first])).code).toBe(0);
  }
  // It is not due again.
  await daemon.restart();
  expect((await keyOf(daemon, workspace)).earlier).toHaveLength(1);
});

test("a key whose file has a time that has not come is replaced once, since its age is not known", async () => {
  await using daemon = await TestDaemon.start({ flags: { seal_key_lifetime: "30d", seal_interval: "1s" } });
  const directory = dataDirectory(daemon.dataDir);
  const workspace = await daemon.workspace();
  age(directory.sealKey, -40);
  await daemon.restart();
  await eventually("the key is replaced", async () => (await daemon.log()).includes("the sealing key was replaced"));
  expect(await daemon.log()).toContain("has a time that has not come");
  await daemon.restart();
  expect((await keyOf(daemon, workspace)).earlier).toHaveLength(1);
});

test("a key that is kept outside is not replaced: the setting is refused", async () => {
  const { code, err } = await governd(["serve", "--seal-key", "/etc/seal.key", "--seal-key-lifetime", "30d"]);
  expect(code).not.toBe(0);
  expect(err).toContain("cannot be used, since seal_key (--seal-key) keeps the key outside the data directory");
});

test(
  "a rotation that is killed leaves every workspace a key that works, and is finished by the next start",
  async () => {
    await using daemon = await TestDaemon.start({ flags: { seal_interval: "1s" } });
    const directory = dataDirectory(daemon.dataDir);
    const workspaces: TestWorkspace[] = [];
    for (let index = 0; index < 6; index++) workspaces.push(await daemon.workspace());
    const first = join(daemon.dataDir, "first.pub");
    writeFileSync(first, readFileSync(directory.sealPublicKey));
    const states = new Set<string>();
    for (let round = 0; round < effort({ usual: 8, long: 60 }); round++) {
      const child = Bun.spawn([...GOVERND, "rotate-seal-key", "--data-dir", daemon.dataDir], {
        env: {},
        stdout: "ignore",
        stderr: "ignore",
      });
      await eventually("the rotation begins", () => isInterrupted(directory) || child.exitCode !== null);
      await Bun.sleep((round * 61) % 480);
      child.kill("SIGKILL");
      await child.exited;
      states.add([nextKeyFile, oldKeyFile].map((file) => existsSync(file(directory.sealKey))).join());
      await requireKeys(daemon.dataDir);
      // The running daemon still seals.
      for (const { client } of workspaces) {
        const { json } = await client.write("a", "k", `round ${round}`);
        const proved = await client.send({ path: `/v1/audit/${json.audit_id}`, query: { proof: true } });
        expect(proved.json.proof).not.toBeNull();
      }
    }
    expect([...states].some((state) => state.includes("true"))).toBe(true);
    // The key that a killed rotation chose stays: logs may name it.
    if (!isInterrupted(directory)) writeFileSync(nextKeyFile(directory.sealKey), newSealKey(), { mode: 0o600 });
    await daemon.restart();
    await eventually("the rotation is finished", () => !isInterrupted(directory));
    await eventually("it is logged", async () => (await daemon.log()).includes("the sealing key was replaced"));
    for (const workspace of workspaces) {
      expect((await keyOf(daemon, workspace)).public_key).toBe(readFileSync(directory.sealPublicKey, "utf8"));
    }
    expect((await governd(["verify", daemon.dataDir, "--public-key", first])).code).toBe(0);
  },
  PROCESS_TEST_MS,
);

test("a workspace that was created while the rotation ended names the new key", async () => {
  using temporary = temporaryDirectory();
  const root = join(temporary.path, "data");
  expect((await governd(["workspace", "create", "--name", "one", "--data-dir", root])).code).toBe(0);
  const directory = dataDirectory(root);
  const id = "ws_01h455vb4pex5vsknk084sn02q";
  // The key is another one when it is read again.
  const before = readFileSync(directory.sealKey, "utf8");
  let reads = 0;
  const key = {
    kind: "pem" as const,
    get pem() {
      reads += 1;
      return reads <= 1 ? before : readFileSync(directory.sealKey, "utf8");
    },
  };
  writeFileSync(directory.sealKey, newSealKey());
  const event = {
    id: "aud_01h455vb4pex5vsknk084sn02q",
    actor: "cli",
    operation: "key.create",
    details: exampleDetails("key.create"),
  } as const;
  await fileJournal(directory, { key }).create({ id, name: "late", actor: "cli" }, event);
  using connection = openConnection(workspaceFile(directory, id), { readOnly: true });
  const named = parseVerifierKey((await sealingKey(connection)) ?? "");
  expect(new SealKeyring({ kind: "file", path: directory.sealKey }).find(named.publicKey)).not.toBeNull();
});

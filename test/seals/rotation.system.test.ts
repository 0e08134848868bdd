/** A new sealing key: announced by the old one, followed by verification, kept by who runs the daemon. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newSealKey } from "../../src/core/datadir/seal-key.ts";
import { parseVerifierKey } from "../../src/log/note.ts";
import { checkSeal, parseSeal } from "../../src/log/seal.ts";
import { governd } from "../cli/governd.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";

let daemon: TestDaemon;
let workspace: TestWorkspace;
let other: TestWorkspace;
beforeAll(async () => {
  daemon = await TestDaemon.start({ flags: { seal_interval: "1s" } });
  workspace = await daemon.workspace();
  other = await daemon.workspace();
});
afterAll(() => daemon[Symbol.asyncDispose]());

/** Runs a command beside the daemon; its result, or its error, is JSON. */
async function command(...words: string[]) {
  const { code, out, err } = await governd([...words, "--json"]);
  return { exit: code, json: JSON.parse(out || err || "null") };
}

const keyOf = async ({ client }: TestWorkspace) => (await client.send({ path: "/v1/audit/key" })).json;
const raw = (verifierKey: string): Uint8Array => parseVerifierKey(verifierKey).publicKey;

test("the old key announces the new one, and a running daemon uses it", async () => {
  const before = await keyOf(workspace);
  const oldPublicKey = join(daemon.dataDir, "old.pub");
  writeFileSync(oldPublicKey, before.public_key);
  await workspace.client.write("a", "k", "before");
  const rotated = await command("rotate-seal-key", "--data-dir", daemon.dataDir);
  // Both workspaces, and the log of the installation.
  expect(rotated).toMatchObject({ exit: 0, json: { announced: 3 } });
  const after = await keyOf(workspace);
  expect(after.fingerprint).toBe(rotated.json.fingerprint);
  expect(after.earlier).toEqual([expect.objectContaining({ fingerprint: before.fingerprint, announced_seq: 0 })]);
  expect(after.origin).toBe(before.origin);
  expect(readFileSync(join(daemon.dataDir, "keys", "seal.pub"), "utf8")).toBe(rotated.json.public_key);
  expect(existsSync(join(daemon.dataDir, "keys", "seal.key.next"))).toBe(false);

  // The last seal of the old key covers the announcement.
  const announcement = parseSeal((await workspace.client.send({ path: "/v1/audit/seal" })).text);
  expect(announcement.size).toBe(after.announced_seq + 1);
  expect(checkSeal(announcement, raw(before.verifier_key))).toBe("good");

  const written = await workspace.client.write("a", "k", "after");
  const { proof } = (
    await workspace.client.send({ path: `/v1/audit/${written.json.audit_id}`, query: { proof: true } })
  ).json;
  expect(checkSeal(parseSeal(proof.seal), raw(after.verifier_key))).toBe("good");
  await workspace.client.write("a", "k", "and on");

  const file = join(daemon.dataDir, "workspaces", `${workspace.id}.db`);
  const newPublicKey = join(daemon.dataDir, "keys", "seal.pub");
  for (const key of [oldPublicKey, newPublicKey]) {
    const { exit, json } = await command("verify", file, "--public-key", key);
    expect([exit, json.sources[0].problems]).toEqual([0, []]);
    expect(json.sources[0].sealed_through).toBeGreaterThanOrEqual(parseSeal(proof.seal).size - 1);
  }
});

test("a key that is not this log's, or is no key, establishes nothing; one of several keys is enough", async () => {
  const file = join(daemon.dataDir, "workspaces", `${workspace.id}.db`);
  const right = join(daemon.dataDir, "keys", "seal.pub");
  const { fingerprint } = await keyOf(workspace);
  const foreign = "ab".repeat(32);
  for (const [keys, words] of [
    [[foreign], "does not lead to the key that sealed this log"],
    [[fingerprint], "is the fingerprint of this log's key"],
  ] as const) {
    const { exit, json } = await command("verify", file, ...keys.flatMap((key) => ["--public-key", key]));
    expect([exit, json.verdict]).toEqual([2, "undetermined"]);
    expect(json.sources[0].problems[0].message).toContain(words);
  }
  for (const keys of [
    [foreign, right],
    [right, foreign],
  ]) {
    const { exit } = await command("verify", file, ...keys.flatMap((key) => ["--public-key", key]));
    expect(exit).toBe(0);
  }
});

test("a workspace made afterwards names the new key; rotating again works", async () => {
  const made = await daemon.workspace();
  expect((await keyOf(made)).fingerprint).toBe((await keyOf(other)).fingerprint);
  const rotated = await command("rotate-seal-key", "--data-dir", daemon.dataDir);
  expect(rotated.json.announced).toBe(4);
  expect((await keyOf(other)).earlier).toHaveLength(2);
  const info = await command("key-info", "--data-dir", daemon.dataDir);
  expect(info.json.fingerprint).toBe(rotated.json.fingerprint);
  expect(info.json.workspaces.every(({ current }: { current: boolean }) => current)).toBe(true);
});

test("an interrupted rotation resumes", async () => {
  const next = newSealKey();
  writeFileSync(join(daemon.dataDir, "keys", "seal.key.next"), next, { mode: 0o600 });
  const rotated = await command("rotate-seal-key", "--data-dir", daemon.dataDir);
  expect(rotated).toMatchObject({ exit: 0, json: { announced: 4 } });
  expect(readFileSync(join(daemon.dataDir, "keys", "seal.key"), "utf8")).toBe(next);
});

test("--new-key belongs to a key that is kept elsewhere", async () => {
  const file = join(daemon.dataDir, "elsewhere.key");
  writeFileSync(file, newSealKey());
  const refused = await command("rotate-seal-key", "--data-dir", daemon.dataDir, "--new-key", file);
  expect([refused.exit, refused.json.error.code]).toEqual([2, "usage"]);
  const external = await command("rotate-seal-key", "--data-dir", daemon.dataDir, "--seal-key", file);
  expect([external.exit, external.json.error.code]).toEqual([2, "usage"]);
});

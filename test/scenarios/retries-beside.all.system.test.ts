/** Requests with an `Idempotency-Key` by several people, and behind what changes files beside the daemon. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { invited, type Person, signUp, tokenOf } from "../account/browser.ts";
import { governdProcess } from "../cli/governd-process.ts";
import type { Answered, Client, Sent } from "../support/client.ts";
import { TestDaemon } from "../support/daemon.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";

/** What a backup restores needs no server. */
const EMBEDDED = {
  engine: "embedded",
  engine_url: null,
  engine_auth_token: null,
  engine_admin_url: null,
  engine_admin_token: null,
} as const;

let daemon: TestDaemon;
let folder: TemporaryDirectory;
let owner: Person;
let client: Client;

beforeAll(async () => {
  folder = temporaryDirectory();
  daemon = await TestDaemon.start();
  owner = await signUp(daemon, tokenOf(daemon.signUpUrl), { workspace_name: "w" });
  client = daemon.client(owner.apiKey as string);
});
afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const write = (agent: string, key: string): Sent => ({
  path: "/v1/data/write",
  body: { agent_id: agent, key: "k", value: "v" },
  headers: { "idempotency-key": key },
});
const isReplayed = ({ headers }: Answered): boolean => headers.get("idempotent-replayed") === "true";

async function command(...words: string[]): Promise<void> {
  const { code, err } = await governdProcess(words);
  expect({ words, code, err: code === 0 ? "" : err }).toEqual({ words, code: 0, err: "" });
}

test("people and API keys have keys of their own", async () => {
  const colleague = await invited(owner, "member");
  const asPerson = ({ browser }: Person) => {
    const { path, body, headers } = write("shared", "the-same");
    return browser.post(path, body, { ...headers, "x-workspace-id": owner.workspaceId });
  };
  const asked = [() => client.send(write("shared", "the-same")), () => asPerson(owner), () => asPerson(colleague)];
  const firsts: Answered[] = [];
  for (const ask of asked) firsts.push(await ask());
  expect(firsts.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(firsts.map(isReplayed)).toEqual([false, false, false]);
  expect(new Set(firsts.map(({ json }) => json.audit_id)).size).toBe(3);
  for (const [i, ask] of asked.entries()) {
    const again = await ask();
    expect([isReplayed(again), again.text]).toEqual([true, firsts[i]?.text as string]);
  }
});

test("answers outlast compacting, pruning, a backup and its restore, each given out once", async () => {
  const requests = ["compact", "prune", "backup"].map((name) => write(`of-${name}`, name));
  const firsts: Answered[] = [];
  for (const request of requests) firsts.push(await client.send(request));
  const expectReplays = async () => {
    const { total } = (await client.get("/v1/data/list", { agent_id: "of-backup", count: "true" })).json;
    expect(total).toBe(1);
    for (const [i, request] of requests.entries()) {
      const again = await client.send(request);
      expect([isReplayed(again), again.text]).toEqual([true, firsts[i]?.text as string]);
    }
  };
  const data = ["--data-dir", daemon.dataDir];
  await command("compact", owner.workspaceId, ...data);
  await expectReplays();
  const soon = new Date(Date.now() + 1_000).toISOString();
  await Bun.sleep(1_100);
  const kept = folder.path;
  await command(
    "prune",
    "--workspace",
    owner.workspaceId,
    "--before",
    soon,
    "--yes",
    "--export",
    join(kept, "e"),
    ...data,
  );
  await expectReplays();
  const backups = join(kept, "backups");
  await command("backup", backups, ...data);
  // Done after the backup: the restored daemon knows nothing of it, so the same request does it there.
  const later = write("later", "later");
  const first = await client.send(later);
  const [copy = ""] = readdirSync(backups);
  const restored = join(kept, "restored");
  await command("restore", "--keep-rights", join(backups, copy), "--data-dir", restored);
  await daemon.restart(0, { data_dir: restored, ...EMBEDDED });
  client = daemon.client(owner.apiKey as string);
  await expectReplays();
  const again = await client.send(later);
  expect([again.status, isReplayed(again)]).toEqual([200, false]);
  expect(again.json.audit_id).not.toBe(first.json.audit_id);
  expect(isReplayed(await client.send(later))).toBe(true);
});

import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { DataDirectory } from "../../src/core/datadir/layout.ts";
import { ensureDataDirectory } from "../../src/core/datadir/open.ts";
import { Failure } from "../../src/failure.ts";
import { IdSource, RandomPool } from "../../src/ids.ts";
import { Administration } from "../../src/ops/directory/administration.ts";
import { generateApiKey } from "../../src/ops/directory/api-key.ts";
import { Authenticator } from "../../src/ops/directory/authenticator.ts";
import { ControlDatabase } from "../../src/ops/directory/database.ts";
import type { WorkspaceEvent, WorkspaceJournal } from "../../src/ops/directory/journal.ts";
import { findKey, findKeyByDigest } from "../../src/ops/directory/keys.ts";
import { digestOf } from "../../src/ops/directory/secret.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS);

let temporary: ReturnType<typeof temporaryDirectory>;
let directory: DataDirectory;
let control: ControlDatabase;
let authenticator: Authenticator;
let now: number;
let recorded: (WorkspaceEvent | string)[];
let refuseRecords: boolean;

/** The seam to the workspaces, which have tests of their own. */
const journal: WorkspaceJournal = {
  async create({ id }, event) {
    recorded.push(`workspace.create ${id}`);
    return await journal.record(id, event);
  },
  async record(_, { id, ...event }) {
    if (refuseRecords) throw new Failure("busy", "not now");
    recorded.push(event);
    return id ?? "";
  },
  find: async () => null,
  refuse: async () => {},
  async discard() {},
};

function administration(database = control): Administration {
  const random = new RandomPool();
  const clock = () => now;
  return new Administration({
    control: database,
    journal,
    clock,
    ids: new IdSource(clock, random),
    random,
    actor: "cli",
    permit: () => {},
  });
}

function wish(workspaceId: string) {
  return { workspaceId, label: null, scope: "full" as const, agents: null, expiresInMs: null };
}

beforeEach(() => {
  temporary = temporaryDirectory();
  directory = ensureDataDirectory(temporary.join("data"));
  control = ControlDatabase.open(directory);
  now = Date.UTC(2026, 0, 1);
  recorded = [];
  refuseRecords = false;
  authenticator = new Authenticator(control, {
    clock: () => now,
    onError: (error) => {
      throw error;
    },
    lookUp: async (_, digest) => findKeyByDigest(control.connection, digest),
  });
});
afterEach(() => {
  authenticator[Symbol.dispose]();
  control[Symbol.dispose]();
  temporary[Symbol.dispose]();
});

describe("authentication", () => {
  test("a key names its workspace, scope and agents, always by the same object", async () => {
    const { workspace, apiKey, record } = await administration().createWorkspace("One");
    const principal = await authenticator.authenticate(apiKey);
    expect(principal).toEqual({ actor: record.id, workspaceId: workspace.id, scope: "full", agents: null });
    expect(await authenticator.authenticate(apiKey)).toBe(principal);
    const limited = await administration().createKey({ ...wish(workspace.id), scope: "agent", agents: ["a", "b"] });
    expect(await authenticator.authenticate(limited.apiKey)).toMatchObject({ scope: "agent", agents: ["a", "b"] });
  });

  test("an unknown key and a malformed one are refused", async () => {
    const { apiKey } = await administration().createWorkspace("One");
    const other = await administration().createWorkspace("Other");
    expect(await authenticator.authenticate(`${apiKey}x`)).toBeNull();
    expect(await authenticator.authenticate("")).toBeNull();
    await control.change((connection) => connection.run("DELETE FROM api_keys WHERE id = ?", [other.record.id]));
    expect(await authenticator.authenticate(other.apiKey)).toBeNull();
    expect(await authenticator.authenticate(apiKey)).not.toBeNull();
  });

  test("a known key costs no access to the database", async () => {
    const { apiKey } = await administration().createWorkspace("One");
    const principal = await authenticator.authenticate(apiKey);
    control.connection.exec("ALTER TABLE api_keys RENAME TO gone");
    expect(await authenticator.authenticate(apiKey)).toBe(principal);
    control.connection.exec("ALTER TABLE gone RENAME TO api_keys");
  });

  test("a malformed key costs no access to the database, nor does one of no workspace", async () => {
    control.connection.exec("ALTER TABLE api_keys RENAME TO gone");
    expect(await authenticator.authenticate(`gov_${"0".repeat(26)}_${"0".repeat(32)}_${"0".repeat(7)}`)).toBeNull();
    expect(await authenticator.authenticate(generateApiKey(`ws_${"0".repeat(26)}`, new RandomPool()))).toBeNull();
    control.connection.exec("ALTER TABLE gone RENAME TO api_keys");
  });

  test("it ends at its expiry, to the millisecond", async () => {
    const { workspace } = await administration().createWorkspace("One");
    const { apiKey, record } = await administration().createKey({ ...wish(workspace.id), expiresInMs: 1_000 });
    expect(record.expiresAt).toBe(now + 1_000);
    expect(await authenticator.authenticate(apiKey)).not.toBeNull();
    now += 999;
    expect(await authenticator.authenticate(apiKey)).not.toBeNull();
    now += 1;
    expect(await authenticator.authenticate(apiKey)).toBeNull();
  });

  test("a revocation over another connection takes effect with the very next request", async () => {
    using beside = ControlDatabase.open(directory);
    const { apiKey, record } = await administration().createWorkspace("One");
    expect(await authenticator.authenticate(apiKey)).not.toBeNull();
    await administration(beside).revokeKey(record.id);
    expect(await authenticator.authenticate(apiKey)).toBeNull();
  });

  test("a revocation whose signal was lost is found by polling the database", async () => {
    using beside = ControlDatabase.open(directory);
    const { apiKey, record } = await administration().createWorkspace("One");
    expect(await authenticator.authenticate(apiKey)).not.toBeNull();
    beside.connection.run("UPDATE api_keys SET revoked_at = 1 WHERE id = ?", [record.id]);
    authenticator.checkDatabase();
    expect(await authenticator.authenticate(apiKey)).toBeNull();
  });

  test("another process advances the same counter", async () => {
    const before = control.generation.current;
    const script = `
      import { Generation } from ${JSON.stringify(join(import.meta.dir, "../../src/ops/directory/generation.ts"))};
      Generation.open(${JSON.stringify(directory.generation)}).advance();`;
    expect(await Bun.spawn([process.execPath, "-e", script]).exited).toBe(0);
    expect(control.generation.current).not.toBe(before);
  });

  test("the last use is written in batches and never goes back", async () => {
    const { apiKey, record } = await administration().createWorkspace("One");
    const lastUse = () => findKey(control.connection, record.id)?.lastUsedAt;
    await authenticator.authenticate(apiKey);
    expect(lastUse()).toBeNull();
    await authenticator.writeLastUse();
    expect(lastUse()).toBe(now);
    const latest = now;
    now -= 5_000;
    await authenticator.authenticate(apiKey);
    await authenticator.writeLastUse();
    expect(lastUse()).toBe(latest);
    // A time that has not come was stored by a clock that was ahead.
    now -= 40 * 86_400_000;
    await authenticator.authenticate(apiKey);
    await authenticator.writeLastUse();
    expect(lastUse()).toBe(now);
  });
});

describe("administration", () => {
  test("the event comes first, and without it there is no effect", async () => {
    const { workspace } = await administration().createWorkspace("One");
    refuseRecords = true;
    await expect(administration().createKey(wish(workspace.id))).rejects.toThrow("not now");
    expect(control.connection.get<[number]>("SELECT count(*) FROM api_keys")).toEqual([1]);
  });

  test("events say everything of a key but the key", async () => {
    const { workspace, apiKey, record } = await administration().createWorkspace("One");
    const { record: limited, apiKey: limitedKey } = await administration().createKey({
      workspaceId: workspace.id,
      label: "build server",
      scope: "agent",
      agents: ["a"],
      expiresInMs: 86_400_000,
    });
    await administration().revokeKey(limited.id);
    expect(recorded).toEqual([
      `workspace.create ${workspace.id}`,
      {
        operation: "key.create",
        actor: "cli",
        details: {
          key_id: record.id,
          key_digest: digestOf(apiKey).toHex(),
          label: "first key",
          scope: "full",
          agents: null,
          networks: null,
          created_at: "2026-01-01T00:00:00.000Z",
          expires_at: null,
        },
      },
      {
        operation: "key.create",
        actor: "cli",
        details: {
          key_id: limited.id,
          key_digest: digestOf(limitedKey).toHex(),
          label: "build server",
          scope: "agent",
          agents: ["a"],
          networks: null,
          created_at: "2026-01-01T00:00:00.000Z",
          expires_at: "2026-01-02T00:00:00.000Z",
        },
      },
      {
        operation: "key.revoke",
        actor: "cli",
        details: { key_id: limited.id, revoked_at: "2026-01-01T00:00:00.000Z" },
      },
    ]);
    expect(JSON.stringify(recorded)).not.toContain(apiKey.slice(4, 36));
  });

  test("no file of the data directory holds a key", async () => {
    const { apiKey } = await administration().createWorkspace("One");
    await authenticator.authenticate(apiKey);
    await authenticator.writeLastUse();
    for (const name of readdirSync(directory.root, { recursive: true }) as string[]) {
      const path = join(directory.root, name);
      if (!statSync(path).isFile()) continue;
      expect(readFileSync(path).includes(apiKey.slice(4, 36))).toBe(false);
      expect(statSync(path).mode & 0o077).toBe(0);
    }
  });

  test("revoking twice is recorded once", async () => {
    const { record } = await administration().createWorkspace("One");
    const first = await administration().revokeKey(record.id);
    now += 1_000;
    expect((await administration().revokeKey(record.id)).revokedAt).toBe(first.revokedAt);
    expect(recorded.filter((event) => typeof event !== "string" && event.operation === "key.revoke")).toHaveLength(1);
  });

  test.each([
    ["an empty label", { label: " " }, "label"],
    ["a label with control characters", { label: "a\u0007b" }, "control characters"],
    ["a label that is too long", { label: "x".repeat(257) }, "1 to 256 characters"],
    ["no agents", { agents: [] }, "1 to 1000 agents"],
    ["an agent's id that is none", { agents: ["a b"] }, "agent's id"],
    ["an expiry past the calendar", { expiresInMs: 1e15 }, "9999"],
  ])("refuses %s", async (_, part, message) => {
    const { workspace } = await administration().createWorkspace("One");
    await expect(administration().createKey({ ...wish(workspace.id), ...part })).rejects.toThrow(message);
    expect(recorded).toHaveLength(2);
  });

  test("an unknown workspace or key is a failure that says what to do", async () => {
    await expect(administration().createKey(wish("ws_nowhere"))).rejects.toThrow("governd workspace list");
    await expect(administration().revokeKey("key_nothing")).rejects.toThrow("governd key list");
  });

  test("a database that a newer governd wrote is refused and left as it is", () => {
    control.connection.exec("PRAGMA user_version = 99");
    const open = () => ControlDatabase.open(directory);
    expect(open).toThrow("written by a newer governd");
    expect(control.connection.get<[number]>("PRAGMA user_version")).toEqual([99]);
  });
});

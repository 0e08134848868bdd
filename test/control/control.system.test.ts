import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type DataDirectory, workspaceFile } from "../../src/core/datadir/layout.ts";
import { ensureDataDirectory } from "../../src/core/datadir/open.ts";
import { findKeyByDigest } from "../../src/core/rows/access/keys.ts";
import { storeNote } from "../../src/core/rows/access/notes.ts";
import { openWorkspaceReader } from "../../src/core/writer/file.ts";
import { IdSource, RandomPool } from "../../src/ids.ts";
import { Authenticator } from "../../src/ops/directory/authenticator.ts";
import { Installation } from "../../src/ops/directory/installation.ts";
import { fileJournal } from "../../src/ops/directory/journal.ts";
import { digestOf } from "../../src/ops/directory/secret.ts";
import { makeWorkspaceSecret } from "../../src/ops/directory/workspace-secret.ts";
import { type Connection, openConnection } from "../../src/store/connection.ts";
import { Administration, keysIn } from "../support/administration.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS);

let temporary: ReturnType<typeof temporaryDirectory>;
let directory: DataDirectory;
let installation: Installation;
let authenticator: Authenticator;
let now: number;
/** How often a key was looked up in a workspace's file. */
let lookUps: number;
/** The last write of times of use. */
let stored: Promise<void>;

function administration(over = installation): Administration {
  const random = new RandomPool();
  const clock = () => now;
  const parts = {
    installation: over,
    journal: fileJournal(directory),
    clock,
    ids: new IdSource(clock, random),
    random,
  };
  return new Administration(parts, directory);
}

/** Calls `work` with the file of a workspace, as another process opens it. */
async function inFile<T>(workspaceId: string, work: (connection: Connection) => T | Promise<T>): Promise<T> {
  using connection = openConnection(workspaceFile(directory, workspaceId));
  return await work(connection);
}

const keyIn = async (workspaceId: string, id: string) =>
  (await keysIn(directory, workspaceId)).find((key) => key.id === id);

/** Returns the events of a workspace about its keys, as its log has them, without their ids and times. */
const recorded = (workspaceId: string) =>
  inFile(workspaceId, (connection) =>
    connection
      .all<[string, string, string]>(
        "SELECT operation, actor, details FROM events WHERE operation LIKE 'key.%' ORDER BY seq",
      )
      .map(([operation, actor, details]) => {
        return { operation, actor, details: JSON.parse(details) as unknown };
      }),
  );

function wish(workspaceId: string) {
  return { workspaceId, label: null, scope: "full" as const, agents: null, networks: null, expiresInMs: null };
}

beforeEach(async () => {
  // As every command does first.
  process.umask(0o077);
  temporary = temporaryDirectory();
  directory = ensureDataDirectory(temporary.join("data"));
  installation = await Installation.open(directory);
  now = Date.now();
  lookUps = 0;
  await installation.ensure({ journal: fileJournal(directory), ids: new IdSource() });
  authenticator = new Authenticator(installation, {
    clock: () => now,
    onError: (error) => {
      throw error;
    },
    async find(workspaceId, digest) {
      lookUps++;
      using reader = openWorkspaceReader(workspaceFile(directory, workspaceId), workspaceId);
      return (await findKeyByDigest(reader, digest)) ?? null;
    },
    storeUse(workspaceId, uses) {
      stored = inFile(workspaceId, (connection) =>
        storeNote(connection, { kind: "last_use", used: "keys", uses: uses }),
      );
      return stored;
    },
  });
});
afterEach(() => {
  authenticator[Symbol.dispose]();
  installation[Symbol.dispose]();
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
    await inFile(other.workspace.id, (connection) =>
      connection.run("DELETE FROM keys WHERE id = ?", [other.record.id]),
    );
    expect(await authenticator.authenticate(other.apiKey)).toBeNull();
    expect(await authenticator.authenticate(apiKey)).not.toBeNull();
  });

  test("a key is found only in the workspace that it names", async () => {
    const one = await administration().createWorkspace("One");
    const other = await administration().createWorkspace("Other");
    const rows = await inFile(one.workspace.id, (connection) =>
      connection.all<(string | number | null)[]>("SELECT * FROM keys"),
    );
    await inFile(other.workspace.id, (connection) => {
      connection.run("DELETE FROM keys");
      for (const row of rows) connection.run(`INSERT INTO keys VALUES (${row.map(() => "?").join()})`, row);
    });
    await inFile(one.workspace.id, (connection) => connection.run("DELETE FROM keys"));
    expect([await authenticator.authenticate(one.apiKey), await authenticator.authenticate(other.apiKey)]).toEqual([
      null,
      null,
    ]);
  });

  test("a known key costs no look-up, and an unknown one one each time", async () => {
    const { apiKey, workspace } = await administration().createWorkspace("One");
    const principal = await authenticator.authenticate(apiKey);
    expect(lookUps).toBe(1);
    expect(authenticator.authenticate(apiKey)).toBe(principal);
    expect(lookUps).toBe(1);
    const invented = makeWorkspaceSecret("gov_", workspace.id, new RandomPool());
    for (const _ of [1, 2]) expect(await authenticator.authenticate(invented)).toBeNull();
    expect(lookUps).toBe(3);
  });

  test("a malformed key costs no look-up, nor does one of no workspace", async () => {
    expect(await authenticator.authenticate(`gov_${"0".repeat(26)}_${"0".repeat(32)}_${"0".repeat(7)}`)).toBeNull();
    expect(
      await authenticator.authenticate(makeWorkspaceSecret("gov_", `ws_${"0".repeat(26)}`, new RandomPool())),
    ).toBeNull();
    expect(lookUps).toBe(0);
  });

  test("it ends at its expiry, to the millisecond", async () => {
    const { workspace } = await administration().createWorkspace("One");
    const { apiKey, record } = await administration().createKey({ ...wish(workspace.id), expiresInMs: 60_000 });
    const end = Date.parse(record.expires_at as string);
    expect(end - Date.parse(record.created_at)).toBe(60_000);
    now = end - 1;
    expect(await authenticator.authenticate(apiKey)).not.toBeNull();
    now = end;
    expect(await authenticator.authenticate(apiKey)).toBeNull();
    // Nor is it accepted when it is looked up again.
    authenticator.forget(workspace.id);
    expect(await authenticator.authenticate(apiKey)).toBeNull();
    expect(lookUps).toBe(2);
  });

  test("a revocation over another connection takes effect with the very next request", async () => {
    using beside = await Installation.open(directory);
    const { apiKey, record } = await administration().createWorkspace("One");
    expect(await authenticator.authenticate(apiKey)).not.toBeNull();
    await administration(beside).revokeKey(record.id);
    expect(await authenticator.authenticate(apiKey)).toBeNull();
  });

  test("a key of a workspace that is forgotten is looked up again, and no other", async () => {
    const one = await administration().createWorkspace("One");
    const other = await administration().createWorkspace("Other");
    const known = await authenticator.authenticate(other.apiKey);
    const before = await authenticator.authenticate(one.apiKey);
    await inFile(one.workspace.id, (connection) => connection.run("UPDATE keys SET ended_seq = 1"));
    // Nothing told this process.
    expect(authenticator.authenticate(one.apiKey)).toBe(before);
    authenticator.forget(one.workspace.id);
    expect(await authenticator.authenticate(one.apiKey)).toBeNull();
    expect(authenticator.authenticate(other.apiKey)).toBe(known);
  });

  test("what is read while keys change is not kept", async () => {
    const { apiKey, workspace } = await administration().createWorkspace("One");
    const looking = authenticator.authenticate(apiKey);
    authenticator.forget(workspace.id);
    expect(await looking).not.toBeNull();
    await inFile(workspace.id, (connection) => connection.run("UPDATE keys SET ended_seq = 1"));
    expect(await authenticator.authenticate(apiKey)).toBeNull();
  });

  test("a renewed principal is the key as it is now", async () => {
    const { apiKey, workspace } = await administration().createWorkspace("One");
    const principal = await authenticator.authenticate(apiKey);
    if (principal === null) throw new Error("the key is refused");
    const limit = (text: string) =>
      inFile(workspace.id, (connection) => connection.run("UPDATE keys SET networks = ?", [text]));
    await limit('["192.0.2.7"]');
    const limited = await authenticator.renew(principal);
    expect(limited).toEqual({ ...principal, networks: ["192.0.2.7"] });
    expect(authenticator.allowsFrom(limited ?? principal, () => "192.0.2.8")).toBe(false);
    expect(authenticator.allowsFrom(limited ?? principal, () => "192.0.2.7")).toBe(true);
    await inFile(workspace.id, (connection) => connection.run("UPDATE keys SET ended_seq = 1"));
    expect(await authenticator.renew(principal)).toBeNull();
  });

  test("another process advances the same counter", async () => {
    const before = installation.generation.current;
    const script = `
      import { Generation } from ${JSON.stringify(join(import.meta.dir, "../../src/ops/directory/generation.ts"))};
      Generation.open(${JSON.stringify(directory.generation)}).advance();`;
    expect(await Bun.spawn([process.execPath, "-e", script]).exited).toBe(0);
    expect(installation.generation.current).not.toBe(before);
  });

  test("the last use is written in batches and never goes back", async () => {
    const { apiKey, record, workspace } = await administration().createWorkspace("One");
    const lastUse = async () => (await keyIn(workspace.id, record.id))?.lastUsedAt;
    const written = async () => {
      await authenticator.authenticate(apiKey);
      await authenticator.writeLastUse();
      await stored;
      return await lastUse();
    };
    await authenticator.authenticate(apiKey);
    expect(await lastUse()).toBeNull();
    expect(await written()).toBe(now);
    const latest = now;
    now -= 5_000;
    expect(await written()).toBe(latest);
    // A time that has not come was stored by a clock that was ahead.
    now -= 40 * 86_400_000;
    expect(await written()).toBe(now);
  });

  test("the last use of a key that the file does not have is not stored", async () => {
    const { workspace } = await administration().createWorkspace("One");
    await inFile(workspace.id, (connection) =>
      storeNote(connection, { kind: "last_use", used: "keys", uses: [{ id: "key_nothing", at: now }] }),
    );
    expect(await inFile(workspace.id, (connection) => connection.all("SELECT * FROM key_use"))).toEqual([]);
  });
});

describe("administration", () => {
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
    const events = await recorded(workspace.id);
    expect(events).toEqual([
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
          expires_at: limited.expires_at,
        },
      },
      { operation: "key.revoke", actor: "cli", details: { key_id: limited.id } },
    ]);
    expect(JSON.stringify(events)).not.toContain(apiKey.slice(31, 63));
  });

  test("no file of the data directory holds a key", async () => {
    const { apiKey } = await administration().createWorkspace("One");
    await authenticator.authenticate(apiKey);
    await authenticator.writeLastUse();
    await stored;
    // What follows the id of the workspace is the secret.
    const secret = apiKey.slice(31, 63);
    expect(secret).toMatch(/^[0-9a-z]{32}$/);
    for (const name of readdirSync(directory.root, { recursive: true }) as string[]) {
      const path = join(directory.root, name);
      if (!statSync(path).isFile()) continue;
      expect(readFileSync(path).includes(secret)).toBe(false);
      expect(statSync(path).mode & 0o077).toBe(0);
    }
  });

  test("revoking twice is recorded once", async () => {
    const { record, workspace } = await administration().createWorkspace("One");
    const first = await administration().revokeKey(record.id);
    const second = await administration().revokeKey(record.id);
    expect([second.record.revoked_at, second.auditId]).toEqual([first.record.revoked_at, null as never]);
    expect((await recorded(workspace.id)).map(({ operation }) => operation)).toEqual(["key.create", "key.revoke"]);
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
    expect(await recorded(workspace.id)).toHaveLength(1);
  });

  test("a data directory that a newer governd wrote is refused and left as it is", async () => {
    writeFileSync(directory.pointer, '{"format":"governd.installation/2"}');
    await expect(Installation.open(directory)).rejects.toThrow("written by a newer governd");
    expect(readFileSync(directory.pointer, "utf8")).toBe('{"format":"governd.installation/2"}');
  });
});

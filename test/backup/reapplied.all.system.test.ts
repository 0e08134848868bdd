/**
 * Acts that a backup's logs record and its control database has not seen: a restore reapplies them, so that no revoked
 * key, removed member or lowered role comes back.
 */
import { afterAll, expect, setDefaultTimeout } from "bun:test";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeBackup } from "../../src/backup/make.ts";
import { restoreBackup } from "../../src/backup/restore.ts";
import { type DataDirectory, dataDirectory, workspaceFile } from "../../src/core/datadir/layout.ts";
import { ensureDataDirectory } from "../../src/core/datadir/open.ts";
import { systemClock } from "../../src/ids.ts";
import { insertAccount } from "../../src/ops/accounts/accounts.ts";
import { listMembers, type Role } from "../../src/ops/accounts/members.ts";
import {
  acceptInvitation,
  changeRole,
  foundWorkspace,
  invite,
  removeMember,
} from "../../src/ops/accounts/membership.ts";
import type { AccountParts } from "../../src/ops/accounts/parts.ts";
import { Administration } from "../../src/ops/directory/administration.ts";
import { ControlDatabase } from "../../src/ops/directory/database.ts";
import { listKeys } from "../../src/ops/directory/keys.ts";
import { findInstallation } from "../../src/ops/directory/workspaces.ts";
import { openConnection } from "../../src/store/connection.ts";
import { copyDatabase } from "../../src/store/snapshot.ts";
import { governd } from "../cli/governd.ts";
import { GOVERND, startGovernd } from "../cli/governd-process.ts";
import { withParts } from "../corpus/control-base.ts";
import { effort } from "../effort.ts";
import { filesReleased } from "../released.ts";
import { SEED } from "../seed.ts";
import { Seeded } from "../seeded.ts";
import { PROCESS_TEST_MS, type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";
import { compared, SecondVerifier } from "../verify/second-verifier.ts";

setDefaultTimeout(2 * PROCESS_TEST_MS);

const KILLS = effort({ usual: 4, long: 40 });
const ROUNDS = effort({ usual: 2, long: 20 });
const HOUR_MS = 3_600_000;
const python = new SecondVerifier();
afterAll(() => python[Symbol.asyncDispose]());

const operator = (parts: AccountParts) => new Administration({ ...parts, actor: "cli", permit: () => {} });

function account({ control, ids }: AccountParts, name: string): string {
  const id = ids.next("usr");
  const secrets = { password: "", totpSecret: null, totpSince: null, totpStep: 0 };
  insertAccount(control.connection, { id, email: `${name}@example.com`, name, ...secrets, createdAt: systemClock() });
  return id;
}

async function joins(parts: AccountParts, founder: string, workspaceId: string, role: Role, who: string) {
  const { token } = await invite(parts, founder, { workspaceId, role, label: null, expiresInDays: 7 });
  await acceptInvitation(parts, who, token);
}

const key = (workspaceId: string, expiresInMs: number | null = null) =>
  ({ workspaceId, label: null, scope: "full", agents: null, expiresInMs }) as const;

/** The keys and members of a workspace. */
function stateOf(directory: DataDirectory, workspaceId: string) {
  using control = ControlDatabase.open(directory);
  const keys = listKeys(control.connection, workspaceId).map((row) => ({ ...row, lastUsedAt: null }));
  return { keys, members: listMembers(control.connection, workspaceId) };
}

async function verify(root: string): Promise<{ exits: number[]; codes: string[] }> {
  const { code, json } = await governd(["verify", root, "--json"]);
  const { sources } = json<{ sources: { problems: { code: string }[] }[] }>();
  return {
    exits: [code, (await python.run(root)).code],
    codes: sources.flatMap(({ problems }) => problems.map((problem) => problem.code)),
  };
}

/** Asks the daemon that serves a directory with each key. */
async function statusOf(root: string, keys: Readonly<Record<string, string>>): Promise<Record<string, number>> {
  await using daemon = await startGovernd(root);
  const statuses: Record<string, number> = {};
  for (const [name, apiKey] of Object.entries(keys)) {
    statuses[name] = (await daemon.ask("/v1/agents", { apiKey })).status;
  }
  await daemon.stop();
  return statuses;
}

const restore = (path: string, dataDir: string) =>
  restoreBackup({ backup: path, dataDir, sealKey: null, partial: false, clock: systemClock });

const backup = async (source: DataDirectory, destination: string, onProgress?: () => Promise<void>) =>
  (await makeBackup({ source, destination, keep: null, clock: systemClock, ...(onProgress && { onProgress }) })).path;

/** A backup whose control database was copied before acts, and whose logs were copied after them. */
async function lateBackup(home: TemporaryDirectory) {
  const source = ensureDataDirectory(home.join("data"));
  const early = home.join("early.db");
  const made = await withParts(source, async (parts) => {
    const founder = account(parts, "founder");
    const [leaver, lowered, stranger] = ["leaver", "lowered", "stranger"].map((name) => account(parts, name));
    const { workspace, apiKey: first } = await foundWorkspace(parts, founder, "late");
    const { id } = workspace;
    await joins(parts, founder, id, "owner", leaver as string);
    await joins(parts, founder, id, "owner", lowered as string);
    const revoked = await operator(parts).createKey(key(id));
    const rotated = await operator(parts).createKey(key(id, HOUR_MS));
    await invite(parts, founder, { workspaceId: id, role: "member", label: "unused", expiresInDays: 7 });
    const open = await invite(parts, founder, { workspaceId: id, role: "member", label: null, expiresInDays: 7 });
    copyDatabase(source.control, early, null);
    await operator(parts).revokeKey(revoked.record.id);
    const successor = await operator(parts).rotateKey(rotated.record.id, 0);
    const created = await operator(parts).createKey(key(id));
    const createdAndRevoked = await operator(parts).createKey(key(id));
    await operator(parts).revokeKey(createdAndRevoked.record.id);
    await removeMember(parts, founder, { workspaceId: id, accountId: leaver as string });
    await changeRole(parts, founder, { workspaceId: id, accountId: lowered as string, role: "auditor" });
    await acceptInvitation(parts, stranger as string, open.token);
    const newcomer = account(parts, "newcomer");
    await joins(parts, founder, id, "owner", newcomer);
    return {
      ...{ id, newcomer },
      keys: {
        ...{ first, revoked: revoked.apiKey, rotated: rotated.apiKey, successor: successor.apiKey },
        ...{ created: created.apiKey, createdAndRevoked: createdAndRevoked.apiKey },
      },
    };
  });
  const expected = stateOf(source, made.id);
  await filesReleased(source.root);
  return { ...made, expected, path: await withControl(await backup(source, home.join("backups")), early) };
}

/** Puts another copy of the control database into a backup. Returns the backup. */
async function withControl(path: string, early: string): Promise<string> {
  writeFileSync(join(path, "control.db"), readFileSync(early));
  const manifest = JSON.parse(readFileSync(join(path, "manifest.json"), "utf8"));
  const bytes = readFileSync(early);
  const file = manifest.files.find((one: { path: string }) => one.path === "control.db");
  Object.assign(file, { size: bytes.length, sha256: new Bun.CryptoHasher("sha256").update(bytes).digest("hex") });
  writeFileSync(join(path, "manifest.json"), JSON.stringify(manifest));
  return path;
}

const STATUSES = { first: 200, revoked: 401, rotated: 401, successor: 200, created: 200, createdAndRevoked: 401 };

compared("what the logs state is in force after a restore, and nothing else", async () => {
  using home = temporaryDirectory();
  const { id, newcomer, keys, expected, path } = await lateBackup(home);
  const dataDir = home.join("restored");
  const { code, out } = await governd(["restore", path, "--data-dir", dataDir]);
  expect([code, out]).toEqual([0, expect.stringContaining("Reapplied from the logs to control.db")]);
  expect(out).toMatch(/ {4}api_keys key_\w+: revoked_at, revoked_by \(key\.revoke .*, event \d+ of ws_/);
  expect(out).toMatch(/ {4}members usr_\w+: removed \(member\.remove /);
  expect(out).toMatch(/ {4}members usr_\w+: role \(member\.change /);
  expect(out).toContain(`Not made, since the logs do not hold all of it: members ${newcomer} of ${id}`);
  for (const text of Object.values(keys)) expect(out).not.toContain(text);
  // The account of the newcomer is in no log, so the backup does not have it.
  const members = expected.members.filter(({ accountId }) => accountId !== newcomer);
  expect(stateOf(dataDirectory(dataDir), id)).toEqual({ ...expected, members });
  expect(await verify(dataDir)).toEqual({ exits: [0, 0], codes: [] });
  expect(await statusOf(dataDir, keys)).toEqual(STATUSES);
});

compared("of the restored rows none may be as it was before the acts", async () => {
  using home = temporaryDirectory();
  const { path, id, newcomer } = await lateBackup(home);
  const dataDir = home.join("restored");
  await restore(path, dataDir);
  const changes: [sql: string, code: string][] = [
    ["UPDATE api_keys SET revoked_at = NULL, revoked_by = NULL WHERE revoked_at IS NOT NULL", "key_changed"],
    ["UPDATE api_keys SET expires_at = expires_at + 3600000, replaced_by = NULL", "key_changed"],
    ["UPDATE members SET role = 'owner' WHERE role = 'auditor'", "member_changed"],
    [`INSERT INTO members VALUES ('${id}', '${newcomer}', 'owner', 1)`, "member_added"],
    ["UPDATE links SET revoked_at = revoked_at + 1 WHERE used_at IS NULL", "invitation_changed"],
    ["UPDATE links SET used_at = NULL, used_by = NULL", "invitation_changed"],
  ];
  for (const [sql, code] of changes) {
    const { control } = dataDirectory(dataDir);
    const before = readFileSync(control);
    const connection = openConnection(control);
    const changed = connection.change(sql);
    connection.truncateLog();
    connection.close();
    const { exits, codes } = await verify(dataDir);
    expect([sql, changed > 0, exits, codes]).toEqual([sql, true, [1, 1], expect.arrayContaining([code])]);
    await filesReleased(dataDir);
    for (const end of ["-wal", "-shm"]) rmSync(`${control}${end}`, { force: true });
    writeFileSync(control, before);
  }
});

compared("a restore that is killed leaves nothing in use, and the next one is whole", async () => {
  using home = temporaryDirectory();
  const { path, keys } = await lateBackup(home);
  const random = new Seeded(SEED);
  for (let round = 0; round < KILLS; round++) {
    const dataDir = home.join(`killed-${round}`);
    const child = Bun.spawn([...GOVERND, "restore", path, "--data-dir", dataDir], {
      ...{ env: {}, stdout: "ignore", stderr: "ignore" },
    });
    while (child.exitCode === null && !existsSync(dataDirectory(dataDir).unfinished)) await Bun.sleep(1);
    await Bun.sleep(random.below(150));
    child.kill("SIGKILL");
    await child.exited;
    const whole = !existsSync(dataDirectory(dataDir).unfinished);
    const { code, err } = await governd(["workspace", "list", "--data-dir", dataDir]);
    if (whole) expect(await verify(dataDir)).toEqual({ exits: [0, 0], codes: [] });
    else expect([code, err]).toEqual([2, expect.stringMatching(/was interrupted/)]);
  }
  const dataDir = home.join("restored");
  await restore(path, dataDir);
  expect(await statusOf(dataDir, keys)).toEqual(STATUSES);
});

compared(
  "an act that was pending is finished behind the restore, with its event in the log of the installation",
  async () => {
    using home = temporaryDirectory();
    const source = ensureDataDirectory(home.join("data"));
    let installation = "";
    await withParts(source, async (parts) => {
      const founder = account(parts, "founder");
      await foundWorkspace(parts, founder, "first");
      installation = findInstallation(parts.control.connection)?.id as string;
      const { record } = parts.journal;
      // The process dies before the second event of the act.
      parts.journal.record = async (id, event) => {
        if (id === installation) throw new Error("killed");
        return await record(id, event);
      };
      await expect(foundWorkspace(parts, founder, "second")).rejects.toThrow();
    });
    await filesReleased(source.root);
    const path = await backup(source, home.join("backups"));
    const dataDir = home.join("restored");
    const { rows_left_out } = await restore(path, dataDir);
    expect(rows_left_out).toEqual([]);
    expect(await verify(dataDir)).toEqual({ exits: [0, 0], codes: [] });
    using log = openConnection(workspaceFile(dataDirectory(dataDir), installation), { readOnly: true });
    const operations = log.all<[string]>("SELECT operation FROM events ORDER BY seq DESC LIMIT 2").flat();
    expect(operations).toEqual(["account.create_workspace", "log.restore"]);
  },
);

compared("acts at any moment of a backup are in force after its restore exactly when its logs have them", async () => {
  using home = temporaryDirectory();
  const source = ensureDataDirectory(home.join("data"));
  const ids: string[] = [];
  const keys: Record<string, string> = {};
  const random = new Seeded(SEED);
  await withParts(source, async (parts) => {
    for (const name of ["a", "b", "c"]) ids.push((await operator(parts).createWorkspace(name)).workspace.id);
    for (let round = 0; round < ROUNDS; round++) {
      const revocable: string[] = [];
      const act = async () => {
        for (const id of ids) {
          const { apiKey, record } = await operator(parts).createKey(key(id));
          keys[record.id] = apiKey;
          revocable.push(record.id);
          const old = random.pick(revocable);
          await operator(parts).revokeKey(old);
        }
      };
      await act();
      let during = Promise.resolve();
      const made = backup(source, home.join("backups"), async () => {
        during = during.then(act);
      });
      await act();
      const path = await made;
      await during;
      await act();
      const dataDir = home.join(`restored-${round}`);
      await restore(path, dataDir);
      expect(await verify(dataDir)).toEqual({ exits: [0, 0], codes: [] });
      const rows = ids.flatMap((id) => stateOf(dataDirectory(dataDir), id).keys);
      const inForce = new Set(rows.filter(({ revokedAt }) => revokedAt === null).map((row) => row.id));
      const asked = Object.fromEntries(Object.entries(keys).slice(-12));
      const statuses = await statusOf(dataDir, asked);
      expect(statuses).toEqual(Object.fromEntries(Object.keys(asked).map((id) => [id, inForce.has(id) ? 200 : 401])));
    }
  });
});

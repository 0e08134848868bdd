/**
 * Backups at any moment of what people and operators do, and restores of them: what the copied logs state is in force, and
 * nothing else.
 */

import { afterAll, expect, setDefaultTimeout } from "bun:test";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { makeBackup } from "../../src/backup/make.ts";
import { type DataDirectory, dataDirectory, presentWorkspaces, workspaceFile } from "../../src/core/datadir/layout.ts";
import { ensureDataDirectory } from "../../src/core/datadir/open.ts";
import { sealKeySource } from "../../src/core/datadir/seal-key.ts";
import { listAccounts, listPasskeys } from "../../src/core/rows/access/accounts.ts";
import { systemClock } from "../../src/ids.ts";
import type { Role } from "../../src/operation-facts.ts";
import { foundWorkspace } from "../../src/ops/accounts/membership.ts";
import type { AccountParts } from "../../src/ops/accounts/parts.ts";
import { deleteWorkspace } from "../../src/ops/directory/deletion.ts";
import { Installation } from "../../src/ops/directory/installation.ts";
import { listWorkspaces } from "../../src/ops/directory/workspaces.ts";
import { openConnection } from "../../src/store/connection.ts";
import { governd } from "../cli/governd.ts";
import { GOVERND, startGovernd } from "../cli/governd-process.ts";
import { effort } from "../effort.ts";
import { filesReleased } from "../released.ts";
import { SEED } from "../seed.ts";
import { Seeded } from "../seeded.ts";
import { Administration, keysIn } from "../support/administration.ts";
import { changeRole, invite, peopleIn, removeMember } from "../support/members.ts";
import { restoreWhole } from "../support/restore.ts";
import { PROCESS_TEST_MS, type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";
import { compared, SecondVerifier } from "../verify/second-verifier.ts";
import { addAccount, joinWith, makePasskey, removePasskey, withParts } from "./people.ts";

setDefaultTimeout(2 * PROCESS_TEST_MS);

const KILLS = effort({ usual: 4, long: 40 });
const ROUNDS = effort({ usual: 2, long: 20 });
const HOUR_MS = 3_600_000;
const python = new SecondVerifier();
afterAll(() => python[Symbol.asyncDispose]());

const operator = (parts: AccountParts, directory: DataDirectory) => new Administration(parts, directory);

async function joins(parts: AccountParts, founder: string, workspaceId: string, role: Role, who: string) {
  const { token } = await invite(parts, founder, { workspaceId, role, label: null, expiresInDays: 7 });
  await joinWith(parts, who, token);
}

const key = (workspaceId: string, expiresInMs: number | null = null) =>
  ({ workspaceId, label: null, scope: "full", agents: null, expiresInMs }) as const;

/** The keys and members of a workspace. */
async function stateOf(directory: DataDirectory, workspaceId: string) {
  const keys = (await keysIn(directory, workspaceId)).map((row) => ({ ...row, lastUsedAt: null }));
  return { keys, members: (await peopleIn(directory, workspaceId)).members };
}

/** What the file of the installation has: accounts, passkeys and workspaces. */
const installationOf = (directory: DataDirectory) =>
  withParts(directory, async ({ installation: { connection } }) => {
    const accounts = await listAccounts(connection);
    const passkeys = await Promise.all(accounts.map(({ id }) => listPasskeys(connection, id)));
    return { accounts, passkeys: passkeys.flat(), workspaces: listWorkspaces(connection) };
  });

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

const backup = async (source: DataDirectory, destination: string, onProgress?: () => Promise<void>) =>
  (await makeBackup({ source, destination, keep: null, clock: systemClock, ...(onProgress && { onProgress }) })).path;

/** A backup of what has changed in every way. */
async function lateBackup(home: TemporaryDirectory) {
  const source = ensureDataDirectory(home.join("data"));
  const made = await withParts(source, async (parts) => {
    const founder = await addAccount(parts, "founder");
    const leaver = await addAccount(parts, "leaver");
    const lowered = await addAccount(parts, "lowered");
    const stranger = await addAccount(parts, "stranger");
    const { membership, apiKey: first } = await foundWorkspace(parts, founder, "late");
    const { id } = membership;
    await joins(parts, founder, id, "owner", leaver);
    await joins(parts, founder, id, "owner", lowered);
    const revoked = await operator(parts, source).createKey(key(id));
    const rotated = await operator(parts, source).createKey(key(id, HOUR_MS));
    await invite(parts, founder, { workspaceId: id, role: "member", label: "unused", expiresInDays: 7 });
    const removed = await makePasskey(parts, founder);
    const open = await invite(parts, founder, { workspaceId: id, role: "member", label: null, expiresInDays: 7 });
    await operator(parts, source).revokeKey(revoked.record.id);
    const successor = await operator(parts, source).rotateKey(rotated.record.id, 0);
    const created = await operator(parts, source).createKey(key(id));
    const createdAndRevoked = await operator(parts, source).createKey(key(id));
    await operator(parts, source).revokeKey(createdAndRevoked.record.id);
    await removeMember(parts, founder, { workspaceId: id, accountId: leaver });
    await changeRole(parts, founder, { workspaceId: id, accountId: lowered, role: "auditor" });
    await joinWith(parts, stranger, open.token);
    const newcomer = await addAccount(parts, "newcomer");
    await joins(parts, founder, id, "owner", newcomer);
    const added = await makePasskey(parts, founder);
    await removePasskey(parts, founder, removed);
    const { membership: founded } = await foundWorkspace(parts, founder, "later");
    return {
      ...{ id, removed, added, founded: founded.id, log: parts.installation.id },
      people: { founder, lowered, stranger, newcomer },
      keys: {
        ...{ first, revoked: revoked.apiKey, rotated: rotated.apiKey, successor: successor.apiKey },
        ...{ created: created.apiKey, createdAndRevoked: createdAndRevoked.apiKey },
      },
    };
  });
  const expected = { ...(await stateOf(source, made.id)), ...(await installationOf(source)) };
  await filesReleased(source.root);
  return { ...made, expected, path: await backup(source, home.join("backups")) };
}

const STATUSES = { first: 200, revoked: 401, rotated: 401, successor: 200, created: 200, createdAndRevoked: 401 };

compared("what the logs state is in force after a restore, and the indexes are made anew from it", async () => {
  using home = temporaryDirectory();
  const { id, removed, added, founded, people, keys, expected, path } = await lateBackup(home);
  const dataDir = home.join("restored");
  const { code, out } = await governd(["restore", "--keep-rights", path, "--data-dir", dataDir]);
  expect([code, out]).toEqual([0, expect.stringContaining("Restored and verified 3 workspaces")]);
  for (const text of Object.values(keys)) expect(out).not.toContain(text);
  const directory = dataDirectory(dataDir);
  const restored = { ...(await stateOf(directory, id)), ...(await installationOf(directory)) };
  expect(restored).toEqual(expected);
  const passkeys = restored.passkeys.map((passkey) => passkey.id);
  expect([passkeys.includes(added), passkeys.includes(removed)]).toEqual([true, false]);
  expect(restored.workspaces.map((one) => one.id)).toEqual([id, founded]);
  expect((await peopleIn(directory, id)).invitations).toEqual([]);
  // The directory has everybody who is a member.
  {
    using installation = await Installation.open(directory);
    const entries = installation.connection.all<[string, string]>("SELECT account_id, workspace_id FROM directory");
    const belong = Object.values(people).map((account) => [account, id] as [string, string]);
    expect(entries).toEqual(expect.arrayContaining([...belong, [people.founder, founded]]));
  }
  expect(await verify(dataDir)).toEqual({ exits: [0, 0], codes: [] });
  expect(await statusOf(dataDir, keys)).toEqual(STATUSES);
});

compared("of the restored rows none may be as it was before the changes", async () => {
  using home = temporaryDirectory();
  const { path, id, people, founded, log, added } = await lateBackup(home);
  const dataDir = home.join("restored");
  await restoreWhole(path, dataDir);
  const workspace = workspaceFile(dataDirectory(dataDir), id);
  const installation = workspaceFile(dataDirectory(dataDir), log);
  const passkey = `INSERT INTO passkeys SELECT 'pky_01h455vb4pex5vsknk084sn02q', account_id, host, created_seq, used_seq,
    counter, 'other', name, public_key, salt FROM passkeys`;
  const link = `INSERT INTO links SELECT 'inv_01h455vb4pex5vsknk084sn02q', '${"0".repeat(64)}', 'setup', NULL, 0,
    ${Date.now() + HOUR_MS}, created_seq, NULL, NULL FROM accounts LIMIT 1`;
  const session = `INSERT INTO sessions SELECT 'ses_01h455vb4pex5vsknk084sn02q', id, created_seq, ${Date.now() + HOUR_MS},
    NULL, '::1', '${"0".repeat(64)}', NULL, 'Mozilla', '${"0".repeat(32)}' FROM accounts LIMIT 1`;
  const changes: [file: string, sql: string, code: string][] = [
    [installation, passkey, "row_added"],
    [installation, link, "row_added"],
    [installation, session, "row_added"],
    [installation, `DELETE FROM passkeys WHERE id = '${added}'`, "row_missing"],
    [installation, `DELETE FROM workspaces WHERE id = '${founded}'`, "row_missing"],
    [installation, `UPDATE accounts SET password = '' WHERE id = '${people.founder}'`, "row_changed"],
    [workspace, "UPDATE members SET role = 'owner' WHERE role = 'auditor'", "row_changed"],
    [workspace, "INSERT INTO members VALUES ('usr_01h455vb4pex5vsknk084sn02q', 'owner', NULL, 2, 2)", "row_added"],
    [workspace, "UPDATE invitations SET ended_seq = NULL WHERE used_by IS NULL", "row_changed"],
    [workspace, "UPDATE invitations SET ended_seq = NULL, used_by = NULL", "row_changed"],
  ];
  for (const [file, sql, code] of changes) {
    const before = readFileSync(file);
    const connection = openConnection(file);
    connection.exec(sql);
    connection.truncateLog();
    connection.close();
    const { exits, codes } = await verify(dataDir);
    expect([sql, exits, codes]).toEqual([sql, [1, 1], expect.arrayContaining([code])]);
    await filesReleased(dataDir);
    for (const end of ["-wal", "-shm"]) rmSync(`${file}${end}`, { force: true });
    writeFileSync(file, before);
  }
});

compared("a restore that is killed leaves nothing in use, and the next one is whole", async () => {
  using home = temporaryDirectory();
  const { path, keys } = await lateBackup(home);
  const random = new Seeded(SEED);
  for (let round = 0; round < KILLS; round++) {
    const dataDir = home.join(`killed-${round}`);
    const child = Bun.spawn([...GOVERND, "restore", "--keep-rights", path, "--data-dir", dataDir], {
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
  await restoreWhole(path, dataDir);
  expect(await statusOf(dataDir, keys)).toEqual(STATUSES);
});

compared("a workspace that is only half made, or half deleted, when a backup is made is not restored", async () => {
  using home = temporaryDirectory();
  const source = ensureDataDirectory(home.join("data"));
  let installation = "";
  const dies = async () => {
    throw new Error("killed");
  };
  const first = await withParts(source, async (parts) => {
    installation = parts.installation.id;
    const founder = await addAccount(parts, "founder");
    const { membership } = await foundWorkspace(parts, founder, "first");
    const deleted = await operator(parts, source).createWorkspace("deleted");
    const { record, discard } = parts.journal;
    // The process dies before the event that adds the workspace.
    Object.assign(parts.journal, {
      record: (id: string, event: never) => (id === installation ? dies() : record(id, event)),
      discard: dies,
    });
    await expect(foundWorkspace(parts, founder, "second")).rejects.toThrow("killed");
    // Another one dies behind the event that deletes one.
    Object.assign(parts.journal, {
      discard,
      record: async (id: string, event: never) => {
        await record(id, event);
        await dies();
      },
    });
    const deleting = deleteWorkspace(parts, source, sealKeySource(source, null), deleted.workspace.id);
    await expect(deleting).rejects.toThrow("killed");
    return membership.id;
  });
  await filesReleased(source.root);
  expect(presentWorkspaces(source).length).toBe(4);
  const path = await backup(source, home.join("backups"));
  expect(await verify(path)).toEqual({ exits: [0, 0], codes: [] });
  const dataDir = home.join("restored");
  await restoreWhole(path, dataDir);
  expect(presentWorkspaces(dataDirectory(dataDir)).sort()).toEqual([first, installation].sort());
  expect(await verify(dataDir)).toEqual({ exits: [0, 0], codes: [] });
});

compared("acts at any moment of a backup are in force after its restore exactly when its logs have them", async () => {
  using home = temporaryDirectory();
  const source = ensureDataDirectory(home.join("data"));
  const ids: string[] = [];
  const keys: Record<string, string> = {};
  const random = new Seeded(SEED);
  let people = 0;
  await withParts(source, async (parts) => {
    const founder = await addAccount(parts, "founder");
    for (const name of ["a", "b", "c"]) ids.push((await foundWorkspace(parts, founder, name)).membership.id);
    for (let round = 0; round < ROUNDS; round++) {
      const revocable: string[] = [];
      const act = async () => {
        for (const id of ids) {
          const { apiKey, record } = await operator(parts, source).createKey(key(id));
          keys[record.id] = apiKey;
          revocable.push(record.id);
          const old = random.pick(revocable);
          await operator(parts, source).revokeKey(old);
        }
        await joins(parts, founder, random.pick(ids), "member", await addAccount(parts, `person-${people++}`));
      };
      await act();
      // One after the other: two writers of one file in one thread would wait for each other.
      let during = act();
      const path = await backup(source, home.join("backups"), async () => {
        during = during.then(act);
      });
      await during;
      await act();
      const dataDir = home.join(`restored-${round}`);
      await restoreWhole(path, dataDir);
      expect(await verify(dataDir)).toEqual({ exits: [0, 0], codes: [] });
      const directory = dataDirectory(dataDir);
      const states = await Promise.all(ids.map((id) => stateOf(directory, id)));
      // Whoever is a member has an account, although the workspaces were copied after the accounts.
      const accounts = new Set((await installationOf(directory)).accounts.map(({ id }) => id));
      for (const { accountId } of states.flatMap(({ members }) => members)) expect(accounts).toContain(accountId);
      const rows = states.flatMap((state) => state.keys);
      const inForce = new Set(rows.filter(({ revokedAt }) => revokedAt === null).map((row) => row.id));
      const asked = Object.fromEntries(Object.entries(keys).slice(-12));
      const statuses = await statusOf(dataDir, asked);
      expect(statuses).toEqual(Object.fromEntries(Object.keys(asked).map((id) => [id, inForce.has(id) ? 200 : 401])));
    }
  });
});

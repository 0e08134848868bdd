/** What a restore makes of keys, memberships and what else gives rights in its copy: nothing comes back unasked. */

import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, truncateSync, writeFileSync } from "node:fs";
import { makeBackup } from "../../src/backup/make.ts";
import type { RestoreRequest } from "../../src/backup/restore.ts";
import { type DataDirectory, dataDirectory, presentWorkspaces, workspaceFile } from "../../src/core/datadir/layout.ts";
import { ensureDataDirectory } from "../../src/core/datadir/open.ts";
import { listAccounts, listPasskeys, NO_PASSWORD } from "../../src/core/rows/access/accounts.ts";
import { keyState } from "../../src/core/rows/access/keys.ts";
import { listStoredSessions } from "../../src/core/rows/access/sessions.ts";
import { systemClock } from "../../src/ids.ts";
import { addressDetails } from "../../src/ops/accounts/failed-sign-ins.ts";
import { foundWorkspace } from "../../src/ops/accounts/membership.ts";
import { type AccountParts, asAccount, withoutRow } from "../../src/ops/accounts/parts.ts";
import { noteMember } from "../../src/ops/directory/directory.ts";
import { digestOf } from "../../src/ops/directory/secret.ts";
import { openConnection } from "../../src/store/connection.ts";
import { governd } from "../cli/governd.ts";
import { filesReleased } from "../released.ts";
import { Administration, keysIn } from "../support/administration.ts";
import { changeRole, invite, peopleIn, removeMember, requireSecondFactor, setOperator } from "../support/members.ts";
import { restoreWhole } from "../support/restore.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { HAS_PYTHON, SecondVerifier } from "../verify/second-verifier.ts";
import { FilledDirectory } from "./data-directory.ts";
import { addAccount, joinWith, makePasskey, removePasskey, sessionOf, signedIn, withParts } from "./people.ts";

setDefaultTimeout(2 * PROCESS_TEST_MS);

const python = new SecondVerifier();
const home = temporaryDirectory();
afterAll(async () => {
  await python[Symbol.asyncDispose]();
  home[Symbol.dispose]();
});

const PEOPLE = ["founder", "leaver", "lowered", "stays"] as const;
type People = Record<(typeof PEOPLE)[number], string>;

async function accountsIn(parts: AccountParts): Promise<People> {
  const made: [string, string][] = [];
  for (const name of PEOPLE) made.push([name, await addAccount(parts, name)]);
  return Object.fromEntries(made) as People;
}

/** A directory, a backup of it, and what was lost in the directory afterwards. */
async function lostSince() {
  const source = ensureDataDirectory(home.join("data"));
  const made = await withParts(source, async (parts) => {
    const people = await accountsIn(parts);
    const { membership, keyId: first } = await foundWorkspace(parts, people.founder, "one");
    const workspaceId = membership.id;
    // Who requires a second factor has one.
    await makePasskey(parts, people.founder);
    for (const accountId of [people.leaver, people.lowered, people.stays]) {
      const wish = { workspaceId, role: "owner", label: null, expiresInDays: 1 } as const;
      await joinWith(parts, accountId, (await invite(parts, people.founder, wish)).token);
    }
    await setOperator(parts, people.leaver, true);
    await setOperator(parts, people.stays, true);
    const operator = new Administration(parts, source);
    const make = async (label: string) => (await operator.createKey({ workspaceId, label })).record.id;
    const keys = { first, revoked: await make("r"), rotated: await make("o"), limited: await make("l") };
    const wish = { workspaceId, role: "owner", label: null, expiresInDays: 1 } as const;
    // Somebody whose account was made after the log of the installation was copied.
    const unknown = parts.ids.next("usr");
    const digest = digestOf((await invite(parts, people.founder, wish)).token).toHex();
    await noteMember(parts, unknown, [workspaceId]);
    await parts.workspaces.change(withoutRow(unknown, workspaceId), "member.join", { accountId: unknown, digest });
    const open = await invite(parts, people.founder, wish);
    const passkeys = {
      removed: await makePasskey(parts, people.leaver),
      left: await makePasskey(parts, people.leaver),
    };
    const session = await signedIn(parts, people.stays);
    const asked = { kind: "reset", accountId: people.stays, endsSecondFactor: true } as const;
    const { token: link } = await operator.changeAccount("account.link", asked);
    const erased = await addAccount(parts, "erased");
    return { erased, workspaceId, people, keys, unknown, open, passkeys, session, link: String(link) };
  });
  await filesReleased(source.root);
  const destination = home.join("backups");
  const { path } = await makeBackup({ source, destination, keep: null, clock: systemClock });
  const { workspaceId, people, keys, passkeys, erased } = made;
  await withParts(source, async (parts) => {
    const operator = new Administration(parts, source);
    await operator.revokeKey(keys.revoked);
    await operator.rotateKey(keys.rotated, 3_600_000);
    await operator.limitKey(keys.limited, ["10.0.0.0/8"]);
    await removeMember(parts, people.founder, { workspaceId, accountId: people.leaver });
    await changeRole(parts, people.founder, { workspaceId, accountId: people.lowered, role: "auditor" });
    await requireSecondFactor(parts, people.founder, workspaceId, true);
    await setOperator(parts, people.leaver, false);
    const accountId = people.lowered;
    const password = { accountId, from: null, password: "another hash", keep: null };
    await parts.workspaces.change(asAccount(parts, accountId), "account.change_password", password);
    await removePasskey(parts, people.leaver, passkeys.removed);
    await operator.changeAccount("account.erase", { accountId: erased, proof: null });
  });
  await filesReleased(source.root);
  return { source, path, ...made };
}

let prepared: ReturnType<typeof lostSince> | null = null;
const lost = () => (prepared ??= lostSince());

let count = 0;
async function restored(rights: RestoreRequest["rights"]): Promise<DataDirectory> {
  const { path } = await lost();
  const dataDir = home.join(`restored-${count++}`);
  await restoreWhole(path, dataDir, { rights });
  await filesReleased(dataDir);
  return dataDirectory(dataDir);
}

/** What gives rights in a directory. */
async function rightsIn(directory: DataDirectory) {
  const { workspaceId, people, keys, passkeys } = await lost();
  const stored = await keysIn(directory, workspaceId);
  const { members, secondFactorSince } = await peopleIn(directory, workspaceId);
  const accounts = await withParts(directory, async (parts) => ({
    log: parts.installation.id,
    stored: await listAccounts(parts.installation.connection),
    passkeys: await listPasskeys(parts.installation.connection, people.leaver),
  }));
  const operators = (await peopleIn(directory, accounts.log)).members;
  const keyOf = (id: string) => stored.find((key) => key.id === id);
  return {
    keys: Object.fromEntries(
      Object.entries(keys).map(([name, id]) => {
        const key = keyOf(id);
        return [name, key && keyState(key, Date.now()) === "in_force" ? (key.networks ?? "anywhere") : "ended"];
      }),
    ),
    members: Object.fromEntries(
      PEOPLE.map((name) => {
        const member = members.find(({ accountId }) => accountId === people[name]);
        return [name, member?.role ?? null];
      }),
    ),
    operators: PEOPLE.filter((name) => operators.some(({ accountId }) => accountId === people[name])),
    secondFactor: secondFactorSince !== null,
    voidPasswords: PEOPLE.filter(
      (name) => accounts.stored.find(({ id }) => id === people[name])?.password === NO_PASSWORD,
    ),
    passkeys: Object.entries(passkeys).flatMap(([name, id]) =>
      accounts.passkeys.some((one) => one.id === id) ? [name] : [],
    ),
  };
}

async function expectVerified({ root }: DataDirectory): Promise<void> {
  const { code, out } = await governd(["verify", root]);
  expect(code, out).toBe(0);
  if (!HAS_PYTHON) return;
  const theirs = await python.run(root);
  expect(theirs.code, theirs.out).toBe(0);
}

type Found = Awaited<ReturnType<typeof rightsIn>>;

const AS_BEFORE: Found = {
  keys: { first: "anywhere", revoked: "anywhere", rotated: "anywhere", limited: "anywhere" },
  members: { founder: "owner", leaver: "owner", lowered: "owner", stays: "owner" },
  operators: ["leaver", "stays"],
  secondFactor: false,
  voidPasswords: [],
  passkeys: ["removed", "left"],
};

const WITHOUT_LOSSES: Found = {
  keys: { first: "anywhere", revoked: "ended", rotated: "ended", limited: ["10.0.0.0/8"] },
  members: { founder: "owner", leaver: null, lowered: "auditor", stays: "owner" },
  operators: ["stays"],
  secondFactor: true,
  voidPasswords: ["lowered"],
  passkeys: ["left"],
};

test("without a choice nothing is restored, and the keys and members are listed", async () => {
  const { path, keys, people, workspaceId } = await lost();
  const { code, err } = await governd(["restore", path, "--data-dir", home.join("refused")]);
  expect(code).toBe(2);
  for (const id of [workspaceId, ...Object.values(keys), ...Object.values(people)]) expect(err).toContain(id);
  expect(err).toContain("--later");
  await expect(Bun.file(home.join("refused", "installation.json")).exists()).resolves.toBe(false);
});

test("kept, all are as they were", async () => {
  const directory = await restored({ later: [], otherwise: "kept" });
  expect(await rightsIn(directory)).toEqual(AS_BEFORE);
  await expectVerified(directory);
});

test("ended, no key and no membership is left, and a link lets an owner in", async () => {
  const directory = await restored({ later: [], otherwise: "ended" });
  const { keys, members, operators } = await rightsIn(directory);
  expect([...new Set([...Object.values(keys), ...Object.values(members)])]).toEqual(["ended", null]);
  expect(operators).toEqual([]);
  await expectVerified(directory);
  const { workspaceId } = await lost();
  const words = ["account", "link", "--workspace", workspaceId, "--data-dir", directory.root, "--json"];
  expect((await governd(words)).code).toBe(0);
});

test("with the directory that is replaced, what was lost since is lost again", async () => {
  const { source } = await lost();
  const directory = await restored({ later: [source.root], otherwise: null });
  expect(await rightsIn(directory)).toEqual(WITHOUT_LOSSES);
  await expectVerified(directory);
});

test("an account that was erased since is erased again", async () => {
  const { source, erased } = await lost();
  for (const [later, isThere] of [
    [[], true],
    [[source.root], false],
  ] as const) {
    const directory = await restored({ later, otherwise: "kept" });
    const accounts = await withParts(directory, ({ installation }) => listAccounts(installation.connection));
    expect(accounts.some(({ id }) => id === erased)).toBe(isThere);
    await expectVerified(directory);
  }
});

test.each(["json", "ndjson"])("an export in %s settles its log, and the flag the others", async (format) => {
  const { source } = await lost();
  const file = home.join(`later.${format}`);
  const words = ["audit", "--installation", "--export", file, "--format", format, "--data-dir", source.root];
  const made = await governd(words);
  expect(made.code, made.err).toBe(0);
  const directory = await restored({ later: [file], otherwise: "kept" });
  const { operators, voidPasswords, passkeys } = WITHOUT_LOSSES;
  expect(await rightsIn(directory)).toEqual({ ...AS_BEFORE, operators, voidPasswords, passkeys });
  await expectVerified(directory);
});

test.each(["its directory", "an export of the installation"])(
  "a workspace that was deleted since is deleted again: %s is given",
  async (given) => {
    using from = await FilledDirectory.make(2);
    const [gone, other] = from.ids as [string, string];
    const made = await makeBackup({ source: from.data, destination: from.destination, keep: null, clock: systemClock });
    expect(
      await governd(["workspace", "delete", "--workspace", gone, "--yes", "--data-dir", from.data.root]),
    ).toMatchObject({ code: 0 });
    const file = from.join("later.json");
    const words = ["audit", "--installation", "--export", file, "--format", "json", "--data-dir", from.data.root];
    expect(await governd(words)).toMatchObject({ code: 0 });
    await filesReleased(from.data.root);
    const later = given === "its directory" ? from.data.root : file;
    const directory = dataDirectory(from.join("restored"));
    const choice = given === "its directory" ? [] : ["--keep-rights"];
    const restoring = ["restore", made.path, "--later", later, ...choice, "--data-dir", directory.root];
    const ran = await governd(restoring);
    expect([ran.code, ran.err]).toEqual([0, ""]);
    const listed = await governd(["workspace", "list", "--json", "--data-dir", directory.root]);
    expect(listed.json<{ data: { workspace_id: string }[] }>().data.map((one) => one.workspace_id)).toEqual([other]);
    expect(presentWorkspaces(directory).sort()).toEqual([from.installation, other].sort());
    await filesReleased(directory.root);
    await expectVerified(directory);
  },
);

const CHOICES: [what: string, rights: () => Promise<RestoreRequest["rights"]>][] = [
  ["kept", async () => ({ later: [], otherwise: "kept" })],
  ["ended", async () => ({ later: [], otherwise: "ended" })],
  ["those of a later log", async () => ({ later: [(await lost()).source.root], otherwise: null })],
];

test.each(CHOICES)(
  "%s: sessions, links and invitations end, unknown accounts are no members, and the directory has all members",
  async (_what, rights) => {
    const { workspaceId, people, unknown, open, session, link } = await lost();
    const directory = await restored(await rights());
    const { members, invitations } = await peopleIn(directory, workspaceId);
    expect(invitations).toEqual([]);
    expect(members.map(({ accountId }) => accountId)).not.toContain(unknown);
    await withParts(directory, async (parts) => {
      const { connection } = parts.installation;
      expect(await sessionOf(parts, session)).toBeUndefined();
      const taken = { digest: digestOf(link).toHex(), password: "mine", address: addressDetails(null) };
      const resetting = parts.workspaces.change(asAccount(parts, people.stays), "account.reset_password", taken);
      await expect(resetting).rejects.toThrow("The link was used");
      const log = parts.installation.id;
      const operators = (await peopleIn(directory, log)).members;
      const belong = [
        ...members.map((one) => [one.accountId, workspaceId]),
        ...operators.map((one) => [one.accountId, log]),
      ];
      const entries = connection.all<[string, string]>("SELECT account_id, workspace_id FROM directory");
      expect(entries).toEqual(expect.arrayContaining(belong as [string, string][]));
      for (const account of Object.values(people)) {
        expect(await listStoredSessions(parts.installation.connection, account)).toEqual([]);
        const listed = (await parts.memberships.list(account)).map(({ id }) => id);
        expect(listed).toEqual(members.some(({ accountId }) => accountId === account) ? [workspaceId] : []);
      }
    });
    // The directory is used from here on: somebody signs in again, and the invitation has ended.
    await withParts(directory, async (parts) => {
      await signedIn(parts, people.founder);
      await expect(joinWith(parts, people.founder, open.token)).rejects.toThrow("The link was used");
    });
    await expectVerified(directory);
  },
);

test("a file that settles one workspace leaves the others to a flag", async () => {
  const { source, path, workspaceId } = await lost();
  const words = ["restore", path, "--data-dir", home.join("half"), "--later", workspaceFile(source, workspaceId)];
  const { code, err } = await governd(words);
  expect([code, err.includes("Nothing was restored")]).toEqual([2, true]);
  // What is settled is not listed again.
  expect(err).not.toContain(`${workspaceId}:`);
});

test("a later log that does not verify, or is another's, is refused, and passed over in a directory", async () => {
  const { source, path, workspaceId } = await lost();
  const damaged = home.join(`${workspaceId}.db`);
  copyFileSync(workspaceFile(source, workspaceId), damaged);
  {
    using connection = openConnection(damaged);
    connection.run("UPDATE keys SET ended_seq = NULL");
    connection.truncateLog();
  }
  const restore = (...later: string[]) =>
    governd(["restore", path, "--data-dir", home.join("refused"), ...later.flatMap((one) => ["--later", one])]);
  const tampered = await restore(damaged);
  expect([tampered.code, tampered.err.includes("cannot be used")]).toEqual([2, true]);
  const cut = home.join("cut.db");
  copyFileSync(damaged, cut);
  truncateSync(cut, 4096);
  expect((await restore(cut)).err).toContain("cannot be used");
  writeFileSync(home.join("text"), "no log");
  expect((await restore(home.join("text"))).err).toContain("cannot be used");
  expect((await restore(home.join("absent"))).err).toContain("is missing");
  expect((await restore(home.path)).err).toContain("Nothing was restored");
});

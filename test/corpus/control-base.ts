/** A data directory whose control database has a row of every kind that events cover. Made by the real functions. */
import { cpSync } from "node:fs";
import { join } from "node:path";
import { type DataDirectory, dataDirectory } from "../../src/core/datadir/layout.ts";
import { ensureDataDirectory } from "../../src/core/datadir/open.ts";
import { IdSource, RandomPool, systemClock } from "../../src/ids.ts";
import { type AccountRecord, findAccount, insertAccount } from "../../src/ops/accounts/accounts.ts";
import { FactorKey } from "../../src/ops/accounts/factor-key.ts";
import { createLink } from "../../src/ops/accounts/links.ts";
import {
  acceptInvitation,
  changeRole,
  foundWorkspace,
  invite,
  removeMember,
  requireSecondFactor,
  uninvite,
} from "../../src/ops/accounts/membership.ts";
import { setOperator } from "../../src/ops/accounts/operators.ts";
import { type AccountParts, administrationOf, ownEvent } from "../../src/ops/accounts/parts.ts";
import { addPasskey, beginPasskey, type PasskeyChallenge, removePasskey } from "../../src/ops/accounts/passkeys.ts";
import { Waiting } from "../../src/ops/accounts/waiting.ts";
import { act, INSTALLATION } from "../../src/ops/directory/acts.ts";
import { Administration } from "../../src/ops/directory/administration.ts";
import { ControlDatabase } from "../../src/ops/directory/database.ts";
import { fileJournal, type WorkspaceJournal } from "../../src/ops/directory/journal.ts";
import type { Connection } from "../../src/store/connection.ts";
import { copyDatabase } from "../../src/store/snapshot.ts";
import { AuthenticatorByHand } from "../account/authenticator-by-hand.ts";

const DAY_MS = 86_400_000;

/** What is in the directory. */
export interface ControlBase {
  root: string;
  directory: DataDirectory;
  workspaceId: string;
  otherId: string;
  keys: Record<"first" | "limited" | "successor" | "revoked" | "other", string>;
  people: Record<"founder" | "member" | "removed" | "stranger", string>;
  invitations: Record<"used" | "open" | "withdrawn", string>;
  /** Copies of the control database before and after the event of the last act, which was pending then. */
  pending: { root: string; before: string; after: string };
}

/** Calls `work` with what acts in a directory need, whether or not a daemon runs on it. */
export async function withParts<T>(
  directory: DataDirectory,
  work: (parts: AccountParts) => Promise<T>,
  wrap: (journal: WorkspaceJournal) => WorkspaceJournal = (journal) => journal,
): Promise<T> {
  using control = ControlDatabase.open(directory);
  const random = new RandomPool();
  const unused = undefined as never;
  return await work({
    ...{ control, clock: systemClock, ids: new IdSource(systemClock, random), random },
    ...{
      journal: wrap(fileJournal(directory)),
      passwords: unused,
      attempts: unused,
      failures: unused,
      signup: "open",
      issuerOnly: false,
    },
    factorKey: new FactorKey(directory),
    caFile: null,
  });
}

export async function makeControlBase(root: string): Promise<ControlBase> {
  const directory = ensureDataDirectory(join(root, "data"));
  const made = await withParts(directory, (parts) => fillControl(parts));
  const pending = { root: join(root, "pending"), before: join(root, "before.db"), after: join(root, "after.db") };
  const base = { ...made, root: directory.root, directory, pending };
  cpSync(directory.root, pending.root, { recursive: true });
  await cutOff(base);
  return base;
}

/** Performs acts that leave a row of every kind. */
export async function fillControl(parts: AccountParts) {
  const { control, ids } = parts;
  const account = (name: string, totpSince: number | null = null): string => {
    const id = ids.next("usr");
    const secrets = { password: "", totpSecret: null, totpSince, totpStep: 0 };
    insertAccount(control.connection, { id, email: `${name}@example.com`, name, ...secrets, createdAt: systemClock() });
    return id;
  };
  const people = {
    founder: account("founder", systemClock()),
    member: account("member"),
    removed: account("removed"),
    stranger: account("stranger"),
  };
  const { founder } = people;
  const { workspace, record: first } = await foundWorkspace(parts, founder, "corpus");
  const workspaceId = workspace.id;
  const administration = administrationOf(parts, founder);
  const operator = new Administration({ ...parts, actor: "cli", permit: () => {} });
  const other = await operator.createWorkspace("other");
  const wish = {
    ...({ workspaceId, label: "limited", scope: "agent", agents: ["a", "b"] } as const),
    ...{ networks: ["10.0.0.0/8", "2001:db8::/32"], expiresInMs: DAY_MS },
  };
  const limited = await administration.createKey(wish);
  await administration.limitKey(limited.record.id, ["192.0.2.7"]);
  const successor = await administration.rotateKey(limited.record.id, 60_000);
  const revoked = await operator.createKey({ ...wish, label: null, agents: null, expiresInMs: null });
  await operator.revokeKey(revoked.record.id);
  const invitation = (role: "member" | "owner") =>
    invite(parts, founder, { workspaceId, role, label: "somebody", expiresInDays: 7 });
  const used = await invitation("member");
  await acceptInvitation(parts, people.member, used.token);
  const second = await invitation("owner");
  await acceptInvitation(parts, people.removed, second.token);
  await changeRole(parts, founder, { workspaceId, accountId: people.removed, role: "auditor" });
  await removeMember(parts, people.removed, { workspaceId, accountId: people.removed });
  const open = await invitation("member");
  const withdrawn = await invitation("member");
  await uninvite(parts, founder, { workspaceId, invitationId: withdrawn.link.id });
  await createLink(control, systemClock, { kind: "invitation", createdBy: "cli", workspaceId, role: "owner" });
  await createLink(control, systemClock, { kind: "setup", createdBy: "cli" });
  await requireSecondFactor(parts, founder, workspaceId, true);
  await setOperator(parts, founder, true, "cli");
  await setOperator(parts, people.member, true, "cli");
  await setOperator(parts, people.member, false, "cli");
  for (const person of [founder, people.member]) signedIn(control.connection, person);
  for (const person of [founder, people.member]) byIssuer(control.connection, person, workspaceId);
  await makePasskeys(parts, people);
  return {
    ...{ workspaceId, otherId: other.workspace.id, people },
    keys: {
      ...{ first: first.id, limited: limited.record.id, successor: successor.record.id },
      ...{ revoked: revoked.record.id, other: other.record.id },
    },
    invitations: { used: used.link.id, open: open.link.id, withdrawn: withdrawn.link.id },
  };
}

/** Makes a passkey for each of two people, one that is removed, and one that a new password ends. */
async function makePasskeys(parts: AccountParts, people: ControlBase["people"]): Promise<void> {
  const challenges = new Waiting<PasskeyChallenge>(parts.random, systemClock);
  const base = "https://governd.example.org";
  const add = async (accountId: string): Promise<string> => {
    const account = findAccount(parts.control.connection, accountId) as AccountRecord;
    const { challenge } = beginPasskey(parts, challenges, account, base);
    const made = await (await AuthenticatorByHand.make()).register({ challenge, host: new URL(base).hostname });
    const { credential_id: credentialId, client_data: clientData, attestation } = made;
    const of = { accountId, base };
    return (await addPasskey(parts, challenges, of, { name: "phone", credentialId, clientData, attestation })).record
      .id;
  };
  await add(people.founder);
  await add(people.member);
  await removePasskey(parts, people.member, await add(people.member));
  await add(people.stranger);
  const link_id = parts.ids.next("inv");
  const ended = { link_id, second_factor_ended: true, address: null, address_kind: "unknown" } as const;
  await act(parts, INSTALLATION, () => ({
    event: ownEvent("account.reset_password", people.stranger, ended),
    changes: [["dropPasskeys", { id: people.stranger }]],
  }));
}

/** Adds the rows of an account that signed in with the issuer, and of a workspace with sinks. */
function byIssuer(connection: Connection, account: string, workspaceId: string): void {
  connection.run("INSERT INTO identities VALUES ('https://id.example.org', 's-' || ?, ?, 1, 0)", [account, account]);
  connection.run("INSERT INTO issued_roles VALUES (?, ?)", [workspaceId, account]);
  connection.run("INSERT OR IGNORE INTO sink_workspaces VALUES (?, 1)", [workspaceId]);
}

/** Adds the rows of an account that signed in with a second factor. */
function signedIn(connection: Connection, account: string): void {
  connection.run("INSERT INTO recovery_codes VALUES (?, randomblob(32))", [account]);
  connection.run("INSERT INTO devices VALUES (randomblob(32), ?, 1)", [account]);
  connection.run("INSERT INTO sessions VALUES ('ses_' || ?, ?, randomblob(32), 1, 2, 3, '::1', 'Mozilla', NULL)", [
    account,
    account,
  ]);
}

/** Revokes a key in a copy of the directory, and copies the control database before and after its event. */
async function cutOff({ pending, keys }: ControlBase): Promise<void> {
  const directory = dataDirectory(pending.root);
  const wrap = (journal: WorkspaceJournal): WorkspaceJournal => ({
    ...journal,
    record: async (id, event) => {
      copyDatabase(directory.control, pending.before);
      const recorded = await journal.record(id, event);
      copyDatabase(directory.control, pending.after);
      return recorded;
    },
  });
  await withParts(
    directory,
    (parts) => new Administration({ ...parts, actor: "cli", permit: () => {} }).revokeKey(keys.first),
    wrap,
  );
}

/**
 * A data directory whose log of the installation has every operation on accounts, and whose file has a row of every kind. Made
 * by the real functions.
 */
import { join } from "node:path";
import { type DataDirectory, workspaceFile } from "../../src/core/datadir/layout.ts";
import { ensureDataDirectory } from "../../src/core/datadir/open.ts";
import { sealKeySource } from "../../src/core/datadir/seal-key.ts";
import { findAccount, listIdentities, listPasskeys, type StoredAccount } from "../../src/core/rows/access/accounts.ts";
import { storeNote } from "../../src/core/rows/access/notes.ts";
import { systemPrincipal } from "../../src/core/writer/contract.ts";
import { IdSource, RandomPool, systemClock } from "../../src/ids.ts";
import type { NewAccount } from "../../src/operation-facts.ts";
import type { OperationInputs } from "../../src/operations.ts";
import { beginSession } from "../../src/ops/accounts/begin-session.ts";
import { FactorKey } from "../../src/ops/accounts/factor-key.ts";
import { addressDetails } from "../../src/ops/accounts/failed-sign-ins.ts";
import { acceptInvitation, foundWorkspace } from "../../src/ops/accounts/membership.ts";
import { type AccessChange, type AccountParts, asAccount, withoutRow } from "../../src/ops/accounts/parts.ts";
import { addPasskey, beginPasskey, type PasskeyChallenge } from "../../src/ops/accounts/passkeys.ts";
import { Waiting } from "../../src/ops/accounts/waiting.ts";
import { deleteWorkspace } from "../../src/ops/directory/deletion.ts";
import { noteMember } from "../../src/ops/directory/directory.ts";
import { Installation } from "../../src/ops/directory/installation.ts";
import { cliPrincipal, fileJournal, type WorkspaceJournal, withWriter } from "../../src/ops/directory/journal.ts";
import { digestOf } from "../../src/ops/directory/secret.ts";
import { AuthenticatorByHand } from "../account/authenticator-by-hand.ts";
import { Administration } from "../support/administration.ts";
import {
  changeRole,
  invite,
  membershipParts,
  removeMember,
  requireSecondFactor,
  setOperator,
  uninvite,
} from "../support/members.ts";

const DAY_MS = 86_400_000;
const ISSUER = "https://id.example.org";
const ORIGIN = { address: "203.0.113.7", userAgent: "Mozilla/5.0 (corpus)", device: null };
const ADDRESS = addressDetails(ORIGIN.address);

/** What is in the directory. */
export interface InstallationBase {
  root: string;
  directory: DataDirectory;
  /** The log of the installation, and its file. */
  installation: string;
  database: string;
  workspaceId: string;
  otherId: string;
  deletedId: string;
  keys: Record<"first" | "limited" | "successor" | "revoked" | "other", string>;
  people: Record<Person, string>;
  invitations: Record<"used" | "open" | "withdrawn", string>;
  passkeys: Record<"founder" | "member", string>;
}

type Person = "founder" | "member" | "removed" | "grouped" | "stranger";

/** Calls `work` with what acts in a directory need, whether or not a daemon runs on it. */
export async function withParts<T>(
  directory: DataDirectory,
  work: (parts: AccountParts) => Promise<T>,
  wrap: (journal: WorkspaceJournal) => WorkspaceJournal = (journal) => journal,
): Promise<T> {
  using installation = await Installation.open(directory);
  using members = membershipParts(directory, installation);
  const { workspaces, memberships } = members;
  const random = new RandomPool();
  const unused = undefined as never;
  return await work({
    ...{ clock: systemClock, ids: new IdSource(systemClock, random), random },
    ...{ workspaces, memberships, installation },
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

export async function makeInstallationBase(root: string): Promise<InstallationBase> {
  const directory = ensureDataDirectory(join(root, "data"));
  const made = await withParts(directory, (parts) => fillInstallation(parts, directory));
  return { ...made, root: directory.root, directory, database: workspaceFile(directory, made.installation) };
}

/** Performs every operation on accounts, and acts that leave a row of every kind. */
export async function fillInstallation(parts: AccountParts, directory: DataDirectory) {
  const installation = await parts.installation.ensure(parts);
  const accounts = new Accounts(parts, installation);
  const people = {
    founder: await accounts.make("founder"),
    member: await accounts.make("member"),
    removed: await accounts.make("removed"),
    grouped: await accounts.make("grouped", { issuer: ISSUER, subject: "s-grouped" }),
    stranger: await accounts.make("stranger", null),
  };
  const { founder, member } = people;
  await accounts.addFactor(founder);
  const { id: workspaceId, keyId: first } = await founded(parts, founder);
  const operator = new Administration(parts, directory);
  const other = await operator.createWorkspace("other");
  const { workspace: deleted } = await operator.createWorkspace("deleted");
  await deleteWorkspace(parts, directory, sealKeySource(directory, null), deleted.id);
  const wish = {
    ...({ workspaceId, label: "limited", scope: "agent", agents: ["a", "b"] } as const),
    ...{ networks: ["10.0.0.0/8", "2001:db8::/32"], expiresInMs: DAY_MS },
  };
  const limited = await operator.createKey(wish);
  await operator.limitKey(limited.record.id, ["192.0.2.7"]);
  const successor = await operator.rotateKey(limited.record.id, 60_000);
  const revoked = await operator.createKey({ ...wish, label: null, agents: null, expiresInMs: null });
  await operator.revokeKey(revoked.record.id);
  const invitation = (role: "member" | "owner") =>
    invite(parts, founder, { workspaceId, role, label: "somebody", expiresInDays: 7 });
  const used = await invitation("member");
  await acceptInvitation(parts, await accounts.signIn(member), used.token);
  const second = await invitation("owner");
  await acceptInvitation(parts, await accounts.signIn(people.removed), second.token);
  await changeRole(parts, founder, { workspaceId, accountId: people.removed, role: "auditor" });
  await removeMember(parts, people.removed, { workspaceId, accountId: people.removed });
  const open = await invitation("member");
  const withdrawn = await invitation("member");
  await uninvite(parts, founder, { workspaceId, invitationId: withdrawn.id });
  const { id: invitationId } = await invite(parts, "cli", {
    workspaceId,
    role: "owner",
    label: null,
    expiresInDays: 7,
  });
  await accounts.make("invited", { invitationId });
  await joinByGroup(parts, people.grouped, workspaceId);
  await requireSecondFactor(parts, founder, workspaceId, true);
  await setOperator(parts, founder, true);
  await setOperator(parts, member, true);
  await setOperator(parts, member, false);
  await accounts.useIssuer(people);
  await accounts.endSome(people);
  const passkeys = await makePasskeys(parts, accounts, people);
  await accounts.makeLinks();
  await accounts.endedBySystem(people);
  await accounts.makeErased();
  const { id } = await accounts.signIn(people.removed);
  await withWriter(directory, sealKeySource(directory, null), installation, (writer) =>
    writer.derive((connection) =>
      storeNote(connection, { kind: "last_use", used: "sessions", uses: [{ id, at: systemClock() }] }),
    ),
  );
  return {
    ...{ installation, workspaceId, otherId: other.workspace.id, deletedId: deleted.id, people, passkeys },
    keys: {
      ...{ first, limited: limited.record.id, successor: successor.record.id },
      ...{ revoked: revoked.record.id, other: other.record.id },
    },
    invitations: { used: used.id, open: open.id, withdrawn: withdrawn.id },
  };
}

async function founded(parts: AccountParts, founder: string) {
  const { membership, keyId } = await foundWorkspace(parts, founder, "corpus");
  return { id: membership.id, keyId };
}

type People = Record<Person, string>;

/** The operations on accounts. Codes and secrets are any texts: what checks them is tested elsewhere. */
export class Accounts {
  constructor(
    private readonly parts: AccountParts,
    private readonly installation: string,
  ) {}

  by<N extends AccessChange>(account: string, name: N, input: OperationInputs[N]) {
    return this.parts.workspaces.change(asAccount(this.parts, account), name, input);
  }

  byOperator<N extends AccessChange>(name: N, input: OperationInputs[N]) {
    return this.parts.workspaces.change(cliPrincipal(this.installation), name, input);
  }

  /** @param way by default a new link */
  async make(name: string, way?: NewAccount["way"]): Promise<string> {
    const id = this.parts.ids.next("usr");
    const allowed = way === undefined ? { link: await this.#linkOf({ kind: "setup" }) } : way;
    const account = { id, email: `${name}@example.com`, name, password: "", way: allowed, address: ADDRESS };
    await this.by(id, "account.create", account);
    return id;
  }

  /** Makes a link. Returns the digest of its token. */
  async #linkOf(link: OperationInputs["account.link"]): Promise<string> {
    const { body } = await this.byOperator("account.link", link);
    return digestOf(String(body.token)).toHex();
  }

  async signIn(id: string, how: Parameters<typeof beginSession>[3] = {}) {
    const account = (await findAccount(this.parts.installation.connection, id)) as StoredAccount;
    return (await beginSession(this.parts, account, ORIGIN, how)).begun.session;
  }

  /** Adds an authenticator, and signs in with a code of it, and with a recovery code. */
  async addFactor(accountId: string): Promise<void> {
    const secret = `secret of ${accountId}`;
    const [first = "", second = ""] = ["1", "2"].map((digit) => digit.repeat(64));
    await this.by(accountId, "account.begin_totp", { accountId, secret });
    await this.by(accountId, "account.confirm_totp", { accountId, secret, step: 1, codes: [first, second] });
    await this.signIn(accountId, { proof: { code: first } });
    await this.signIn(accountId, { proof: { step: 2 } });
    await this.by(accountId, "account.renew_codes", { accountId, proof: { step: 3 }, codes: [first, second] });
  }

  /** Signs in by the issuer, and links accounts to it. */
  async useIssuer({ founder, member, grouped }: People): Promise<void> {
    await this.byIssuer(grouped);
    await this.by(founder, "account.link_identity", { accountId: founder, issuer: ISSUER, subject: "s-founder" });
    await this.byIssuer(founder);
    await this.by(member, "account.link_identity", { accountId: member, issuer: ISSUER, subject: "s-member" });
    await this.byIssuer(member);
    await this.by(member, "account.unlink_identity", { accountId: member, issuer: ISSUER });
    await this.byOperator("account.require_issuer", { only: true });
  }

  async byIssuer(id: string) {
    const [identity] = await listIdentities(this.parts.installation.connection, id);
    const issuer = { identityId: identity?.id ?? "", issuer: ISSUER, multiFactor: true };
    return await this.signIn(id, { issuer, issuerSession: "sid" });
  }

  async byPasskey(id: string) {
    const [passkey] = await listPasskeys(this.parts.installation.connection, id);
    const before = passkey?.counter ?? 0;
    return await this.signIn(id, { proof: { passkeyId: passkey?.id ?? "", before, counter: before + 1 } });
  }

  /** Changes and ends what an account has. */
  async endSome({ member, removed, stranger }: People): Promise<void> {
    await this.by(removed, "account.rename", { accountId: removed, name: "somebody" });
    await this.signIn(removed);
    const which = { id: (await this.signIn(removed)).id };
    await this.by(removed, "account.end_sessions", { accountId: removed, which });
    await this.byOperator("account.end_sessions", { accountId: removed, which: { allBut: null } });
    const password = "$argon2id$v=19$m=65536,t=3,p=1$c2FsdA$aGFzaA";
    const keep = (await this.signIn(member)).id;
    await this.signIn(member);
    await this.by(member, "account.change_password", { accountId: member, from: "", password, keep });
    await this.addFactor(stranger);
    await this.by(stranger, "account.disable_totp", { accountId: stranger, proof: { step: 4 } });
    await this.signIn(stranger);
  }

  /** Makes links: one that is open, and one that was ended. */
  async makeLinks(): Promise<void> {
    await this.byOperator("account.link", { kind: "setup" });
    const { body } = await this.byOperator("account.link", { kind: "setup" });
    await this.byOperator("account.unlink", { linkId: String(body.id) });
  }

  /** Sets a password with a link that ends the second factor. */
  async reset(accountId: string): Promise<void> {
    const digest = await this.#linkOf({ kind: "reset", accountId, endsSecondFactor: true });
    await this.by(accountId, "account.reset_password", { digest, password: "$argon2id$", address: ADDRESS });
    await this.#linkOf({ kind: "reset", accountId, endsSecondFactor: false });
  }

  /** Makes an account with everything, and erases it. */
  async makeErased(): Promise<void> {
    const accountId = await this.make("erased");
    await this.addFactor(accountId);
    await makePasskey(this.parts, accountId);
    await this.by(accountId, "account.link_identity", { accountId, issuer: ISSUER, subject: "s-erased" });
    await this.reset(accountId);
    const { body } = await this.byOperator("account.link", { kind: "reset", accountId, endsSecondFactor: false });
    await this.byOperator("account.unlink", { linkId: String(body.id) });
    await setOperator(this.parts, accountId, true);
    await this.byOperator("account.erase", { accountId, proof: null });
  }

  /** What the daemon records by itself: an issuer ends sessions, and a sign-in fails. */
  async endedBySystem({ member, grouped }: People): Promise<void> {
    const which = { issuer: ISSUER, session: "sid" };
    const input = { accountId: grouped, which };
    await this.parts.workspaces.change(systemPrincipal(this.installation), "account.end_sessions", input);
    await this.byIssuer(grouped);
    const failed = { attempts: 1, account_id: member, unknown_account: 0, reasons: { password: 1 }, ...ADDRESS };
    const event = { operation: "account.sign_in", actor: "system", result: "denied", details: failed } as const;
    await this.parts.journal.record(this.installation, event);
  }
}

/** Makes an account a member because its groups at the issuer say so. */
async function joinByGroup(parts: AccountParts, accountId: string, workspaceId: string): Promise<void> {
  await noteMember(parts, accountId, [workspaceId]);
  const wanted = { accountId, issuer: ISSUER, role: "member" } as const;
  await parts.workspaces.change(withoutRow(accountId, workspaceId), "member.join", wanted);
}

/** Makes a passkey of an account. Returns its id. */
export async function makePasskey(parts: AccountParts, accountId: string): Promise<string> {
  const challenges = new Waiting<PasskeyChallenge>(parts.random, systemClock);
  const base = "https://governd.example.org";
  const account = (await findAccount(parts.installation.connection, accountId)) as StoredAccount;
  const { challenge } = await beginPasskey(parts, challenges, account, base);
  const made = await (await AuthenticatorByHand.make()).register({ challenge, host: new URL(base).hostname });
  const { credential_id: credentialId, client_data: clientData, attestation } = made;
  const wanted = { name: "phone", credentialId, clientData, attestation };
  return (await addPasskey(parts, challenges, { accountId, base }, wanted)).record.id;
}

/** Has somebody sign in with a passkey and by the issuer, as after a restore, which ends all sessions. */
export async function signInAgain(parts: AccountParts, { founder }: Pick<People, "founder">): Promise<void> {
  const accounts = new Accounts(parts, parts.installation.id);
  await accounts.byPasskey(founder);
  await accounts.byIssuer(founder);
}

/** Makes a passkey for each of two people, one that is removed, and one that a new password ends. */
async function makePasskeys(
  parts: AccountParts,
  accounts: Accounts,
  { founder, member, stranger }: People,
): Promise<InstallationBase["passkeys"]> {
  const add = (accountId: string) => makePasskey(parts, accountId);
  const passkeys = { founder: await add(founder), member: await add(member) };
  await accounts.byPasskey(founder);
  await accounts.by(member, "account.remove_passkey", { accountId: member, passkeyId: await add(member) });
  await add(stranger);
  await accounts.reset(stranger);
  return passkeys;
}

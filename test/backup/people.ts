/** Accounts of a data directory, made by the functions that the routes call, whether or not a daemon runs on it. */
import type { DataDirectory } from "../../src/core/datadir/layout.ts";
import { findAccount, listPasskeys, type StoredAccount } from "../../src/core/rows/access/accounts.ts";
import { findSession, listStoredSessions, type StoredSession } from "../../src/core/rows/access/sessions.ts";
import { IdSource, RandomPool, systemClock } from "../../src/ids.ts";
import { beginSession } from "../../src/ops/accounts/begin-session.ts";
import { FactorKey } from "../../src/ops/accounts/factor-key.ts";
import { addressDetails } from "../../src/ops/accounts/failed-sign-ins.ts";
import { acceptInvitation } from "../../src/ops/accounts/membership.ts";
import { type AccountParts, asAccount } from "../../src/ops/accounts/parts.ts";
import { addPasskey, beginPasskey, type PasskeyChallenge } from "../../src/ops/accounts/passkeys.ts";
import { Waiting } from "../../src/ops/accounts/waiting.ts";
import { Installation } from "../../src/ops/directory/installation.ts";
import { fileJournal, type WorkspaceJournal } from "../../src/ops/directory/journal.ts";
import { digestOf } from "../../src/ops/directory/secret.ts";
import { AuthenticatorByHand } from "../account/authenticator-by-hand.ts";
import { membershipParts } from "../support/members.ts";

const ORIGIN = { address: "2001:db8::1", userAgent: "Mozilla", device: null };

/** Calls `work` with what acts in a directory need. */
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
  const parts: AccountParts = {
    ...{ clock: systemClock, ids: new IdSource(systemClock, random), random, workspaces, memberships },
    ...{ installation, journal: wrap(fileJournal(directory)), factorKey: new FactorKey(directory), caFile: null },
    ...{ passwords: unused, attempts: unused, failures: unused, signup: "open", issuerOnly: false },
  };
  await installation.ensure(parts);
  return await work(parts);
}

/** Makes an account, which nobody signs in to by its password, and begins its first session. Returns the id. */
export async function addAccount(parts: AccountParts, name: string): Promise<string> {
  const id = parts.ids.next("usr");
  const address = addressDetails(ORIGIN.address);
  const made = { id, email: `${name}@example.com`, name, password: `hash of ${name}`, way: null };
  await parts.workspaces.change(asAccount(parts, id), "account.create", { ...made, address });
  await signedIn(parts, id);
  return id;
}

/** Begins a session of an account, with its first passkey if it has one. Returns its cookie. */
export async function signedIn(parts: AccountParts, accountId: string): Promise<string> {
  const [passkey] = await listPasskeys(parts.installation.connection, accountId);
  const { id: passkeyId, counter: before = 0 } = passkey ?? {};
  const proof = passkeyId === undefined ? null : { passkeyId, before, counter: before + 1 };
  return (await beginSession(parts, await accountOf(parts, accountId), ORIGIN, { proof })).begun.token;
}

export async function accountOf({ installation }: AccountParts, id: string): Promise<StoredAccount> {
  const account = await findAccount(installation.connection, id);
  if (account === undefined) throw new Error(`there is no account ${id}`);
  return account;
}

/** The session of a cookie; undefined when it has ended. */
export const sessionOf = ({ installation }: AccountParts, token: string): Promise<StoredSession | undefined> =>
  findSession(installation.connection, digestOf(token).toHex());

/** Joins a workspace with an invitation, in the account's newest session. */
export async function joinWith(parts: AccountParts, accountId: string, token: string): Promise<void> {
  const [session] = await listStoredSessions(parts.installation.connection, accountId);
  await acceptInvitation(parts, session as StoredSession, token);
}

/** Makes a passkey of an account. Returns its id. */
export async function makePasskey(parts: AccountParts, accountId: string): Promise<string> {
  const challenges = new Waiting<PasskeyChallenge>(parts.random, systemClock);
  const base = "https://governd.example.org";
  const { challenge } = await beginPasskey(parts, challenges, await accountOf(parts, accountId), base);
  const made = await (await AuthenticatorByHand.make()).register({ challenge, host: new URL(base).hostname });
  const { credential_id: credentialId, client_data: clientData, attestation } = made;
  const wanted = { name: "phone", credentialId, clientData, attestation };
  return (await addPasskey(parts, challenges, { accountId, base }, wanted)).record.id;
}

export const removePasskey = (parts: AccountParts, accountId: string, passkeyId: string) =>
  parts.workspaces.change(asAccount(parts, accountId), "account.remove_passkey", { accountId, passkeyId });

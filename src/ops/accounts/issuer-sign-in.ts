/** Signs people in by an OpenID issuer, which also decides on their roles and ends their sessions. */
import {
  findAccount,
  findAccountByEmail,
  findIdentity,
  listIdentities,
  NO_PASSWORD,
  type StoredAccount,
  type StoredIdentity,
} from "../../core/rows/access/accounts.ts";
import { accountsOfIssuerSession } from "../../core/rows/access/sessions.ts";
import { systemPrincipal } from "../../core/writer/contract.ts";
import { dependsOnGroups, type IssuedRoles, issuedRoles, type RoleRules, roleIn } from "../../oidc/group-roles.ts";
import type { Identity } from "../../oidc/identity.ts";
import type { LoggedOut } from "../../oidc/logout-token.ts";
import { IssuerRefused } from "../../oidc/refused.ts";
import type { Role } from "../../operation-facts.ts";
import { Problem } from "../../problem.ts";
import { noteMember } from "../directory/directory.ts";
import { digestOf } from "../directory/secret.ts";
import { listWorkspaces, nameProblem } from "../directory/workspaces.ts";
import { beginSession } from "./begin-session.ts";
import { isEmail, normaliseEmail } from "./emails.ts";
import { addressDetails } from "./failed-sign-ins.ts";
import { type AccountParts, asAccount, type Origin, withoutRow } from "./parts.ts";

/**
 * Signs in a person whom the issuer has authenticated, and gives the account the roles of the person's groups. The
 * first sign-in creates the account.
 * @throws {IssuerRefused}, {IssuerUnavailable} when the person may not sign in, or it is not known whether they may
 */
export async function signInByIssuer(parts: AccountParts, rules: RoleRules, identity: Identity, origin: Origin) {
  const { connection: reader } = parts.installation;
  // Nobody loses a role because their groups are not known.
  if (identity.groupsTrouble !== null && dependsOnGroups(rules)) throw identity.groupsTrouble;
  const roles = issuedRoles(rules, identity.groups ?? []);
  const known = await findIdentity(reader, identity.issuer, identity.subject);
  if (roles === null) {
    if (known !== undefined) await withdraw(parts, known);
    if (identity.groups === null) throw new IssuerRefused("its answer names no groups", "no_groups");
    throw new IssuerRefused("no group gives a role", "no_role");
  }
  const account = await accountOf(parts, identity, known, origin);
  const { later } = await giveRoles(parts, account.id, identity.issuer, roles);
  return { ...(await begun(parts, account, identity, origin)), later };
}

/** The most workspaces that a sign-in joins before it is answered. Each takes some milliseconds. */
const JOINED_AT_ONCE = 50;

/** Returns the account of an identity, and creates it at the first sign-in. */
async function accountOf(
  parts: AccountParts,
  identity: Identity,
  known: StoredIdentity | undefined,
  origin: Origin,
): Promise<StoredAccount> {
  const { connection: reader } = parts.installation;
  const { issuer, subject } = identity;
  const found = known && (await findAccount(reader, known.accountId));
  if (found !== undefined) return found;
  const id = parts.ids.next("usr");
  const { email, name } = namesOf(identity);
  if ((await findAccountByEmail(reader, email)) !== undefined) {
    const why = identity.isEmailUnverified ? "email_not_verified" : "email_taken";
    throw new IssuerRefused("another account has the mail address", why);
  }
  await parts.workspaces.change(asAccount(parts, id), "account.create", {
    ...{ id, email, name, password: NO_PASSWORD, way: { issuer, subject } },
    address: addressDetails(origin.address),
  });
  return (await findAccount(reader, id)) as StoredAccount;
}

/** Returns the names of a new account. */
function namesOf({ issuer, subject, email, name }: Identity): { email: string; name: string } {
  // Without a usable address, the account gets a unique name, with which nobody can sign in.
  const own = `${digestOf(`${issuer}\n${subject}`).toHex().slice(0, 16)}@${new URL(issuer).hostname}`;
  const address = email !== null && isEmail(email) ? normaliseEmail(email) : own;
  const shown = name?.trim() ?? "";
  const isGood = shown !== "" && nameProblem(shown) === null;
  return { email: address, name: isGood ? shown : (address.split("@")[0] as string) };
}

/** Roles that are being given to an account. */
interface Giving {
  /** Whether another sign-in of the account has begun, whose groups apply instead. */
  isOver: boolean;
  done: Promise<unknown>;
}

const GIVING = new Map<string, Giving>();

/**
 * Gives an account the roles of its groups, and removes roles that earlier groups gave. Roles that a member gave, and
 * the account's own workspaces, are kept. This may leave a workspace without an owner, since the issuer decides.
 *
 * Changed and ended roles are in force when it returns, apart from those in workspaces that cannot be read, which nobody
 * can use meanwhile. If roles are left, of these or of many workspaces to join, the returned `later` gives them, unless the
 * account signs in again meanwhile; null when there are none left.
 */
async function giveRoles(parts: AccountParts, accountId: string, issuer: string, roles: IssuedRoles) {
  const before = GIVING.get(accountId);
  const giving: Giving = { isOver: false, done: Promise.resolve() };
  GIVING.set(accountId, giving);
  if (before !== undefined) {
    before.isOver = true;
    // Its error is reported to the sign-in that began it.
    await before.done.catch(() => {});
  }
  const { memberships, unread } = await parts.memberships.listReadable(accountId);
  const present = new Map(memberships.map(({ id, role }) => [id, role]));
  const all = listWorkspaces(parts.installation.connection).map(({ id }) => id);
  const wrong = all.filter((id) => !unread.has(id) && (present.get(id) ?? null) !== roleIn(roles, id));
  const joins = wrong.filter((id) => !present.has(id));
  await noteMember(parts, accountId, joins);
  const give = async (ids: readonly string[]): Promise<Left[]> => {
    const left: Left[] = [];
    for (const id of ids) {
      if (giving.isOver) return [];
      try {
        await giveRole(parts, { workspaceId: id, accountId }, issuer, roleIn(roles, id));
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        left.push({ id, error });
      }
    }
    return left;
  };
  const run = (ids: readonly string[]): Promise<Left[]> => {
    const given = give(ids).finally(() => GIVING.get(accountId) === giving && GIVING.delete(accountId));
    giving.done = given;
    return given;
  };
  const left = await run([...wrong.filter((id) => present.has(id)), ...joins.slice(0, JOINED_AT_ONCE)]);
  requireAll(left.filter(({ id }) => present.has(id)));
  const rest = [...joins.slice(JOINED_AT_ONCE), ...left.map(({ id }) => id), ...all.filter((id) => unread.has(id))];
  if (rest.length > 0 && !giving.isOver) GIVING.set(accountId, giving);
  return { later: rest.length === 0 ? null : async () => requireAll(await run(rest)) };
}

/** A role that could not be given. */
interface Left {
  id: string;
  error: Problem;
}

function requireAll([left]: readonly Left[]): void {
  if (left !== undefined) throw left.error;
}

/** Gives an account its role in one workspace; null ends one that earlier groups gave. */
async function giveRole(
  { memberships, workspaces }: AccountParts,
  { workspaceId, accountId }: { workspaceId: string; accountId: string },
  issuer: string,
  role: Role | null,
): Promise<void> {
  const member = await memberships.find(accountId, workspaceId);
  const isOwn = member !== null && member.issuer === null;
  if (isOwn || (member?.role ?? null) === role) return;
  const principal = withoutRow(accountId, workspaceId);
  if (role === null) await workspaces.change(principal, "member.remove", { accountId, issuer });
  else if (member !== null) await workspaces.change(principal, "member.change", { accountId, role, issuer });
  else await workspaces.change(principal, "member.join", { accountId, role, issuer });
}

/** Removes all issued roles and sessions of a person whose groups no longer allow signing in. */
async function withdraw(parts: AccountParts, { accountId, issuer, subject }: StoredIdentity): Promise<void> {
  const { later } = await giveRoles(parts, accountId, issuer, { everywhere: null, byWorkspace: new Map() });
  await endIssuerSessions(parts, issuer, { subject, session: null });
  await later?.();
}

/** Begins a session of a person whom the issuer has authenticated. */
async function begun(parts: AccountParts, account: StoredAccount, identity: Identity, origin: Origin) {
  const { issuer, subject, session, isMultiFactor: multiFactor } = identity;
  const known = await findIdentity(parts.installation.connection, issuer, subject);
  if (known?.accountId !== account.id) throw new IssuerRefused("the link to the issuer has just ended");
  const by = { issuer: { identityId: known.id, issuer, multiFactor }, issuerSession: session ?? "" };
  return { account, ...(await beginSession(parts, account, origin, by)) };
}

/**
 * Links an identity to an account that has a password.
 * @throws {IssuerRefused} when it is another account's, or the account has another one of this issuer
 */
export async function linkIdentity(parts: AccountParts, accountId: string, identity: Identity) {
  const { connection: reader } = parts.installation;
  const { issuer, subject } = identity;
  const known = await findIdentity(reader, issuer, subject);
  if (known?.accountId === accountId) return { auditId: null };
  const own = (await listIdentities(reader, accountId)).some((one) => one.issuer === issuer);
  if (known !== undefined || own) {
    throw new IssuerRefused(
      own ? "the account has another identity of the issuer" : "another account has the identity",
      "identity_taken",
    );
  }
  return await parts.workspaces.change(asAccount(parts, accountId), "account.link_identity", {
    ...{ accountId, issuer, subject },
  });
}

/** Ends the link of an account to an issuer, and the sessions that began with it. */
export async function unlinkIdentity(parts: AccountParts, accountId: string, issuer: string) {
  const input = { accountId, issuer };
  const { auditId } = await parts.workspaces.change(asAccount(parts, accountId), "account.unlink_identity", input);
  return { auditId };
}

/** Ends the sessions that the issuer has ended. Does nothing for an unknown person or session. */
export async function endIssuerSessions(
  parts: AccountParts,
  issuer: string,
  { subject, session }: LoggedOut,
): Promise<{ auditId: string | null }> {
  const { installation, workspaces } = parts;
  const { connection: reader } = installation;
  const known = subject === null ? null : await findIdentity(reader, issuer, subject);
  const accounts =
    known === null ? await accountsOfIssuerSession(reader, session as string) : known ? [known.accountId] : [];
  let auditId: string | null = null;
  for (const accountId of accounts) {
    const input = { accountId, which: { issuer, session } };
    ({ auditId } = await workspaces.change(systemPrincipal(installation.id), "account.end_sessions", input));
  }
  return { auditId };
}

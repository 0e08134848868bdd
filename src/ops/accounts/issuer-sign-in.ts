/** Signs people in by an OpenID issuer, which also decides on their roles and ends their sessions. */
import { showTime } from "../../ids.ts";
import { dependsOnGroups, type IssuedRoles, issuedRoles, type RoleRules, roleIn } from "../../oidc/group-roles.ts";
import type { Identity } from "../../oidc/identity.ts";
import type { LoggedOut } from "../../oidc/logout-token.ts";
import { IssuerRefused } from "../../oidc/refused.ts";
import { act, INSTALLATION, type Recorded, recordInInstallation } from "../directory/acts.ts";
import type { Change } from "../directory/changes.ts";
import { digestName, digestOf } from "../directory/secret.ts";
import { listWorkspaces, nameProblem } from "../directory/workspaces.ts";
import {
  type AccountRecord,
  findAccount,
  findAccountByEmail,
  isEmail,
  NO_PASSWORD,
  normaliseEmail,
} from "./accounts.ts";
import { addressDetails } from "./failed-sign-ins.ts";
import { findIdentity, type IdentityRecord, isIssued, listIdentities, noteFactors } from "./identities.ts";
import { findMember, listMemberships, type Role } from "./members.ts";
import { type AccountParts, type Origin, ownEvent } from "./parts.ts";
import { beginSession, knownDevice } from "./session-keeper.ts";
import { listSessions } from "./sessions.ts";

/**
 * Signs in a person whom the issuer has authenticated, and gives the account the roles of the person's groups. The
 * first sign-in creates the account.
 * @throws {IssuerRefused}, {IssuerUnavailable} when the person may not sign in, or it is not known whether they may
 */
export async function signInByIssuer(parts: AccountParts, rules: RoleRules, identity: Identity, origin: Origin) {
  const { connection } = parts.control;
  // Nobody loses a role because their groups are not known.
  if (identity.groupsTrouble !== null && dependsOnGroups(rules)) throw identity.groupsTrouble;
  const roles = issuedRoles(rules, identity.groups ?? []);
  const known = findIdentity(connection, identity.issuer, identity.subject);
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
  known: IdentityRecord | undefined,
  origin: Origin,
): Promise<AccountRecord> {
  const { control, clock, ids } = parts;
  const { issuer, subject } = identity;
  const found = known && findAccount(control.connection, known.accountId);
  if (found !== undefined) return found;
  const account = draftAccount(ids.next("usr"), identity, clock());
  const { record } = await act(parts, INSTALLATION, () => {
    const other = findIdentity(control.connection, issuer, subject);
    if (other !== undefined) {
      return { event: null, result: { record: findAccount(control.connection, other.accountId) as AccountRecord } };
    }
    if (findAccountByEmail(control.connection, account.email) !== undefined) {
      const why = identity.isEmailUnverified ? "email_not_verified" : "email_taken";
      throw new IssuerRefused("another account has the mail address", why);
    }
    const details = { link_id: null, joined_workspace_id: null, issuer, subject, ...addressDetails(origin.address) };
    return {
      event: ownEvent("account.create", account.id, details),
      changes: [["addAccount", account], linked(account, identity)],
      result: { record: account },
    };
  });
  return record;
}

const linked = ({ id: accountId, createdAt: linkedAt }: { id: string; createdAt: number }, of: Identity): Change => [
  "addIdentity",
  { issuer: of.issuer, subject: of.subject, accountId, linkedAt },
];

function draftAccount(id: string, { issuer, subject, email, name }: Identity, createdAt: number): AccountRecord {
  // Without a usable address, the account gets a unique name, with which nobody can sign in.
  const own = `${digestName(digestOf(`${issuer}\n${subject}`)).slice(0, 16)}@${new URL(issuer).hostname}`;
  const address = email !== null && isEmail(email) ? normaliseEmail(email) : own;
  const shown = name?.trim() ?? "";
  return {
    id,
    email: address,
    name: shown !== "" && nameProblem(shown) === null ? shown : (address.split("@")[0] as string),
    password: NO_PASSWORD,
    totpSecret: null,
    totpSince: null,
    totpStep: 0,
    createdAt,
  };
}

/** Roles that are being given to an account. */
interface Giving {
  /** Whether another sign-in of the account has begun, whose groups apply instead. */
  isOver: boolean;
  done: Promise<void>;
}

const GIVING = new Map<string, Giving>();

/**
 * Gives an account the roles of its groups, and removes roles that earlier groups gave. Roles that a member gave, and
 * the account's own workspaces, are kept. This may leave a workspace without an owner, since the issuer decides.
 *
 * Changed and ended roles are in force when it returns. If there are many workspaces to join, the returned `later`
 * joins the rest, unless the account signs in again meanwhile; null when there are none left.
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
  const { connection } = parts.control;
  const present = new Map(listMemberships(connection, accountId).map(({ id, role }) => [id, role]));
  const wrong = listWorkspaces(connection).filter(({ id }) => (present.get(id) ?? null) !== roleIn(roles, id));
  const joins = wrong.filter(({ id }) => !present.has(id));
  const give = async (workspaces: readonly { id: string }[]) => {
    for (const { id } of workspaces) {
      if (giving.isOver) return;
      await giveRole(parts, { workspaceId: id, accountId }, issuer, roleIn(roles, id));
    }
  };
  const run = (workspaces: readonly { id: string }[]): Promise<void> => {
    giving.done = give(workspaces).finally(() => GIVING.get(accountId) === giving && GIVING.delete(accountId));
    return giving.done;
  };
  await run([...wrong.filter(({ id }) => present.has(id)), ...joins.slice(0, JOINED_AT_ONCE)]);
  const rest = joins.slice(JOINED_AT_ONCE);
  if (rest.length > 0 && !giving.isOver) GIVING.set(accountId, giving);
  return { later: rest.length === 0 ? null : () => run(rest) };
}

async function giveRole(
  parts: AccountParts,
  { workspaceId, accountId }: { workspaceId: string; accountId: string },
  issuer: string,
  role: Role | null,
): Promise<void> {
  const { control, clock } = parts;
  const present = () => {
    const member = findMember(control.connection, workspaceId, accountId);
    const isOwn = member !== undefined && !isIssued(control.connection, workspaceId, accountId);
    return { member, isRight: isOwn || (member?.role ?? null) === role };
  };
  // In most cases nothing changes, so no lock is needed.
  if (present().isRight) return;
  await act(parts, workspaceId, () => {
    const { member, isRight } = present();
    if (isRight) return { event: null };
    const details = { account_id: accountId, issuer };
    if (role === null) {
      return {
        event: { operation: "member.remove", actor: accountId, details: { ...details, role: member?.role ?? null } },
        changes: [["removeMember", { workspaceId, accountId }]],
      };
    }
    if (member !== undefined) {
      const change = { ...details, role, role_before: member.role };
      return {
        event: { operation: "member.change", actor: accountId, details: change },
        changes: [["setRole", { workspaceId, accountId, role }]],
      };
    }
    const joinedAt = clock();
    const join = { ...details, invitation_id: null, role, joined_at: showTime(joinedAt) };
    return {
      event: { operation: "member.join", actor: accountId, details: join },
      changes: [
        ["addMember", { workspaceId, accountId, role, joinedAt }],
        ["issueRole", { workspaceId, accountId }],
      ],
    };
  });
}

/** Removes all issued roles and sessions of a person whose groups no longer allow signing in. */
async function withdraw(parts: AccountParts, { accountId, issuer, subject }: IdentityRecord): Promise<void> {
  await giveRoles(parts, accountId, issuer, { everywhere: null, byWorkspace: new Map() });
  await endIssuerSessions(parts, issuer, { subject, session: null });
}

/** Records the sign-in and begins its session. */
async function begun(parts: AccountParts, account: AccountRecord, identity: Identity, origin: Origin) {
  const { control } = parts;
  const { issuer, subject, session, isMultiFactor } = identity;
  const isKnown = knownDevice(control.connection, account.email, origin.device) !== null;
  const details = { second_factor: null, known_device: isKnown, issuer, ...addressDetails(origin.address) };
  const { auditId } = await recordInInstallation(parts, ownEvent("account.sign_in", account.id, details));
  const started = await control.change((connection) => {
    const known = findIdentity(connection, issuer, subject);
    if (known?.accountId !== account.id) throw new IssuerRefused("the link to the issuer has just ended");
    noteFactors(connection, known, isMultiFactor);
    return beginSession(connection, parts, account, origin, { issuerSession: session ?? "" });
  });
  return { account, begun: started, auditId };
}

/**
 * Links an identity to an account that has a password.
 * @throws {IssuerRefused} when it is another account's, or the account has another one of this issuer
 */
export function linkIdentity(parts: AccountParts, accountId: string, identity: Identity) {
  const { control, clock } = parts;
  const { issuer, subject } = identity;
  return act(parts, INSTALLATION, () => {
    const known = findIdentity(control.connection, issuer, subject);
    if (known?.accountId === accountId) return { event: null };
    const own = listIdentities(control.connection, accountId).some((one) => one.issuer === issuer);
    if (known !== undefined || own) {
      throw new IssuerRefused(
        own ? "the account has another identity of the issuer" : "another account has the identity",
        "identity_taken",
      );
    }
    return {
      event: ownEvent("account.link_identity", accountId, { issuer, subject }),
      changes: [linked({ id: accountId, createdAt: clock() }, identity)],
    };
  });
}

/** Ends the link of an account to an issuer, and the sessions that began with it. */
export function unlinkIdentity(
  parts: AccountParts,
  accountId: string,
  issuer: string,
): Promise<Recorded<string | null>> {
  return act(parts, INSTALLATION, () => {
    const own = listIdentities(parts.control.connection, accountId).find((one) => one.issuer === issuer);
    if (own === undefined) return { event: null };
    return {
      event: ownEvent("account.unlink_identity", accountId, { issuer }),
      changes: [
        ["dropIdentity", { issuer, subject: own.subject }],
        ["endIssuerSessions", { accountId, session: null }],
      ],
    };
  });
}

/** Ends the sessions that the issuer has ended. Does nothing for an unknown person or session. */
export async function endIssuerSessions(
  parts: AccountParts,
  issuer: string,
  { subject, session }: LoggedOut,
): Promise<Recorded<string | null>> {
  const { connection } = parts.control;
  const accounts = subject === null ? ofSession(parts, session as string) : [findIdentity(connection, issuer, subject)];
  let auditId: string | null = null;
  for (const one of accounts) {
    if (one !== undefined) ({ auditId } = await endSessionsOf(parts, one.accountId, issuer, session));
  }
  return { auditId };
}

const ofSession = ({ control }: AccountParts, session: string): { accountId: string }[] =>
  control.connection
    .all<[string]>("SELECT DISTINCT account_id FROM sessions WHERE issuer_session = ?", [session])
    .map(([accountId]) => ({ accountId }));

function endSessionsOf(parts: AccountParts, accountId: string, issuer: string, session: string | null) {
  return act(parts, INSTALLATION, () => {
    const open = listSessions(parts.control.connection, accountId, parts.clock());
    const over = open.filter(({ issuerSession: at }) => at !== null && (session === null || at === session));
    if (over.length === 0) return { event: null };
    const details = { account_id: accountId, sessions: over.length, own: false, issuer };
    return {
      event: { operation: "account.end_sessions", actor: "system", details },
      changes: [["endIssuerSessions", { accountId, session }]],
    };
  });
}

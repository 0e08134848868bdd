/** Changes members of a workspace and invitations to it. Each change is first recorded in the workspace's log. */
import type { Connection } from "../../store/connection.ts";
import type { NewKey } from "../administration.ts";
import { Refused } from "../refused.ts";
import { digestOf, makeLinkToken } from "../secret.ts";
import type { WorkspaceRecord } from "../workspaces.ts";
import {
  findUsableLink,
  INVITATION_MAX_DAYS,
  insertLink,
  type LinkRecord,
  listInvitations,
  revokeInvitation,
  takeLink,
} from "./links.ts";
import {
  countOwned,
  deleteMember,
  findMember,
  hasOtherOwner,
  insertMember,
  listMemberships,
  type MemberRecord,
  type Membership,
  type Role,
  setRole,
} from "./members.ts";
import { type AccountParts, administrationOf } from "./parts.ts";
import { linkNotFound } from "./sign-up.ts";

const DAY_MS = 86_400_000;
/** The most workspaces that an account can own by creating them. */
export const OWNED_WORKSPACES_MAX = 100;
/** The most open invitations of one workspace. */
export const OPEN_INVITATIONS_MAX = 1_000;

/** Returns the membership of an account in a workspace. @throws {Refused} `workspace_not_found` */
export function requireMembership(
  { control }: AccountParts,
  accountId: string,
  workspaceId: string,
): Membership {
  const found = listMemberships(control.connection, accountId).find(({ id }) => id === workspaceId);
  if (found === undefined) {
    throw new Refused(
      "workspace_not_found",
      "You are not a member of such a workspace. GET /account/workspaces lists your workspaces.",
    );
  }
  return found;
}

/** Like {@link requireMembership}, for owners only. @throws {Refused} `workspace_not_found`, `forbidden` */
export function requireOwner(parts: AccountParts, accountId: string, workspaceId: string): Membership {
  const membership = requireMembership(parts, accountId, workspaceId);
  if (membership.role === "owner") return membership;
  throw new Refused("forbidden", "Only an owner of the workspace may do this. Ask an owner.");
}

/** Creates a workspace that the account owns, with its first key. @throws {Refused} `forbidden` */
export async function foundWorkspace(
  parts: AccountParts,
  accountId: string,
  name: string,
): Promise<NewKey & { workspace: WorkspaceRecord }> {
  const { control, founding, signup } = parts;
  const owned = countOwned(control.connection, accountId);
  if (owned === 0 && signup !== "open") {
    throw new Refused(
      "forbidden",
      "Only accounts that already own a workspace can create one. Ask the operator for a link.",
    );
  }
  // A workspace has its file before the transaction below, so those in creation are counted here as well.
  const pending = founding.get(accountId) ?? 0;
  requireRoom(owned + pending);
  founding.set(accountId, pending + 1);
  try {
    return await administrationOf(parts, accountId).createWorkspace(name, (connection, { id, createdAt }) => {
      requireRoom(countOwned(connection, accountId));
      insertMember(connection, { workspaceId: id, accountId, role: "owner", joinedAt: createdAt });
    });
  } finally {
    const left = (founding.get(accountId) ?? 0) - 1;
    if (left > 0) founding.set(accountId, left);
    else founding.delete(accountId);
  }
}

/** @throws {Refused} `forbidden` for an account that owns so many workspaces that it can create no other */
function requireRoom(owned: number): void {
  if (owned < OWNED_WORKSPACES_MAX) return;
  throw new Refused(
    "forbidden",
    `An account that owns ${OWNED_WORKSPACES_MAX} workspaces cannot create another one. Create it with another account, or leave a workspace that has another owner.`,
  );
}

/** Changes the role of a member. @throws {Refused} `member_not_found`, `last_owner` */
export async function changeRole(
  parts: AccountParts,
  actor: string,
  wish: { workspaceId: string; accountId: string; role: Role },
): Promise<{ member: MemberRecord; auditId: string | null }> {
  const { control, journal } = parts;
  const { workspaceId, accountId, role } = wish;
  const member = requireMember(parts, wish);
  if (member.role === role) return { member, auditId: null };
  requireOtherOwner(parts, wish);
  const auditId = await journal.record(workspaceId, {
    operation: "member.change",
    actor,
    details: { account_id: accountId, role, role_before: member.role },
  });
  control.change((connection) => {
    requireOtherOwner(parts, wish);
    setRole(connection, workspaceId, accountId, role);
  });
  return { member: { ...member, role }, auditId };
}

/** Ends a membership. @throws {Refused} `member_not_found`, `last_owner` */
export async function removeMember(parts: AccountParts, actor: string, whose: MemberKey): Promise<string> {
  const { workspaceId, accountId } = whose;
  const { role } = requireOtherOwner(parts, whose);
  const auditId = await parts.journal.record(workspaceId, {
    operation: "member.remove",
    actor,
    details: { account_id: accountId, role },
  });
  parts.control.change((connection) => {
    requireOtherOwner(parts, whose);
    deleteMember(connection, workspaceId, accountId);
  });
  return auditId;
}

type MemberKey = { workspaceId: string; accountId: string };

function requireMember({ control }: AccountParts, { workspaceId, accountId }: MemberKey): MemberRecord {
  const member = findMember(control.connection, workspaceId, accountId);
  if (member !== undefined) return member;
  throw new Refused("member_not_found", "The workspace has no such member. GET …/members lists them.");
}

/** Returns a member who may lose a role. @throws {Refused} `last_owner` when the workspace would have no owner */
function requireOtherOwner(parts: AccountParts, key: MemberKey): MemberRecord {
  const member = requireMember(parts, key);
  const { connection } = parts.control;
  if (member.role !== "owner" || hasOtherOwner(connection, key.workspaceId, key.accountId)) return member;
  throw new Refused(
    "last_owner",
    "A workspace must keep at least one owner. Make another member an owner first.",
  );
}

/** Creates an invitation. Its token is shown only once. @throws {Refused} `forbidden` when there are too many */
export async function invite(
  parts: AccountParts,
  actor: string,
  wish: { workspaceId: string; role: Role; label: string | null; expiresInDays: number },
): Promise<{ link: LinkRecord; token: string; auditId: string }> {
  const { control, journal, clock, ids, random } = parts;
  const now = clock();
  const requireFew = (connection: Connection) => {
    if (listInvitations(connection, wish.workspaceId, now).length < OPEN_INVITATIONS_MAX) return;
    throw new Refused(
      "forbidden",
      `A workspace has at most ${OPEN_INVITATIONS_MAX} open invitations. Withdraw some first.`,
    );
  };
  requireFew(control.connection);
  const { text: token, digest } = makeLinkToken(random);
  const link: LinkRecord = {
    id: ids.next("inv"),
    kind: "invitation",
    workspaceId: wish.workspaceId,
    role: wish.role,
    accountId: null,
    dropsTotp: false,
    label: wish.label,
    createdAt: now,
    createdBy: actor,
    expiresAt: now + Math.min(wish.expiresInDays, INVITATION_MAX_DAYS) * DAY_MS,
  };
  const auditId = await journal.record(wish.workspaceId, {
    operation: "member.invite",
    actor,
    details: {
      invitation_id: link.id,
      role: wish.role,
      label: wish.label,
      expires_at: new Date(link.expiresAt).toISOString(),
    },
  });
  control.change((connection) => {
    requireFew(connection);
    insertLink(connection, link, digest);
  });
  return { link, token, auditId };
}

/** Revokes an invitation. @throws {Refused} `invitation_not_found` */
export async function uninvite(
  { control, journal, clock }: AccountParts,
  actor: string,
  { workspaceId, invitationId }: { workspaceId: string; invitationId: string },
): Promise<string> {
  const notFound = () =>
    new Refused("invitation_not_found", "There is no such open invitation. GET …/invitations lists them.");
  const open = listInvitations(control.connection, workspaceId, clock());
  if (!open.some(({ id }) => id === invitationId)) throw notFound();
  const auditId = await journal.record(workspaceId, {
    operation: "member.uninvite",
    actor,
    details: { invitation_id: invitationId },
  });
  control.change((connection) => {
    if (!revokeInvitation(connection, workspaceId, invitationId, clock())) throw notFound();
  });
  return auditId;
}

/** Joins a workspace with an invitation. @throws {Refused} `link_not_found`, `already_member` */
export async function acceptInvitation(
  parts: AccountParts,
  accountId: string,
  token: string,
): Promise<{ workspace: Membership; auditId: string }> {
  const { control, journal, clock } = parts;
  const link = findUsableLink(control.connection, digestOf(token), clock());
  const { workspaceId, role } = link ?? {};
  if (link === undefined || !workspaceId || !role) throw linkNotFound();
  const already = () =>
    new Refused("already_member", "You are already a member of this workspace. The invitation stays open.");
  if (findMember(control.connection, workspaceId, accountId) !== undefined) throw already();
  const auditId = await journal.record(workspaceId, {
    operation: "member.join",
    actor: accountId,
    details: { account_id: accountId, invitation_id: link.id, role },
  });
  control.change((connection) => {
    if (!takeLink(connection, link.id, accountId, clock())) throw linkNotFound();
    if (!insertMember(connection, { workspaceId, accountId, role, joinedAt: clock() })) throw already();
  });
  return { workspace: requireMembership(parts, accountId, workspaceId), auditId };
}

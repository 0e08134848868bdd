/** Changes members of a workspace and invitations to it. */
import { act, rfc3339 } from "../acts.ts";
import type { NewKey } from "../administration.ts";
import { Refused } from "../refused.ts";
import { digestOf, makeLinkToken } from "../secret.ts";
import type { WorkspaceRecord } from "../workspaces.ts";
import { findUsableLink, INVITATION_MAX_DAYS, type LinkRecord, listInvitations } from "./links.ts";
import {
  countOwned,
  findMember,
  hasOtherOwner,
  type MemberRecord,
  type Membership,
  type Role,
  requireMembership,
  requireOwner,
} from "./members.ts";
import { type AccountParts, administrationOf } from "./parts.ts";
import { linkNotFound } from "./sign-up.ts";

const DAY_MS = 86_400_000;
/** The most workspaces that an account can own by creating them. */
export const OWNED_WORKSPACES_MAX = 100;
/** The most open invitations of one workspace. */
export const OPEN_INVITATIONS_MAX = 1_000;

/** Creates a workspace that the account owns, with its first key. @throws {Refused} `forbidden` */
export function foundWorkspace(
  parts: AccountParts,
  accountId: string,
  name: string,
): Promise<NewKey & { workspace: WorkspaceRecord }> {
  return administrationOf(parts, accountId).createWorkspace(name, ({ id: workspaceId, createdAt: joinedAt }) => {
    const owned = countOwned(parts.control.connection, accountId);
    if (owned === 0 && parts.signup !== "open") {
      throw new Refused(
        "forbidden",
        "Only accounts that already own a workspace can create one. Ask the operator for a link.",
      );
    }
    if (owned >= OWNED_WORKSPACES_MAX) {
      throw new Refused(
        "forbidden",
        `An account that owns ${OWNED_WORKSPACES_MAX} workspaces cannot create another one. Create it with another account, or leave a workspace that has another owner.`,
      );
    }
    return {
      trace: {
        operation: "account.create_workspace",
        actor: accountId,
        details: { account_id: accountId, created_workspace_id: workspaceId },
      },
      changes: [["addMember", { workspaceId, accountId, role: "owner", joinedAt }]],
    };
  });
}

/** Changes the role of a member, for owners. @throws {Refused} `member_not_found`, `last_owner` */
export function changeRole(
  parts: AccountParts,
  actor: string,
  wish: { workspaceId: string; accountId: string; role: Role },
): Promise<{ member: MemberRecord; auditId: string | null }> {
  const { workspaceId, accountId, role } = wish;
  return act(parts, workspaceId, () => {
    requireOwner(parts, actor, workspaceId);
    const member = requireMember(parts, wish);
    if (member.role === role) return { event: null, result: { member } };
    requireOtherOwner(parts, wish);
    return {
      event: { operation: "member.change", actor, details: { account_id: accountId, role, role_before: member.role } },
      changes: [["setRole", { workspaceId, accountId, role }]],
      result: { member: { ...member, role } },
    };
  });
}

/** Ends a membership, for owners and the member. @throws {Refused} `member_not_found`, `last_owner` */
export async function removeMember(parts: AccountParts, actor: string, whose: MemberKey): Promise<string> {
  const { workspaceId, accountId } = whose;
  const { auditId } = await act(parts, workspaceId, () => {
    if (actor === accountId) requireMembership(parts, actor, workspaceId);
    else requireOwner(parts, actor, workspaceId);
    const { role } = requireOtherOwner(parts, whose);
    return {
      event: { operation: "member.remove", actor, details: { account_id: accountId, role } },
      changes: [["removeMember", { workspaceId, accountId }]],
      result: {},
    };
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
  throw new Refused("last_owner", "A workspace must keep at least one owner. Make another member an owner first.");
}

/** Creates an invitation, for owners. Its token is shown only once. @throws {Refused} `forbidden` when there are too many */
export function invite(
  parts: AccountParts,
  actor: string,
  wish: { workspaceId: string; role: Role; label: string | null; expiresInDays: number },
): Promise<{ link: LinkRecord; token: string; auditId: string }> {
  const { control, clock, ids, random } = parts;
  const { workspaceId, role, label, expiresInDays } = wish;
  return act(parts, workspaceId, () => {
    requireOwner(parts, actor, workspaceId);
    const now = clock();
    if (listInvitations(control.connection, workspaceId, now).length >= OPEN_INVITATIONS_MAX) {
      throw new Refused(
        "forbidden",
        `A workspace has at most ${OPEN_INVITATIONS_MAX} open invitations. Withdraw some first.`,
      );
    }
    const { text: token, digest } = makeLinkToken(random);
    const link: LinkRecord = {
      id: ids.next("inv"),
      kind: "invitation",
      workspaceId,
      role,
      accountId: null,
      dropsTotp: false,
      label,
      createdAt: now,
      createdBy: actor,
      expiresAt: now + Math.min(expiresInDays, INVITATION_MAX_DAYS) * DAY_MS,
    };
    const link_digest = digest.toHex();
    const times = { created_at: rfc3339(now), expires_at: rfc3339(link.expiresAt) };
    return {
      event: {
        operation: "member.invite",
        actor,
        details: { invitation_id: link.id, link_digest, role, label, ...times },
      },
      changes: [["addLink", { ...link, digest: link_digest }]],
      result: { link, token },
    };
  });
}

/** Revokes an invitation, for owners. @throws {Refused} `invitation_not_found` */
export async function uninvite(
  parts: AccountParts,
  actor: string,
  { workspaceId, invitationId: id }: { workspaceId: string; invitationId: string },
): Promise<string> {
  const { auditId } = await act(parts, workspaceId, () => {
    requireOwner(parts, actor, workspaceId);
    const at = parts.clock();
    if (!listInvitations(parts.control.connection, workspaceId, at).some((open) => open.id === id)) {
      throw new Refused("invitation_not_found", "There is no such open invitation. GET …/invitations lists them.");
    }
    return {
      event: { operation: "member.uninvite", actor, details: { invitation_id: id, revoked_at: rfc3339(at) } },
      changes: [["revokeInvitation", { workspaceId, id, at }]],
      result: {},
    };
  });
  return auditId;
}

/** Joins a workspace with an invitation. @throws {Refused} `link_not_found`, `already_member` */
export async function acceptInvitation(
  parts: AccountParts,
  accountId: string,
  token: string,
): Promise<{ workspace: Membership; auditId: string }> {
  const { control, clock } = parts;
  const find = (at: number) => {
    const { id, workspaceId, role } = findUsableLink(control.connection, digestOf(token), at) ?? {};
    if (!id || !workspaceId || !role) throw linkNotFound();
    return { id, workspaceId, role };
  };
  const { workspaceId } = find(clock());
  const { auditId } = await act(parts, workspaceId, () => {
    const at = clock();
    const { id, role } = find(at);
    if (findMember(control.connection, workspaceId, accountId) !== undefined) {
      throw new Refused("already_member", "You are already a member of this workspace. The invitation stays open.");
    }
    return {
      event: {
        operation: "member.join",
        actor: accountId,
        details: { account_id: accountId, invitation_id: id, role, joined_at: rfc3339(at) },
      },
      changes: [
        ["takeLink", { id, by: accountId, at }],
        ["addMember", { workspaceId, accountId, role, joinedAt: at }],
      ],
      result: {},
    };
  });
  return { workspace: requireMembership(parts, accountId, workspaceId), auditId };
}

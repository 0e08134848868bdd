/** Changes members of a workspace and invitations to it. */
import { showTime, showTimeOrNull } from "../../ids.ts";
import { Problem } from "../../problem.ts";
import { act, type Recorded } from "../directory/acts.ts";
import { digestOf } from "../directory/secret.ts";
import { findAccount } from "./accounts.ts";
import { draftLink, findUsableLink, INVITATION_MAX_DAYS, listInvitations } from "./links.ts";
import {
  countOwned,
  findMember,
  findMembership,
  hasOtherOwner,
  type MemberRecord,
  type Role,
  requireOwner,
} from "./members.ts";
import { type AccountParts, administrationOf, ownEvent } from "./parts.ts";
import { hasSecondFactor } from "./second-factor.ts";
import { linkNotFound } from "./sign-up.ts";

/** The most workspaces that an account can own by creating them. */
export const OWNED_WORKSPACES_MAX = 100;
/** The most open invitations of one workspace. */
export const OPEN_INVITATIONS_MAX = 1_000;

/** Creates a workspace that the account owns, with its first key. @throws {Problem} `forbidden` */
export function foundWorkspace(parts: AccountParts, accountId: string, name: string) {
  return administrationOf(parts, accountId).createWorkspace(name, ({ id: workspaceId, createdAt: joinedAt }) => {
    const owned = countOwned(parts.control.connection, accountId);
    if (owned === 0 && parts.signup !== "open") {
      throw new Problem(
        "forbidden",
        "Only accounts that already own a workspace can create one. Ask the operator for a link.",
      );
    }
    if (owned >= OWNED_WORKSPACES_MAX) {
      throw new Problem(
        "forbidden",
        `An account that owns ${OWNED_WORKSPACES_MAX} workspaces cannot create another one. Create it with another account, or leave a workspace that has another owner.`,
      );
    }
    return {
      trace: ownEvent("account.create_workspace", accountId, { created_workspace_id: workspaceId }),
      changes: [["addMember", { workspaceId, accountId, role: "owner", joinedAt }]],
    };
  });
}

/**
 * Requires a second factor for using a workspace, or ends the requirement. Only an owner with a second factor may
 * require it, since the owner would otherwise be locked out.
 * @throws {Problem} `second_factor_missing`
 */
export function requireSecondFactor(parts: AccountParts, actor: string, id: string, required: boolean) {
  return act(parts, id, () => {
    const membership = requireOwner(parts, actor, id);
    if (membership.requiresSecondFactor === required) return { event: null };
    const account = findAccount(parts.control.connection, actor);
    if (required && account !== undefined && !hasSecondFactor(parts.control.connection, account)) {
      throw new Problem(
        "second_factor_missing",
        "Turn on a second factor of your own first (POST /account/totp), or you would lose access.",
      );
    }
    const since = required ? parts.clock() : null;
    return {
      event: { operation: "workspace.change", actor, details: { second_factor_since: showTimeOrNull(since) } },
      changes: [["requireSecondFactor", { id, since }]],
    };
  });
}

/** Changes the role of a member, for owners. @throws {Problem} `member_not_found`, `last_owner` */
export function changeRole(parts: AccountParts, actor: string, request: MemberKey & { role: Role }) {
  const { workspaceId, accountId, role } = request;
  return act(parts, workspaceId, () => {
    requireOwner(parts, actor, workspaceId);
    const member = requireMember(parts, request);
    if (member.role === role) return { event: null, result: { member } };
    requireOtherOwner(parts, request);
    return {
      event: { operation: "member.change", actor, details: { account_id: accountId, role, role_before: member.role } },
      changes: [["setRole", { workspaceId, accountId, role }]],
      result: { member: { ...member, role } },
    };
  });
}

/** Ends a membership, for owners and the member. @throws {Problem} `member_not_found`, `last_owner` */
export function removeMember(parts: AccountParts, actor: string, whose: MemberKey): Promise<Recorded> {
  const { workspaceId, accountId } = whose;
  return act(parts, workspaceId, () => {
    if (actor === accountId) findMembership(parts, actor, workspaceId);
    else requireOwner(parts, actor, workspaceId);
    const { role } = requireOtherOwner(parts, whose);
    return {
      event: { operation: "member.remove", actor, details: { account_id: accountId, role } },
      changes: [["removeMember", { workspaceId, accountId }]],
    };
  });
}

type MemberKey = { workspaceId: string; accountId: string };

function requireMember({ control }: AccountParts, { workspaceId, accountId }: MemberKey): MemberRecord {
  const member = findMember(control.connection, workspaceId, accountId);
  if (member !== undefined) return member;
  throw new Problem("member_not_found", "The workspace has no such member. GET …/members lists them.");
}

/** Returns a member who may lose a role. @throws {Problem} `last_owner` when the workspace would have no owner */
function requireOtherOwner(parts: AccountParts, key: MemberKey): MemberRecord {
  const member = requireMember(parts, key);
  const { connection } = parts.control;
  if (member.role !== "owner" || hasOtherOwner(connection, key.workspaceId, key.accountId)) return member;
  throw new Problem("last_owner", "A workspace must keep at least one owner. Make another member an owner first.");
}

/**
 * Creates an invitation, for owners. Its token is shown only once.
 * @throws {Problem} `forbidden` when there are too many
 */
export function invite(
  parts: AccountParts,
  actor: string,
  request: { workspaceId: string; role: Role; label: string | null; expiresInDays: number },
) {
  const { control, clock, ids } = parts;
  const { expiresInDays, ...invitation } = request;
  const { workspaceId, role, label } = invitation;
  return act(parts, workspaceId, () => {
    requireOwner(parts, actor, workspaceId);
    const now = clock();
    if (listInvitations(control.connection, workspaceId, now).length >= OPEN_INVITATIONS_MAX) {
      throw new Problem(
        "forbidden",
        `A workspace has at most ${OPEN_INVITATIONS_MAX} open invitations. Withdraw some first.`,
      );
    }
    const days = Math.min(expiresInDays, INVITATION_MAX_DAYS);
    const { digest, ...made } = draftLink(ids, now, { ...invitation, kind: "invitation", createdBy: actor }, days);
    const { id, expiresAt } = made.link;
    const times = { created_at: showTime(now), expires_at: showTime(expiresAt) };
    return {
      event: {
        operation: "member.invite",
        actor,
        details: { invitation_id: id, link_digest: digest, role, label, ...times },
      },
      changes: [["addLink", { ...made.link, digest }]],
      result: made,
    };
  });
}

/** Revokes an invitation, for owners. @throws {Problem} `invitation_not_found` */
export function uninvite(
  parts: AccountParts,
  actor: string,
  { workspaceId, invitationId: id }: { workspaceId: string; invitationId: string },
): Promise<Recorded> {
  return act(parts, workspaceId, () => {
    requireOwner(parts, actor, workspaceId);
    const at = parts.clock();
    if (!listInvitations(parts.control.connection, workspaceId, at).some((open) => open.id === id)) {
      throw new Problem("invitation_not_found", "There is no such open invitation. GET …/invitations lists them.");
    }
    return {
      event: { operation: "member.uninvite", actor, details: { invitation_id: id, revoked_at: showTime(at) } },
      changes: [["revokeInvitation", { workspaceId, id, at }]],
    };
  });
}

/** Joins a workspace with an invitation. @throws {Problem} `link_not_found`, `already_member` */
export async function acceptInvitation(parts: AccountParts, accountId: string, token: string) {
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
      throw new Problem("already_member", "You are already a member of this workspace. The invitation stays open.");
    }
    return {
      event: ownEvent("member.join", accountId, { invitation_id: id, role, joined_at: showTime(at) }),
      changes: [
        ["takeLink", { id, by: accountId, at }],
        ["addMember", { workspaceId, accountId, role, joinedAt: at }],
      ],
    };
  });
  return { workspace: findMembership(parts, accountId, workspaceId), auditId };
}

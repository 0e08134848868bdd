/** The operations on members and invitations, and on who needs a second factor. Events state what they change (log/row-effects.ts). */
import {
  findMember,
  findOpenInvitation,
  hasOtherOwner,
  listOpenInvitations,
  type OpenInvitation,
  type StoredMember,
  secondFactorSince,
} from "../../core/rows/access/members.ts";
import { isPerson } from "../../core/writer/contract.ts";
import {
  type Context,
  changedRows,
  done,
  type OperationsOf,
  type Run,
  unchanged,
} from "../../core/writer/operation.ts";
import { showTime, showTimeOrNull } from "../../ids.ts";
import type { JoinRequest } from "../../operation-facts.ts";
import { invalid, Problem } from "../../problem.ts";
import type { Reader } from "../../store/transaction.ts";
import { digestOf } from "../directory/secret.ts";
import { makeWorkspaceSecret } from "../directory/workspace-secret.ts";
import { nameProblem } from "../directory/workspaces.ts";
import { shownInvitation } from "./shown.ts";

const DAY_MS = 86_400_000;
/** How long an invitation is valid at most, days. */
export const INVITATION_MAX_DAYS = 30;
/** The most open invitations of one workspace. */
export const OPEN_INVITATIONS_MAX = 1_000;

/** Invites somebody. The token is shown only once. */
const invite: Run<"member.invite"> = async (reader, context, { role, label, expiresInDays }) => {
  const problem = label === null ? null : nameProblem(label);
  if (problem) throw invalid(`The label of an invitation must ${problem}.`);
  const { nowMs, principal, workspaceId } = context;
  if ((await listOpenInvitations(reader, nowMs)).length >= OPEN_INVITATIONS_MAX) {
    throw new Problem(
      "forbidden",
      `A workspace has at most ${OPEN_INVITATIONS_MAX} open invitations. Withdraw some first.`,
    );
  }
  const token = makeWorkspaceSecret("inv_", workspaceId, context.random);
  const expiresAt = nowMs + Math.min(expiresInDays, INVITATION_MAX_DAYS) * DAY_MS;
  const id = context.ids.next("inv");
  const digest = digestOf(token).toHex();
  const made: OpenInvitation = { id, role, label, createdAt: nowMs, createdBy: principal.actor, expiresAt };
  const details = { invitation_id: id, link_digest: digest, role, label, expires_at: showTime(expiresAt) };
  const body = { ...shownInvitation(made), token, audit_id: context.auditId };
  return changedRows("member.invite", context, details, JSON.stringify(body), { status: 201 });
};

/** Withdraws an invitation. */
const uninvite: Run<"member.uninvite"> = async (reader, context, { invitationId: id }) => {
  if (!(await listOpenInvitations(reader, context.nowMs)).some((open) => open.id === id)) {
    throw new Problem("invitation_not_found", "There is no such open invitation. GET …/invitations lists them.");
  }
  return changedRows("member.uninvite", context, { invitation_id: id }, done(context));
};

/** Makes an account a member. One that is a member already stays what it is. */
const join: Run<"member.join"> = async (reader, context, request) => {
  const { accountId } = request;
  const way = await wayIn(reader, context, request);
  if ((await findMember(reader, accountId)) !== undefined) {
    if (!("invitation_id" in way)) return unchanged();
    throw new Problem("already_member", "You are already a member of this workspace. The invitation stays open.");
  }
  return changedRows("member.join", context, { account_id: accountId, ...way }, done(context));
};

/** Returns the role of a new member, and what gives it. @throws {Problem} `link_not_found` */
async function wayIn(reader: Reader, { nowMs }: Context, request: JoinRequest) {
  if ("issuer" in request) return { role: request.role, issuer: request.issuer };
  if ("role" in request) return { role: request.role };
  const { id, role } = (await findOpenInvitation(reader, request.digest, nowMs)) ?? {};
  if (id === undefined || role === undefined) throw linkNotFound();
  return { role, invitation_id: id };
}

/** Changes the role of a member. An issuer changes only roles that its own groups gave, and may leave no owner. */
const changeRole: Run<"member.change"> = async (reader, context, { accountId, role, issuer }) => {
  const before = (await requireMember(reader, accountId, issuer))?.role ?? role;
  if (before === role) return unchanged();
  if (issuer === undefined) await requireOtherOwner(reader, context, { accountId, role: before });
  const details = { account_id: accountId, role, role_before: before, ...(issuer !== undefined && { issuer }) };
  return changedRows("member.change", context, details, done(context));
};

/** Ends a membership. */
const remove: Run<"member.remove"> = async (reader, context, { accountId, issuer }) => {
  const member = await requireMember(reader, accountId, issuer);
  if (member === null) return unchanged();
  const { role } = member;
  if (issuer === undefined) await requireOtherOwner(reader, context, { accountId, role });
  const details = { account_id: accountId, role, ...(issuer !== undefined && { issuer }) };
  return changedRows("member.remove", context, details, done(context));
};

/**
 * Requires a second factor for using the workspace, or ends the requirement. A person who requires it must have one, or
 * would lose access.
 */
const changeWorkspace: Run<"workspace.change"> = async (reader, context, { requiresSecondFactor }) => {
  const { nowMs, principal } = context;
  if (((await secondFactorSince(reader)) !== null) === requiresSecondFactor) return unchanged();
  if (requiresSecondFactor && isPerson(principal) && principal.hasSecondFactor !== true) {
    throw new Problem(
      "second_factor_missing",
      "Turn on a second factor of your own first (POST /account/totp), or you would lose access.",
    );
  }
  const since = requiresSecondFactor ? nowMs : null;
  return changedRows("workspace.change", context, { second_factor_since: showTimeOrNull(since) }, done(context));
};

/** @param issuer the issuer whose groups decide; null is returned for a member whose role they did not give */
async function requireMember(reader: Reader, accountId: string, issuer: string | undefined) {
  const member = await findMember(reader, accountId);
  if (issuer !== undefined && member?.issuer !== issuer) return null;
  if (member === undefined) throw memberNotFound();
  return member;
}

/**
 * Refuses what would leave a workspace without an owner. The operator may do that, at a restore.
 * @throws {Problem} `last_owner`
 */
async function requireOtherOwner(
  reader: Reader,
  { principal }: Context,
  { accountId, role }: Pick<StoredMember, "accountId" | "role">,
): Promise<void> {
  if (role !== "owner" || !isPerson(principal) || (await hasOtherOwner(reader, accountId))) return;
  throw new Problem("last_owner", "A workspace must keep at least one owner. Make another member an owner first.");
}

export const memberNotFound = () =>
  new Problem("member_not_found", "The workspace has no such member. GET …/members lists them.");

export const linkNotFound = () =>
  new Problem(
    "link_not_found",
    "The link was used, has expired or was replaced. Ask for a new one. The operator creates links with: governd account link",
    { param: "token" },
  );

export const memberOperations: OperationsOf<"member" | "workspace"> = {
  "member.change": { run: changeRole },
  "member.invite": { run: invite },
  "member.join": { run: join },
  "member.remove": { run: remove },
  "member.uninvite": { run: uninvite },
  "workspace.change": { run: changeWorkspace },
};

/** Workspaces, their members, and invitations to them. */

import { LINK_LIFETIME_DAYS, listInvitations } from "../../control/accounts/links.ts";
import {
  countMembers,
  listMembers,
  listMemberships,
  requireMembership,
  requireOwner,
} from "../../control/accounts/members.ts";
import { changeRole, foundWorkspace, invite, removeMember, uninvite } from "../../control/accounts/membership.ts";
import { countKeysInForce } from "../../control/keys.ts";
import { listWithoutPages } from "../shapes.ts";
import { action } from "./action.ts";
import {
  InvitationBody,
  InvitationShape,
  MemberShape,
  NameBody,
  NewInvitation,
  NewWorkspace,
  RoleBody,
  WorkspaceDetails,
  WorkspaceShape,
} from "./schema.ts";
import { showInvitation, showMember, showWorkspace } from "./show.ts";

const list = action({
  name: "list_workspaces",
  method: "GET",
  path: "/account/workspaces",
  docs: {
    tag: "Workspaces",
    summary: "List workspaces",
    description: "Your workspaces, in the order of joining.",
    response: { description: "The workspaces.", schema: listWithoutPages(WorkspaceShape) },
  },
  run: ({ signedIn }, { parts }) => ({
    body: { data: listMemberships(parts.control.connection, signedIn.accountId).map(showWorkspace) },
  }),
});

const create = action({
  name: "create_workspace",
  method: "POST",
  path: "/account/workspaces",
  body: NameBody,
  docs: {
    tag: "Workspaces",
    summary: "Make a workspace",
    description:
      "With its first API key, which is shown only once. For owners of a workspace, and for everybody when sign-up is open.",
    recordedAs: ["key.create"],
    response: { description: "The workspace and its first key.", schema: NewWorkspace },
    status: 201,
    requestExample: { name: "Analytical engines" },
  },
  async run({ body, signedIn }, { parts }) {
    const made = await foundWorkspace(parts, signedIn.accountId, body.name);
    const { id, name, createdAt } = made.workspace;
    return {
      status: 201,
      body: {
        workspace: showWorkspace({ id, name, role: "owner", createdAt }),
        workspace_id: id,
        api_key: made.apiKey,
        key_id: made.record.id,
      },
      auditId: made.auditId,
    };
  },
});

const read = action({
  name: "read_workspace",
  method: "GET",
  path: "/account/workspaces/:workspace_id",
  docs: {
    tag: "Workspaces",
    summary: "Read a workspace",
    description: "With its size on disk, its quotas, and its numbers of members and active keys.",
    response: { description: "The workspace.", schema: WorkspaceDetails },
    problems: ["workspace_not_found"],
  },
  async run({ params, signedIn }, { parts, storageBytes, quota }) {
    const { connection } = parts.control;
    const workspace = requireMembership(parts, signedIn.accountId, params.workspace_id);
    return {
      body: {
        ...showWorkspace(workspace),
        storage_bytes: await storageBytes(workspace.id),
        quota_bytes: quota?.bytes ?? null,
        quota_entries: quota?.entries ?? null,
        members: countMembers(connection, workspace.id),
        keys: countKeysInForce(connection, workspace.id, parts.clock()),
      },
    };
  },
});

const members = action({
  name: "list_members",
  method: "GET",
  path: "/account/workspaces/:workspace_id/members",
  docs: {
    tag: "Workspaces",
    summary: "List members",
    description: "In the order of joining.",
    response: { description: "The members.", schema: listWithoutPages(MemberShape) },
    problems: ["workspace_not_found"],
  },
  run({ params, signedIn }, { parts }) {
    const { id } = requireMembership(parts, signedIn.accountId, params.workspace_id);
    const found = listMembers(parts.control.connection, id);
    return { body: { data: found.map((member) => showMember(member, signedIn.accountId)) } };
  },
});

const change = action({
  name: "change_member",
  method: "PUT",
  path: "/account/workspaces/:workspace_id/members/:account_id",
  body: RoleBody,
  docs: {
    tag: "Workspaces",
    summary: "Change a member's role",
    description: "For owners. Takes effect with the member's next request.",
    recordedAs: ["member.change"],
    response: { description: "The member.", schema: MemberShape },
    problems: ["workspace_not_found", "member_not_found", "last_owner"],
    requestExample: { role: "auditor" },
  },
  async run({ params, body, signedIn }, { parts }) {
    const workspace = requireOwner(parts, signedIn.accountId, params.workspace_id);
    const { member, auditId } = await changeRole(parts, signedIn.accountId, {
      workspaceId: workspace.id,
      accountId: params.account_id,
      role: body.role,
    });
    return { body: showMember(member, signedIn.accountId), auditId };
  },
});

const remove = action({
  name: "remove_member",
  method: "DELETE",
  path: "/account/workspaces/:workspace_id/members/:account_id",
  docs: {
    tag: "Workspaces",
    summary: "Remove a member",
    description:
      "For owners; anybody may remove themselves. Keys that the member made keep working: revoke them if necessary.",
    recordedAs: ["member.remove"],
    problems: ["workspace_not_found", "member_not_found", "last_owner"],
  },
  async run({ params, signedIn }, { parts }) {
    const leaves = params.account_id === signedIn.accountId;
    const require = leaves ? requireMembership : requireOwner;
    const workspace = require(parts, signedIn.accountId, params.workspace_id);
    const subject = { workspaceId: workspace.id, accountId: params.account_id };
    return { auditId: await removeMember(parts, signedIn.accountId, subject) };
  },
});

const invitations = action({
  name: "list_invitations",
  method: "GET",
  path: "/account/workspaces/:workspace_id/invitations",
  docs: {
    tag: "Workspaces",
    summary: "List invitations",
    description: "For owners. The usable ones, newest first.",
    response: { description: "The invitations.", schema: listWithoutPages(InvitationShape) },
    problems: ["workspace_not_found"],
  },
  run({ params, signedIn }, { parts }) {
    const { id } = requireOwner(parts, signedIn.accountId, params.workspace_id);
    const found = listInvitations(parts.control.connection, id, parts.clock());
    return { body: { data: found.map(showInvitation) } };
  },
});

const inviteMember = action({
  name: "invite",
  method: "POST",
  path: "/account/workspaces/:workspace_id/invitations",
  body: InvitationBody,
  docs: {
    tag: "Workspaces",
    summary: "Invite somebody",
    description:
      "For owners. Returns a link for the invited person, which is shown only once; the daemon sends no mail. Its use is recorded as `member.join`.",
    recordedAs: ["member.invite"],
    response: { description: "The invitation and its link.", schema: NewInvitation },
    status: 201,
    problems: ["workspace_not_found"],
    requestExample: { role: "auditor", label: "Grace of compliance", expires_in_days: 3 },
  },
  async run({ params, body, signedIn, base }, { parts }) {
    const workspace = requireOwner(parts, signedIn.accountId, params.workspace_id);
    const { link, token, auditId } = await invite(parts, signedIn.accountId, {
      workspaceId: workspace.id,
      role: body.role,
      label: body.label ?? null,
      expiresInDays: body.expires_in_days ?? LINK_LIFETIME_DAYS,
    });
    return { status: 201, body: { ...showInvitation(link), token, url: `${base}/join#token=${token}` }, auditId };
  },
});

const uninviteMember = action({
  name: "uninvite",
  method: "DELETE",
  path: "/account/workspaces/:workspace_id/invitations/:invitation_id",
  docs: {
    tag: "Workspaces",
    summary: "Withdraw an invitation",
    description: "For owners.",
    recordedAs: ["member.uninvite"],
    problems: ["workspace_not_found", "invitation_not_found"],
  },
  async run({ params, signedIn }, { parts }) {
    const workspace = requireOwner(parts, signedIn.accountId, params.workspace_id);
    const subject = { workspaceId: workspace.id, invitationId: params.invitation_id };
    return { auditId: await uninvite(parts, signedIn.accountId, subject) };
  },
});

export const workspaceActions = [
  list,
  create,
  read,
  members,
  change,
  remove,
  invitations,
  inviteMember,
  uninviteMember,
];

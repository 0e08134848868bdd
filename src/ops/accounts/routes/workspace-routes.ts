/** Workspaces, their members, and invitations to them. */
import { Type as t } from "@sinclair/typebox";
import { optionalInteger } from "../../../api/fields.ts";
import { route } from "../../../api/route.ts";
import { listWithoutPages, object } from "../../../api/shapes.ts";
import { ACTIVITY_INTERVALS } from "../../../operation-facts.ts";
import { invalid } from "../../../problem.ts";
import { countKeysInForce } from "../../directory/keys.ts";
import { INVITATION_MAX_DAYS, LINK_LIFETIME_DAYS, listInvitations } from "../links.ts";
import { countMembers, FOUNDER, findMembership, listMembers, listMemberships, requireOwner } from "../members.ts";
import { changeRole, foundWorkspace, invite, removeMember, requireSecondFactor, uninvite } from "../membership.ts";
import * as schema from "./schema.ts";
import { showInvitation, showMember, showWorkspace } from "./show.ts";

export const workspaceRoutes = [
  route({
    by: "session",
    name: "list_workspaces",
    at: "GET /account/workspaces",
    summary: "List workspaces",
    description: "Your workspaces, in the order of joining.",
    response: { description: "The workspaces.", schema: listWithoutPages(schema.WorkspaceShape) },
    run: ({ signedIn }, { parts }) => ({
      body: { data: listMemberships(parts.control.connection, signedIn.accountId).map(showWorkspace) },
    }),
  }),

  route({
    by: "session",
    name: "create_workspace",
    at: "POST /account/workspaces",
    body: object({ name: schema.WorkspaceName }),
    summary: "Make a workspace",
    description:
      "With its first API key, which is shown only once. For owners of a workspace, and for everybody when sign-up is open.",
    recordedAs: ["key.create", "account.create_workspace"],
    response: { description: "The workspace and its first key.", schema: schema.NewWorkspace },
    status: 201,
    async run({ body, signedIn }, { parts }) {
      const { workspace, apiKey, record, auditId } = await foundWorkspace(parts, signedIn.accountId, body.name);
      return {
        body: {
          workspace: showWorkspace({ ...workspace, ...FOUNDER }),
          workspace_id: workspace.id,
          api_key: apiKey,
          key_id: record.id,
        },
        auditId,
      };
    },
  }),

  route({
    by: "member",
    name: "read_workspace",
    at: "GET /account/workspaces/:workspace_id",
    summary: "Read a workspace",
    description: "With its size on disk, its quotas, and its numbers of members and active keys.",
    response: { description: "The workspace.", schema: schema.WorkspaceDetails },
    async run({ workspace }, { parts, storageBytes, quota }) {
      const { connection } = parts.control;
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
  }),

  route({
    by: "member",
    name: "read_upkeep",
    at: "GET /account/workspaces/:workspace_id/upkeep",
    summary: "Read the state of the installation",
    description: "Of the disk, the certificates and the scheduled backups, on which every workspace depends.",
    response: { description: "The state.", schema: schema.Upkeep },
    run: async (_asked, { upkeep }) => ({ body: await upkeep() }),
  }),

  route({
    by: "member",
    name: "count_findings",
    at: "GET /account/workspaces/:workspace_id/findings/:interval",
    summary: "Count what the policies found",
    description:
      "By detector, in each of the last 60 minutes, 24 hours or 30 days: operations that were blocked, and writes that were stored redacted or reported.",
    recordedAs: ["audit.activity"],
    response: { description: "The counts, oldest first.", schema: schema.FindingsOverTime },
    run({ workspace, accountId, params }, { findings }) {
      const interval = ACTIVITY_INTERVALS.find((name) => name === params.interval);
      if (interval === undefined) throw invalid("Findings are counted by minute, hour or day.", "interval");
      return findings({ workspaceId: workspace.id, accountId }, interval);
    },
  }),

  route({
    by: "owner",
    name: "change_workspace",
    at: "PUT /account/workspaces/:workspace_id",
    body: object({ require_second_factor: t.Boolean({ description: "Whether members need a second factor." }) }),
    summary: "Require a second factor",
    description:
      "For owners who have one. Takes effect at once: members without a second factor can only turn one on, or leave. API keys are not affected.",
    recordedAs: ["workspace.change"],
    response: { description: "The workspace.", schema: schema.WorkspaceShape },
    problems: ["second_factor_missing"],
    async run({ workspace: { id }, body, accountId }, { parts }) {
      const { auditId } = await requireSecondFactor(parts, accountId, id, body.require_second_factor);
      return { body: showWorkspace(findMembership(parts, accountId, id)), auditId };
    },
  }),

  route({
    by: "member",
    name: "list_members",
    at: "GET /account/workspaces/:workspace_id/members",
    summary: "List members",
    description: "In the order of joining.",
    response: { description: "The members.", schema: listWithoutPages(schema.MemberShape) },
    run({ workspace, accountId }, { parts }) {
      const found = listMembers(parts.control.connection, workspace.id);
      return { body: { data: found.map((member) => showMember(member, accountId)) } };
    },
  }),

  route({
    by: "owner",
    name: "change_member",
    at: "PUT /account/workspaces/:workspace_id/members/:account_id",
    body: object({ role: schema.RoleName }),
    summary: "Change a member's role",
    description: "For owners. Takes effect with the member's next request.",
    recordedAs: ["member.change"],
    response: { description: "The member.", schema: schema.MemberShape },
    problems: ["member_not_found", "last_owner"],
    async run({ params, workspace, body, accountId }, { parts }) {
      const wanted = { workspaceId: workspace.id, accountId: params.account_id, role: body.role };
      const { member, auditId } = await changeRole(parts, accountId, wanted);
      return { body: showMember(member, accountId), auditId };
    },
  }),

  route({
    by: "locked_member",
    name: "remove_member",
    at: "DELETE /account/workspaces/:workspace_id/members/:account_id",
    summary: "Remove a member",
    description:
      "For owners; anybody may remove themselves. Keys that the member made keep working: revoke them if necessary.",
    recordedAs: ["member.remove"],
    problems: ["member_not_found", "last_owner"],
    run({ params, workspace, accountId }, { parts }) {
      if (params.account_id !== accountId) requireOwner(parts, accountId, workspace.id);
      return removeMember(parts, accountId, { workspaceId: workspace.id, accountId: params.account_id });
    },
  }),

  route({
    by: "owner",
    name: "list_invitations",
    at: "GET /account/workspaces/:workspace_id/invitations",
    summary: "List invitations",
    description: "For owners. The usable ones, newest first.",
    response: { description: "The invitations.", schema: listWithoutPages(schema.InvitationShape) },
    run({ workspace }, { parts }) {
      const found = listInvitations(parts.control.connection, workspace.id, parts.clock());
      return { body: { data: found.map(showInvitation) } };
    },
  }),

  route({
    by: "owner",
    name: "invite",
    at: "POST /account/workspaces/:workspace_id/invitations",
    body: object({
      role: schema.RoleName,
      label: t.Optional({ ...schema.Name, examples: ["Grace of compliance"] }),
      expires_in_days: optionalInteger(
        1,
        INVITATION_MAX_DAYS,
        "Days until it can no longer be used",
        LINK_LIFETIME_DAYS,
      ),
    }),
    summary: "Invite somebody",
    description:
      "For owners. Returns a link for the invited person, which is shown only once; the daemon sends no mail. Its use is recorded as `member.join`.",
    recordedAs: ["member.invite"],
    response: { description: "The invitation and its link.", schema: schema.NewInvitation },
    status: 201,
    async run({ workspace, body, accountId, base }, { parts }) {
      const { link, token, auditId } = await invite(parts, accountId, {
        workspaceId: workspace.id,
        role: body.role,
        label: body.label ?? null,
        expiresInDays: body.expires_in_days ?? LINK_LIFETIME_DAYS,
      });
      return { body: { ...showInvitation(link), token, url: `${base}/join#token=${token}` }, auditId };
    },
  }),

  route({
    by: "owner",
    name: "uninvite",
    at: "DELETE /account/workspaces/:workspace_id/invitations/:invitation_id",
    summary: "Withdraw an invitation",
    description: "For owners.",
    recordedAs: ["member.uninvite"],
    problems: ["invitation_not_found"],
    run: ({ params, workspace, accountId }, { parts }) =>
      uninvite(parts, accountId, { workspaceId: workspace.id, invitationId: params.invitation_id }),
  }),
];

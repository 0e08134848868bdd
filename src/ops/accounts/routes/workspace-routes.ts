/** Workspaces, their members, and invitations to them. */

import { Type as t } from "@sinclair/typebox";
import { optionalInteger } from "../../../api/fields.ts";
import { route } from "../../../api/route.ts";
import { listWithoutPages, object } from "../../../api/shapes.ts";
import { authorisedBy } from "../../../core/rows/access/sessions.ts";
import { ACTIVITY_INTERVALS } from "../../../operation-facts.ts";
import { invalid } from "../../../problem.ts";
import { INVITATION_MAX_DAYS, memberNotFound } from "../../members/operations.ts";
import { foundWorkspace } from "../membership.ts";
import { findMembership, principalOf, requireOwner } from "../memberships.ts";
import { LINK_LIFETIME_DAYS } from "../operations/credential.ts";
import { withoutRow } from "../parts.ts";
import * as schema from "./schema.ts";
import { showMembers, showWorkspace } from "./show.ts";

export const workspaceRoutes = [
  route({
    by: "session",
    name: "list_workspaces",
    at: "GET /account/workspaces",
    summary: "List workspaces",
    description: "Your workspaces, in the order of joining.",
    response: { description: "The workspaces.", schema: listWithoutPages(schema.WorkspaceShape) },
    run: async ({ signedIn }, { parts }) => ({
      body: { data: (await parts.memberships.list(signedIn.accountId)).map(showWorkspace) },
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
    recordedAs: ["key.create", "installation.add_workspace"],
    response: { description: "The workspace and its first key.", schema: schema.NewWorkspace },
    status: 201,
    async run({ body, signedIn }, { parts }) {
      const { membership, apiKey, keyId, auditId } = await foundWorkspace(parts, signedIn.accountId, body.name);
      const workspace = showWorkspace(membership);
      return { body: { workspace, workspace_id: workspace.id, api_key: apiKey, key_id: keyId }, auditId };
    },
  }),

  route({
    by: "member",
    name: "read_workspace",
    at: "GET /account/workspaces/:workspace_id",
    summary: "Read a workspace",
    description: "With its size on disk, its quotas, and its numbers of members and active keys.",
    response: { description: "The workspace.", schema: schema.WorkspaceDetails },
    async run({ workspace }, { parts: { workspaces }, storageBytes, quota }) {
      const members = await workspaces.ask(workspace.id, "member.list", {});
      const keys = await workspaces.ask(workspace.id, "key.list", {});
      return {
        body: {
          ...showWorkspace(workspace),
          storage_bytes: await storageBytes(workspace.id),
          quota_bytes: quota?.bytes ?? null,
          quota_entries: quota?.entries ?? null,
          members: members.data.length,
          keys: keys.data.filter(({ state }) => state === "in_force").length,
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
    run({ workspace, session, params }, { findings }) {
      const interval = ACTIVITY_INTERVALS.find((name) => name === params.interval);
      if (interval === undefined) throw invalid("Findings are counted by minute, hour or day.", "interval");
      return findings(principalOf(workspace, session), interval);
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
    async run({ workspace, session, body, accountId }, { parts: { workspaces, memberships } }) {
      const input = { requiresSecondFactor: body.require_second_factor };
      const { auditId } = await workspaces.change(principalOf(workspace, session), "workspace.change", input);
      return { body: showWorkspace(await findMembership(memberships, accountId, workspace.id)), auditId };
    },
  }),

  route({
    by: "member",
    name: "list_members",
    at: "GET /account/workspaces/:workspace_id/members",
    summary: "List members",
    description: "In the order of joining.",
    response: { description: "The members.", schema: listWithoutPages(schema.MemberShape) },
    async run({ workspace, accountId }, { parts }) {
      const { data } = await parts.workspaces.ask(workspace.id, "member.list", {});
      return { body: { data: await showMembers(parts, data, accountId) } };
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
    async run({ params, workspace, session, body, accountId }, { parts }) {
      const wanted = { accountId: params.account_id, role: body.role };
      const { auditId } = await parts.workspaces.change(principalOf(workspace, session), "member.change", wanted);
      const { member } = await parts.workspaces.ask(workspace.id, "member.find", wanted);
      const [shown] = await showMembers(parts, member === null ? [] : [member], accountId);
      if (shown === undefined) throw memberNotFound();
      return { body: shown, auditId };
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
    async run({ params, workspace, session, accountId }, { parts: { workspaces, memberships } }) {
      const isOther = params.account_id !== accountId;
      const principal = isOther
        ? principalOf(await requireOwner(memberships, accountId, workspace.id), session)
        : withoutRow(accountId, workspace.id, authorisedBy(session));
      const { auditId } = await workspaces.change(principal, "member.remove", { accountId: params.account_id });
      return { auditId };
    },
  }),

  route({
    by: "owner",
    name: "list_invitations",
    at: "GET /account/workspaces/:workspace_id/invitations",
    summary: "List invitations",
    description: "For owners. The usable ones, newest first.",
    response: { description: "The invitations.", schema: listWithoutPages(schema.InvitationShape) },
    run: async ({ workspace }, { parts }) => ({
      body: await parts.workspaces.ask(workspace.id, "invitation.list", {}),
    }),
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
    async run({ workspace, session, body: { role, label = null, expires_in_days: days }, base }, { parts }) {
      const input = { role, label, expiresInDays: days ?? LINK_LIFETIME_DAYS };
      const { body, auditId } = await parts.workspaces.change(principalOf(workspace, session), "member.invite", input);
      return { body: { ...body, url: `${base}/join#token=${body.token}` }, auditId };
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
    async run({ params, workspace, session }, { parts }) {
      const input = { invitationId: params.invitation_id };
      const { auditId } = await parts.workspaces.change(principalOf(workspace, session), "member.uninvite", input);
      return { auditId };
    },
  }),
];

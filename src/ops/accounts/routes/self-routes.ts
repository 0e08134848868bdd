/** The routes for the account that is signed in. */

import { Type as t } from "@sinclair/typebox";
import { route } from "../../../api/route.ts";
import { clearSession } from "../../../api/session.ts";
import { Count, listWithoutPages, object } from "../../../api/shapes.ts";
import { findAccount, type StoredAccount } from "../../../core/rows/access/accounts.ts";
import { listSessions } from "../../../core/rows/access/sessions.ts";
import { Problem } from "../../../problem.ts";
import { eraseOwnAccount } from "../erase.ts";
import { acceptInvitation } from "../membership.ts";
import type { AccountParts } from "../parts.ts";
import { beginSecondFactor, confirmSecondFactor, endSecondFactor, renewRecoveryCodes } from "../second-factor.ts";
import type { SignedIn } from "../session-keeper.ts";
import { changePassword, confirmPassword, endSessions, recordingFailures, rename } from "../sign-in.ts";
import * as schema from "./schema.ts";
import { showAccount, showSession, showSignedIn, showWorkspace } from "./show.ts";

async function accountOf({ installation }: AccountParts, { accountId }: SignedIn): Promise<StoredAccount> {
  const account = await findAccount(installation.connection, accountId);
  if (account === undefined) throw new Error("a session without an account");
  return account;
}

export const selfRoutes = [
  route({
    by: "session",
    name: "read",
    at: "GET /account",
    summary: "Who is signed in",
    description:
      "The account, this session, and the account's workspaces. `installation` is the log of the installation, for operators.",
    response: { description: "Who is signed in.", schema: schema.WhoAmI },
    run: async ({ signedIn }, { parts }) => ({
      body: await showSignedIn(parts, await accountOf(parts, signedIn), signedIn.session),
    }),
  }),

  route({
    by: "session",
    name: "update",
    at: "PUT /account",
    body: object({ name: schema.Name }),
    summary: "Change the name",
    description: "The name that other members see.",
    recordedAs: ["account.rename"],
    response: { description: "The account.", schema: schema.AccountShape },
    async run({ body, signedIn }, { parts }) {
      const { auditId } = await rename(parts, signedIn.accountId, body.name);
      return { body: await showAccount(parts, await accountOf(parts, signedIn)), auditId };
    },
  }),

  route({
    by: "session",
    name: "erase",
    at: "DELETE /account",
    body: object({ password: t.Optional(schema.Password), code: t.Optional(schema.Code) }),
    bodyOptional: true,
    summary: "Erase the account",
    description:
      "For good, with the password and a code of the second factor. The account leaves its workspaces; its name, addresses, factors and sessions are removed, and the details of its events. Events, API keys and workspaces stay.",
    recordedAs: ["account.erase"],
    response: { description: "Done.", sends: ["Set-Cookie"] },
    problems: ["password_wrong", "second_factor_missing", "second_factor_failed", "last_owner"],
    async run({ body, signedIn }, { parts }) {
      const account = await accountOf(parts, signedIn);
      const { auditId } = await eraseOwnAccount(parts, signedIn.session, account, {
        password: body.password,
        code: body.code,
      });
      return { cookies: [clearSession()], auditId };
    },
  }),

  route({
    by: "session",
    name: "sign_out",
    at: "POST /account/sign-out",
    summary: "Sign out",
    description: "Ends this session.",
    recordedAs: ["account.end_sessions"],
    response: { description: "Done.", sends: ["Set-Cookie"] },
    async run({ signedIn }, { parts }) {
      const { auditId } = await endSessions(signedIn, parts, signedIn.session.id);
      return { cookies: [clearSession()], auditId };
    },
  }),

  route({
    by: "session",
    name: "change_password",
    at: "PUT /account/password",
    body: object({ current_password: schema.Password, new_password: schema.NewPassword }),
    summary: "Change the password",
    description: "Needs the current one. All other sessions end.",
    recordedAs: ["account.change_password"],
    problems: ["password_wrong"],
    run: ({ body, signedIn }, { parts }) =>
      changePassword(parts, signedIn.session, { current: body.current_password, next: body.new_password }),
  }),

  route({
    by: "session",
    name: "list_sessions",
    at: "GET /account/sessions",
    summary: "List sessions",
    description: "The active ones, most recently used first.",
    response: { description: "The sessions.", schema: listWithoutPages(schema.SessionShape) },
    async run({ signedIn }, { parts }) {
      const { installation, clock } = parts;
      const found = await listSessions(installation.connection, signedIn.accountId, clock());
      // The current session in memory is newer than the stored one.
      const { session: current } = signedIn;
      const newest = found.map((session) => (session.id === current.id ? current : session));
      return { body: { data: newest.map((session) => showSession(session, current.id)) } };
    },
  }),

  route({
    by: "session",
    name: "end_session",
    at: "DELETE /account/sessions/:id",
    summary: "End a session",
    description: "Takes effect at once. Ending the current one signs out.",
    recordedAs: ["account.end_sessions"],
    response: { description: "Done.", sends: ["Set-Cookie"] },
    problems: ["session_not_found"],
    async run({ params, signedIn }, { parts }) {
      const { ended, auditId } = await endSessions(signedIn, parts, params.id);
      if (ended === 0)
        throw new Problem("session_not_found", "You have no such session. GET /account/sessions lists them.");
      return params.id === signedIn.session.id ? { cookies: [clearSession()], auditId } : { auditId };
    },
  }),

  route({
    by: "session",
    name: "end_other_sessions",
    at: "DELETE /account/sessions",
    summary: "End all other sessions",
    description: "The current session stays.",
    recordedAs: ["account.end_sessions"],
    response: { description: "How many ended.", schema: object({ ended: Count }) },
    async run({ signedIn }, { parts }) {
      const { ended, auditId } = await endSessions(signedIn, parts, null);
      return { body: { ended }, auditId };
    },
  }),

  route({
    by: "session",
    name: "begin_totp",
    at: "POST /account/totp",
    body: object({ password: schema.Password }),
    summary: "Start a second factor",
    description: "Returns the secret for an authenticator. Signing in needs a code once the factor is confirmed.",
    recordedAs: ["account.begin_totp"],
    response: { description: "The secret.", schema: schema.TotpBegun },
    problems: ["password_wrong", "totp_on"],
    async run({ body, signedIn }, { parts }) {
      const account = await confirmPassword(parts, signedIn.session, body.password);
      const { auditId, ...begun } = await beginSecondFactor(parts, account);
      return { body: begun, auditId };
    },
  }),

  route({
    by: "session",
    name: "confirm_totp",
    at: "POST /account/totp/confirm",
    body: object({ code: schema.Code }),
    summary: "Confirm the second factor",
    description: "With its first code. Returns the recovery codes, which are shown only once.",
    recordedAs: ["account.confirm_totp"],
    response: { description: "The recovery codes.", schema: schema.RecoveryCodes },
    problems: ["second_factor_failed", "totp_off", "totp_on"],
    async run({ body, signedIn }, { parts }) {
      const account = await accountOf(parts, signedIn);
      const confirm = () => confirmSecondFactor(parts, account, body.code);
      const { codes, auditId } = await recordingFailures(parts, signedIn.session, confirm);
      return { body: { recovery_codes: codes }, auditId };
    },
  }),

  route({
    by: "session",
    name: "renew_recovery_codes",
    at: "POST /account/totp/recovery-codes",
    body: object({ password: schema.Password, code: schema.Code }),
    summary: "Make new recovery codes",
    description: "The old ones stop working.",
    recordedAs: ["account.renew_codes"],
    response: { description: "The recovery codes.", schema: schema.RecoveryCodes },
    problems: ["password_wrong", "second_factor_failed", "totp_off"],
    async run({ body, signedIn }, { parts }) {
      const account = await confirmPassword(parts, signedIn.session, body.password);
      const renew = () => renewRecoveryCodes(parts, account, body.code);
      const { codes, auditId } = await recordingFailures(parts, signedIn.session, renew);
      return { body: { recovery_codes: codes }, auditId };
    },
  }),

  route({
    by: "session",
    name: "disable_totp",
    at: "POST /account/totp/disable",
    body: object({ password: schema.Password, code: schema.Code }),
    summary: "End the second factor",
    description: "Needs the password and a code, which may be a recovery code.",
    recordedAs: ["account.disable_totp"],
    problems: ["password_wrong", "second_factor_failed", "totp_off"],
    async run({ body, signedIn }, { parts }) {
      const account = await confirmPassword(parts, signedIn.session, body.password);
      return recordingFailures(parts, signedIn.session, () => endSecondFactor(parts, account, body.code));
    },
  }),

  route({
    by: "session",
    name: "accept_invitation",
    at: "POST /account/invitations/accept",
    body: object({ token: schema.Token }),
    summary: "Accept an invitation",
    description: "The account that is signed in joins the workspace of the invitation.",
    recordedAs: ["member.join"],
    response: { description: "The workspace.", schema: schema.WorkspaceShape },
    problems: ["link_not_found", "already_member"],
    async run({ body, signedIn, origin }, { parts }) {
      const attempt = parts.attempts.link(origin.address);
      const { workspace, auditId } = await acceptInvitation(parts, signedIn.session, body.token);
      attempt.succeeded();
      return { body: showWorkspace(workspace), auditId };
    },
  }),
];

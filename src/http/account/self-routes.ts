/** The routes for the account that is signed in. */

import { type AccountRecord, findAccount, renameAccount } from "../../control/accounts/accounts.ts";
import { listMemberships } from "../../control/accounts/members.ts";
import { acceptInvitation } from "../../control/accounts/membership.ts";
import type { AccountParts } from "../../control/accounts/parts.ts";
import {
  beginSecondFactor,
  confirmSecondFactor,
  endSecondFactor,
  renewRecoveryCodes,
} from "../../control/accounts/second-factor.ts";
import type { SignedIn } from "../../control/accounts/session-keeper.ts";
import { deleteOtherSessions, deleteSession, listSessions } from "../../control/accounts/sessions.ts";
import { changePassword, confirmPassword } from "../../control/accounts/sign-in.ts";
import { Refused } from "../../control/refused.ts";
import { clearSession } from "../pipeline/session.ts";
import { listWithoutPages } from "../shapes.ts";
import { action } from "./action.ts";
import {
  AccountShape,
  CodeBody,
  Ended,
  NameBody,
  PasswordAgainBody,
  PasswordAndCodeBody,
  PasswordBody,
  RecoveryCodes,
  SessionShape,
  TokenBody,
  TotpBegun,
  WhoAmI,
  WorkspaceShape,
} from "./schema.ts";
import { showAccount, showSession, showWorkspace } from "./show.ts";

function accountOf({ control }: AccountParts, { accountId }: SignedIn): AccountRecord {
  const account = findAccount(control.connection, accountId);
  if (account === undefined) throw new Error("a session without an account");
  return account;
}

const whoAmI = action({
  name: "read",
  method: "GET",
  path: "/account",
  docs: {
    tag: "Account",
    summary: "Who is signed in",
    description: "The account, this session, and the account's workspaces.",
    response: { description: "Who is signed in.", schema: WhoAmI },
  },
  run: ({ signedIn }, { parts }) => ({
    body: {
      account: showAccount(parts, accountOf(parts, signedIn)),
      session: showSession(signedIn.session, signedIn.session.id),
      workspaces: listMemberships(parts.control.connection, signedIn.accountId).map(showWorkspace),
    },
  }),
});

const rename = action({
  name: "update",
  method: "PUT",
  path: "/account",
  body: NameBody,
  docs: {
    tag: "Account",
    summary: "Change the name",
    description: "The name that other members see.",
    response: { description: "The account.", schema: AccountShape },
    requestExample: { name: "Ada Lovelace" },
  },
  run({ body, signedIn }, { parts }) {
    parts.control.change((connection) => renameAccount(connection, signedIn.accountId, body.name));
    return { body: showAccount(parts, accountOf(parts, signedIn)) };
  },
});

const signOut = action({
  name: "sign_out",
  method: "POST",
  path: "/account/sign-out",
  docs: { tag: "Account", summary: "Sign out", description: "Ends this session." },
  run({ signedIn }, { parts }) {
    const { id, accountId } = signedIn.session;
    parts.control.change((connection) => deleteSession(connection, accountId, id));
    return { cookies: [clearSession()] };
  },
});

const password = action({
  name: "change_password",
  method: "PUT",
  path: "/account/password",
  body: PasswordBody,
  docs: {
    tag: "Account",
    summary: "Change the password",
    description: "Needs the current one. All other sessions end.",
    problems: ["password_wrong"],
    requestExample: { current_password: "a long enough password", new_password: "another long password" },
  },
  async run({ body, signedIn }, { parts }) {
    const wish = { current: body.current_password, next: body.new_password };
    await changePassword(parts, signedIn.session, wish);
    return {};
  },
});

const sessions = action({
  name: "list_sessions",
  method: "GET",
  path: "/account/sessions",
  docs: {
    tag: "Account",
    summary: "List sessions",
    description: "The active ones, most recently used first.",
    response: { description: "The sessions.", schema: listWithoutPages(SessionShape) },
  },
  run({ signedIn }, { parts }) {
    const { control, clock } = parts;
    const found = listSessions(control.connection, signedIn.accountId, clock());
    // The current session in memory is newer than the stored one.
    const { session: current } = signedIn;
    const newest = found.map((session) => (session.id === current.id ? current : session));
    return { body: { data: newest.map((session) => showSession(session, current.id)) } };
  },
});

const endSession = action({
  name: "end_session",
  method: "DELETE",
  path: "/account/sessions/:id",
  docs: {
    tag: "Account",
    summary: "End a session",
    description: "Takes effect at once. Ending the current one signs out.",
    problems: ["session_not_found"],
  },
  run({ params, signedIn }, { parts }) {
    const ended = parts.control.change((connection) => deleteSession(connection, signedIn.accountId, params.id));
    if (!ended) throw new Refused("session_not_found", "You have no such session. GET /account/sessions lists them.");
    return params.id === signedIn.session.id ? { cookies: [clearSession()] } : {};
  },
});

const endSessions = action({
  name: "end_other_sessions",
  method: "DELETE",
  path: "/account/sessions",
  docs: {
    tag: "Account",
    summary: "End all other sessions",
    description: "The current session stays.",
    response: { description: "How many ended.", schema: Ended },
  },
  run({ signedIn }, { parts }) {
    const { id, accountId } = signedIn.session;
    return { body: { ended: parts.control.change((c) => deleteOtherSessions(c, accountId, id)) } };
  },
});

const beginTotp = action({
  name: "begin_totp",
  method: "POST",
  path: "/account/totp",
  body: PasswordAgainBody,
  docs: {
    tag: "Account",
    summary: "Start a second factor",
    description: "Returns the secret for an authenticator. Signing in needs a code once the factor is confirmed.",
    response: { description: "The secret.", schema: TotpBegun },
    problems: ["password_wrong", "totp_on"],
    requestExample: { password: "a long enough password" },
  },
  async run({ body, signedIn }, { parts }) {
    const account = await confirmPassword(parts, signedIn.session, body.password);
    return { body: { ...beginSecondFactor(parts, account) } };
  },
});

const confirmTotp = action({
  name: "confirm_totp",
  method: "POST",
  path: "/account/totp/confirm",
  body: CodeBody,
  docs: {
    tag: "Account",
    summary: "Confirm the second factor",
    description: "With its first code. Returns the recovery codes, which are shown only once.",
    response: { description: "The recovery codes.", schema: RecoveryCodes },
    problems: ["second_factor_failed", "totp_off", "totp_on"],
    requestExample: { code: "123456" },
  },
  run: ({ body, signedIn }, { parts }) => ({
    body: { recovery_codes: confirmSecondFactor(parts, accountOf(parts, signedIn), body.code) },
  }),
});

const recoveryCodes = action({
  name: "renew_recovery_codes",
  method: "POST",
  path: "/account/totp/recovery-codes",
  body: PasswordAndCodeBody,
  docs: {
    tag: "Account",
    summary: "Make new recovery codes",
    description: "The old ones stop working.",
    response: { description: "The recovery codes.", schema: RecoveryCodes },
    problems: ["password_wrong", "second_factor_failed", "totp_off"],
    requestExample: { password: "a long enough password", code: "123456" },
  },
  async run({ body, signedIn }, { parts }) {
    const account = await confirmPassword(parts, signedIn.session, body.password);
    return { body: { recovery_codes: renewRecoveryCodes(parts, account, body.code) } };
  },
});

const disableTotp = action({
  name: "disable_totp",
  method: "POST",
  path: "/account/totp/disable",
  body: PasswordAndCodeBody,
  docs: {
    tag: "Account",
    summary: "End the second factor",
    description: "Needs the password and a code, which may be a recovery code.",
    problems: ["password_wrong", "second_factor_failed", "totp_off"],
    requestExample: { password: "a long enough password", code: "123456" },
  },
  async run({ body, signedIn }, { parts }) {
    const account = await confirmPassword(parts, signedIn.session, body.password);
    endSecondFactor(parts, account, body.code);
    return {};
  },
});

const accept = action({
  name: "accept_invitation",
  method: "POST",
  path: "/account/invitations/accept",
  body: TokenBody,
  docs: {
    tag: "Account",
    summary: "Accept an invitation",
    description: "The account that is signed in joins the workspace of the invitation.",
    recordedAs: ["member.join"],
    response: { description: "The workspace.", schema: WorkspaceShape },
    problems: ["link_not_found", "already_member"],
    requestExample: { token: "gvl_QZc0Jf2mSxJv4tE8Yw1nR6bKp3uD5gHaLi7oTqXeVyM" },
  },
  async run({ body, signedIn, origin }, { parts }) {
    const attempt = parts.attempts.link(origin.address);
    const { workspace, auditId } = await acceptInvitation(parts, signedIn.accountId, body.token);
    attempt.succeeded();
    return { body: showWorkspace(workspace), auditId };
  },
});

export const selfActions = [
  whoAmI,
  rename,
  signOut,
  password,
  sessions,
  endSession,
  endSessions,
  beginTotp,
  confirmTotp,
  recoveryCodes,
  disableTotp,
  accept,
];

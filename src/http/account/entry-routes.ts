/** The routes that need no session: signing up, signing in, and inspecting a link. */
import { hasAccounts } from "../../control/accounts/accounts.ts";
import { findUsableLink } from "../../control/accounts/links.ts";
import { listMemberships } from "../../control/accounts/members.ts";
import type { BegunSession } from "../../control/accounts/session-keeper.ts";
import { SESSION_LIFETIME_MS } from "../../control/accounts/sessions.ts";
import { resetPassword, signIn } from "../../control/accounts/sign-in.ts";
import { linkNotFound, signUp } from "../../control/accounts/sign-up.ts";
import { digestOf } from "../../control/secret.ts";
import { findWorkspace } from "../../control/workspaces.ts";
import { setDevice, setSession } from "../pipeline/session.ts";
import { publicAction } from "./action.ts";
import { LinkShape, ResetBody, SignedUpShape, SignInBody, SignUpBody, Status, TokenBody, WhoAmI } from "./schema.ts";
import { showAccount, showSession, showWorkspace } from "./show.ts";

function cookiesOf({ token, device }: BegunSession): string[] {
  return [setSession(token, SESSION_LIFETIME_MS / 1_000), setDevice(device)];
}

const status = publicAction({
  name: "status",
  method: "GET",
  path: "/account/status",
  docs: {
    tag: "Account",
    summary: "How accounts are made here",
    description: "Who may sign up, and whether there is no account yet.",
    response: { description: "The state.", schema: Status },
  },
  run: (_request, { parts }) => ({
    body: { signup: parts.signup, first_account: !hasAccounts(parts.control.connection) },
  }),
});

const inspectLink = publicAction({
  name: "inspect_link",
  method: "POST",
  path: "/account/links/inspect",
  body: TokenBody,
  docs: {
    tag: "Account",
    summary: "What a one-time link is for",
    description: "Reads a link without using it.",
    response: { description: "The link.", schema: LinkShape },
    problems: ["link_not_found"],
    requestExample: { token: "gvl_QZc0Jf2mSxJv4tE8Yw1nR6bKp3uD5gHaLi7oTqXeVyM" },
  },
  run({ body, origin }, { parts }) {
    const { control, clock, attempts } = parts;
    const attempt = attempts.link(origin.address);
    const link = findUsableLink(control.connection, digestOf(body.token), clock());
    if (link === undefined) throw linkNotFound();
    attempt.succeeded();
    const workspace = link.workspaceId === null ? undefined : findWorkspace(control.connection, link.workspaceId);
    return {
      body: {
        kind: link.kind,
        workspace: workspace === undefined ? null : { id: workspace.id, name: workspace.name },
        role: link.role,
        expires_at: new Date(link.expiresAt).toISOString(),
      },
    };
  },
});

const up = publicAction({
  name: "sign_up",
  method: "POST",
  path: "/account/sign-up",
  body: SignUpBody,
  docs: {
    tag: "Account",
    summary: "Make an account",
    description:
      "Makes an account and signs it in. It gets its own workspace with a first API key, which is shown only once; or, with an invitation, it joins that workspace.",
    recordedAs: ["key.create", "member.join"],
    response: { description: "The account, its workspace, and the key of a new one.", schema: SignedUpShape },
    status: 201,
    problems: ["sign_up_closed", "link_not_found", "email_taken"],
    requestExample: {
      email: "ada@example.com",
      password: "a long enough password",
      workspace_name: "Analytical engines",
      token: "gvl_QZc0Jf2mSxJv4tE8Yw1nR6bKp3uD5gHaLi7oTqXeVyM",
    },
  },
  async run({ body, origin }, { parts }) {
    const wish = {
      email: body.email,
      password: body.password,
      name: body.name ?? null,
      workspaceName: body.workspace_name ?? null,
      token: body.token ?? null,
    };
    const { account, workspace, key, begun, auditId } = await signUp(parts, wish, origin);
    return {
      status: 201,
      body: {
        account: showAccount(parts, account),
        workspace: showWorkspace(workspace),
        workspace_id: workspace.id,
        api_key: key?.apiKey ?? null,
        key_id: key?.id ?? null,
      },
      cookies: cookiesOf(begun),
      auditId,
    };
  },
});

const into = publicAction({
  name: "sign_in",
  method: "POST",
  path: "/account/sign-in",
  body: SignInBody,
  docs: {
    tag: "Account",
    summary: "Sign in",
    description:
      "Starts a session. A wrong email address and a wrong password give the same response. Failures are limited per account and address.",
    response: { description: "Who is signed in.", schema: WhoAmI },
    problems: ["sign_in_failed", "second_factor_required", "second_factor_failed"],
    requestExample: { email: "ada@example.com", password: "a long enough password" },
  },
  async run({ body, origin }, { parts }) {
    const credentials = { email: body.email, password: body.password, code: body.code ?? null };
    const { account, begun } = await signIn(parts, credentials, origin);
    return {
      body: {
        account: showAccount(parts, account),
        session: showSession(begun.session, begun.session.id),
        workspaces: listMemberships(parts.control.connection, account.id).map(showWorkspace),
      },
      cookies: cookiesOf(begun),
    };
  },
});

const reset = publicAction({
  name: "reset_password",
  method: "POST",
  path: "/account/password/reset",
  body: ResetBody,
  docs: {
    tag: "Account",
    summary: "Set a password with a link",
    description: "For a forgotten password, with a link of `governd account link --email`. All sessions end.",
    problems: ["link_not_found"],
    requestExample: { token: "gvl_QZc0Jf2mSxJv4tE8Yw1nR6bKp3uD5gHaLi7oTqXeVyM", new_password: "another long password" },
  },
  async run({ body, origin }, { parts }) {
    await resetPassword(parts, { token: body.token, next: body.new_password }, origin);
    return {};
  },
});

export const entryActions = [status, inspectLink, up, into, reset];

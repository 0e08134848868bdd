/** The routes that need no session: signing up, signing in, and inspecting a link. */
import { type Static, Type as t } from "@sinclair/typebox";
import { route } from "../../../api/route.ts";
import { setDevice, setSession } from "../../../api/session.ts";
import { object } from "../../../api/shapes.ts";
import { hasAccounts } from "../../../core/rows/access/accounts.ts";
import { findOpenLink } from "../../../core/rows/access/links.ts";
import { showTime } from "../../../ids.ts";
import { digestOf } from "../../directory/secret.ts";
import { findWorkspace } from "../../directory/workspaces.ts";
import { type BegunSession, SESSION_LIFETIME_MS } from "../begin-session.ts";
import { isIssuerOnly } from "../issuer-only.ts";
import { requireInvitation } from "../membership.ts";
import type { AccountParts } from "../parts.ts";
import { resetPassword, signIn } from "../sign-in.ts";
import { signUp } from "../sign-up.ts";
import * as schema from "./schema.ts";
import { showAccount, showSignedIn, showWorkspace } from "./show.ts";

export function cookiesOf({ token, device }: BegunSession): string[] {
  return [setSession(token, SESSION_LIFETIME_MS / 1_000), setDevice(device)];
}

/** Returns what a link or an invitation is for. @throws {Problem} `link_not_found` */
async function inspect(parts: AccountParts, token: string): Promise<Static<typeof schema.LinkShape>> {
  const { connection } = parts.installation;
  const link = await findOpenLink(parts.installation.connection, digestOf(token).toHex(), parts.clock());
  if (link !== undefined) {
    return { kind: link.kind, workspace: null, role: null, expires_at: showTime(link.expiresAt) };
  }
  const { workspaceId: id, role, expiresAt } = await requireInvitation(parts, token);
  const workspace = { id, name: findWorkspace(connection, id)?.name ?? "" };
  return { kind: "invitation", workspace, role, expires_at: showTime(expiresAt) };
}

export const entryRoutes = [
  route({
    by: "anyone",
    name: "status",
    at: "GET /account/status",
    summary: "How accounts are made here",
    description: "Who may sign up, and whether there is no account yet.",
    response: { description: "The state.", schema: schema.Status },
    run: async (_request, { parts, oidc }) => ({
      body: {
        signup: parts.signup,
        first_account: !(await hasAccounts(parts.installation.connection)),
        issuer: oidc?.issuer.name ?? null,
        issuer_only: oidc !== null && (await isIssuerOnly(parts)),
      },
    }),
  }),

  route({
    by: "anyone",
    name: "inspect_link",
    at: "POST /account/links/inspect",
    body: object({ token: schema.Token }),
    summary: "What a one-time link is for",
    description: "Reads a link without using it.",
    response: { description: "The link.", schema: schema.LinkShape },
    problems: ["link_not_found"],
    async run({ body, origin }, { parts }) {
      const attempt = parts.attempts.link(origin.address);
      const shown = await inspect(parts, body.token);
      attempt.succeeded();
      return { body: shown };
    },
  }),

  route({
    by: "anyone",
    name: "sign_up",
    at: "POST /account/sign-up",
    body: object({
      email: schema.Email,
      password: schema.NewPassword,
      name: t.Optional(schema.Name),
      workspace_name: t.Optional(schema.WorkspaceName),
      token: t.Optional(schema.Token),
    }),
    summary: "Make an account",
    description:
      "Makes an account and signs it in. It gets its own workspace with a first API key, which is shown only once; or, with an invitation, it joins that workspace.",
    recordedAs: ["key.create", "member.join", "account.create", "installation.add_workspace"],
    response: {
      description: "The account, its workspace, and the key of a new one.",
      schema: schema.SignedUpShape,
      sends: ["Set-Cookie"],
    },
    status: 201,
    problems: ["sign_up_closed", "link_not_found", "email_taken"],
    async run({ body, origin }, { parts }) {
      const request = {
        email: body.email,
        password: body.password,
        name: body.name ?? null,
        workspaceName: body.workspace_name ?? null,
        token: body.token ?? null,
      };
      const { account, workspace, key, begun, auditId } = await signUp(parts, request, origin);
      return {
        body: {
          account: await showAccount(parts, account),
          workspace: showWorkspace(workspace),
          workspace_id: workspace.id,
          api_key: key?.apiKey ?? null,
          key_id: key?.id ?? null,
        },
        cookies: cookiesOf(begun),
        auditId,
      };
    },
  }),

  route({
    by: "anyone",
    name: "sign_in",
    at: "POST /account/sign-in",
    body: object({
      email: t.String({
        maxLength: 1_024,
        description: "The email address of the account: a string.",
        examples: ["ada@example.com"],
      }),
      password: schema.Password,
      code: t.Optional(schema.Code),
    }),
    summary: "Sign in",
    description:
      "Starts a session. A wrong email address and a wrong password give the same response. Failures are limited per account and address.",
    recordedAs: ["account.sign_in"],
    response: { description: "Who is signed in.", schema: schema.WhoAmI, sends: ["Set-Cookie"] },
    problems: ["sign_in_failed", "second_factor_required", "second_factor_failed", "issuer_only"],
    async run({ body, origin }, { parts }) {
      const credentials = { email: body.email, password: body.password, code: body.code ?? null };
      const { account, begun, auditId } = await signIn(parts, credentials, origin);
      return { body: await showSignedIn(parts, account, begun.session), cookies: cookiesOf(begun), auditId };
    },
  }),

  route({
    by: "anyone",
    name: "reset_password",
    at: "POST /account/password/reset",
    body: object({ token: schema.Token, new_password: schema.NewPassword }),
    summary: "Set a password with a link",
    description: "For a forgotten password, with a link of `governd account link --email`. All sessions end.",
    recordedAs: ["account.reset_password"],
    problems: ["link_not_found"],
    run: ({ body, origin }, { parts }) => resetPassword(parts, { token: body.token, next: body.new_password }, origin),
  }),
];

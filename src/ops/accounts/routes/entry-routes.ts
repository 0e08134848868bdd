/** The routes that need no session: signing up, signing in, and inspecting a link. */
import { Type as t } from "@sinclair/typebox";
import { route } from "../../../api/route.ts";
import { setDevice, setSession } from "../../../api/session.ts";
import { object } from "../../../api/shapes.ts";
import { showTime } from "../../../ids.ts";
import { digestOf } from "../../directory/secret.ts";
import { findWorkspace } from "../../directory/workspaces.ts";
import { hasAccounts } from "../accounts.ts";
import { isIssuerOnly } from "../issuer-only.ts";
import { findUsableLink } from "../links.ts";
import type { BegunSession } from "../session-keeper.ts";
import { SESSION_LIFETIME_MS } from "../sessions.ts";
import { resetPassword, signIn } from "../sign-in.ts";
import { linkNotFound, signUp } from "../sign-up.ts";
import * as schema from "./schema.ts";
import { showAccount, showSignedIn, showWorkspace } from "./show.ts";

export function cookiesOf({ token, device }: BegunSession): string[] {
  return [setSession(token, SESSION_LIFETIME_MS / 1_000), setDevice(device)];
}

export const entryRoutes = [
  route({
    by: "anyone",
    name: "status",
    at: "GET /account/status",
    summary: "How accounts are made here",
    description: "Who may sign up, and whether there is no account yet.",
    response: { description: "The state.", schema: schema.Status },
    run: (_request, { parts, oidc }) => ({
      body: {
        signup: parts.signup,
        first_account: !hasAccounts(parts.control.connection),
        issuer: oidc?.issuer.name ?? null,
        issuer_only: oidc !== null && isIssuerOnly(parts.control.connection, parts.issuerOnly),
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
          expires_at: showTime(link.expiresAt),
        },
      };
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
    recordedAs: ["key.create", "member.join", "account.create"],
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
      return { body: showSignedIn(parts, account, begun.session), cookies: cookiesOf(begun), auditId };
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

/** The routes of signing in by an OpenID issuer, and of the link between an account and the issuer. */

import { route } from "../../../api/route.ts";
import { setDevice, setSession } from "../../../api/session.ts";
import { object } from "../../../api/shapes.ts";
import { findAccount, NO_PASSWORD } from "../../../core/rows/access/accounts.ts";
import { CAUSES } from "../../../oidc/causes.ts";
import type { Identity } from "../../../oidc/identity.ts";
import type { WaitingFlow } from "../../../oidc/issuer.ts";
import type { LoggedOut } from "../../../oidc/logout-token.ts";
import { IssuerRefused, type IssuerTrouble, isIssuerTrouble } from "../../../oidc/refused.ts";
import { invalid, Problem } from "../../../problem.ts";
import { ISSUER_SESSION_LIFETIME_MS } from "../begin-session.ts";
import { endIssuerSessions, linkIdentity, signInByIssuer, unlinkIdentity } from "../issuer-sign-in.ts";
import type { Origin } from "../parts.ts";
import { confirmPassword } from "../sign-in.ts";
import { WAITING_MS } from "../waiting.ts";
import type { BegunSignIns } from "./begun-sign-ins.ts";
import type { AccountDeps, AccountReply } from "./contract.ts";
import * as schema from "./schema.ts";

const CALLBACK = "/account/oidc/callback";

type SignInIssuer = NonNullable<AccountDeps["oidc"]>;

function issuerFrom({ oidc }: AccountDeps): SignInIssuer {
  if (oidc !== null) return oidc;
  throw new Problem("not_found", "No issuer is set up here. Sign in with a password: POST /account/sign-in.");
}

/** What is to happen after the sign-in. */
type Wanted = Pick<WaitingFlow, "next" | "linkTo">;

/** Redirects the browser to the issuer. @throws {IssuerRefused}, {IssuerUnavailable} */
async function sentToIssuer(
  { issuer, flows }: SignInIssuer,
  { base, signIns }: { base: string; signIns: BegunSignIns },
  to: Wanted,
) {
  const { url, flow } = await issuer.begin(base + CALLBACK);
  return { url, cookies: signIns.begun(flow.state, flows.keep({ ...flow, ...to }), WAITING_MS / 1_000) };
}

/** Returns the path of a page of the dashboard, and never another address. */
const ownPage = (wanted: string | null): string =>
  wanted !== null && /^\/(?![/\\])[^\\\p{Cc}]*$/u.test(wanted) ? wanted : "/";

/** Redirects the browser to a page of the dashboard. */
const opens = (page: string, cookies: readonly string[], auditId: string | null = null): AccountReply => ({
  location: page,
  cookies,
  auditId,
});

/**
 * Redirects to a page that says why the sign-in failed, since browsers do not show problem documents. Who begins again
 * there still gets to the page that they wanted.
 */
function explains({ why }: IssuerTrouble, flow: Wanted | null, cookies: readonly string[]): AccountReply {
  const isLinking = flow !== null && flow.linkTo !== null;
  const next = flow === null || isLinking || flow.next === "/" ? "" : `&next=${encodeURIComponent(flow.next)}`;
  return opens(`${isLinking ? "/settings" : "/sign-in"}?issuer_problem=${why}${next}`, cookies);
}

export const oidcRoutes = [
  route({
    by: "issuer",
    name: "issuer_start",
    at: "GET /account/oidc/start",
    summary: "Sign in by the issuer",
    description:
      "Sends the browser to the OpenID issuer of the settings. `next`: the page to open afterwards. The issuer sends the browser back to `/account/oidc/callback`, which is to be registered there.",
    status: 303,
    response: { description: "Where the browser goes.", sends: ["Location", "Set-Cookie"] },
    async run({ query, ...browser }, deps) {
      const oidc = issuerFrom(deps);
      const to = { next: ownPage(query.get("next")), linkTo: null };
      try {
        const { url, cookies } = await sentToIssuer(oidc, browser, to);
        return opens(url, cookies);
      } catch (error) {
        if (!isIssuerTrouble(error)) throw error;
        oidc.onTrouble("sign-in", error);
        return explains(error, to, []);
      }
    },
  }),

  route({
    by: "issuer",
    name: "issuer_callback",
    at: `GET ${CALLBACK}`,
    summary: "Come back from the issuer",
    description:
      "The issuer sends the browser here. It begins a session of at most 8 hours, with the roles that the person's groups give now, and opens a page of the dashboard. When it fails, the page for signing in opens with the cause as `issuer_problem`, a word of docs/sign-in.md.",
    recordedAs: [
      "account.sign_in",
      "account.create",
      "member.join",
      "member.change",
      "member.remove",
      "account.link_identity",
    ],
    status: 303,
    response: { description: "Where the browser goes.", sends: ["Location", "Set-Cookie"] },
    async run({ query, origin, signIns }, deps) {
      const oidc = issuerFrom(deps);
      const state = query.get("state") ?? "";
      const flow = oidc.flows.take(signIns.secretOf(state));
      const over = signIns.ended(state);
      try {
        if (flow === null) throw new IssuerRefused("this browser has not begun it, or it is over", "state_unknown");
        const identity = await oidc.issuer.finish(flow, query.toString());
        return await finished(deps, oidc, { flow, identity, origin, over });
      } catch (error) {
        if (!isIssuerTrouble(error)) throw error;
        oidc.onTrouble("sign-in", error);
        if (error instanceof IssuerRefused) await deps.parts.failures.failed(origin.address, null, "issuer");
        return explains(error, flow, over);
      }
    },
  }),

  route({
    by: "issuer",
    name: "issuer_logout",
    at: "POST /account/oidc/back-channel-logout",
    summary: "End sessions for the issuer",
    description:
      "The issuer posts a logout token (OpenID Connect Back-Channel Logout 1.0), as the form field `logout_token`. The sessions that it names end at once; those that began with a password stay.",
    recordedAs: ["account.end_sessions"],
    async run({ form }, deps) {
      const oidc = issuerFrom(deps);
      const token = form.get("logout_token");
      if (token === null) throw invalid("Send the token as the form field logout_token.", "logout_token");
      return endIssuerSessions(deps.parts, oidc.issuer.name, await loggedOut(oidc, token));
    },
  }),

  route({
    by: "session",
    name: "link_issuer",
    at: "POST /account/oidc/link",
    body: object({ password: schema.Password }),
    summary: "Link the account to the issuer",
    description:
      "Returns the address at the issuer to open in this browser. Whoever signs in there can then sign in to this account by the issuer. An account is never linked by its email address.",
    response: { description: "Where to go.", schema: schema.IssuerAddress, sends: ["Set-Cookie"] },
    problems: ["password_wrong", "not_found"],
    async run({ body, signedIn, ...browser }, deps) {
      const oidc = issuerFrom(deps);
      const account = await confirmPassword(deps.parts, signedIn.session, body.password);
      try {
        const { url, cookies } = await sentToIssuer(oidc, browser, { next: "/settings", linkTo: account.id });
        return { body: { url }, cookies };
      } catch (error) {
        if (!isIssuerTrouble(error)) throw error;
        oidc.onTrouble("sign-in", error);
        throw new Problem("unavailable", CAUSES[error.why]);
      }
    },
  }),

  route({
    by: "session",
    name: "unlink_issuer",
    at: "DELETE /account/oidc/link",
    summary: "End the link to the issuer",
    description: "Only an account with a password can do so. Sessions that began at the issuer end.",
    recordedAs: ["account.unlink_identity"],
    problems: ["forbidden", "not_found"],
    async run({ signedIn }, deps) {
      const oidc = issuerFrom(deps);
      const { accountId, session } = signedIn;
      if (session.issuerSession !== null || (await isWithoutPassword(deps, accountId))) {
        throw new Problem(
          "forbidden",
          "Sign in with the account's password first, so that you do not lose the account.",
        );
      }
      return unlinkIdentity(deps.parts, accountId, oidc.issuer.name);
    },
  }),
];

const isWithoutPassword = async ({ parts }: AccountDeps, accountId: string): Promise<boolean> =>
  (await findAccount(parts.installation.connection, accountId))?.password === NO_PASSWORD;

/** Returns the sessions that a logout token ends. @throws {Problem} */
async function loggedOut(oidc: SignInIssuer, token: string): Promise<LoggedOut> {
  try {
    return await oidc.issuer.loggedOut(token);
  } catch (error) {
    if (!isIssuerTrouble(error)) throw error;
    oidc.onTrouble("logout", error);
    if (error instanceof IssuerRefused) throw invalid("The logout token is not valid.", "logout_token");
    throw new Problem("unavailable", "The keys of the issuer cannot be fetched now. Send the token again.");
  }
}

interface Finished {
  flow: WaitingFlow;
  identity: Identity;
  origin: Origin;
  /** The cookies that end the sign-in. */
  over: readonly string[];
}

/** Links the identity to the account that requested it, or signs in. @throws {IssuerRefused}, {IssuerUnavailable} */
async function finished(
  deps: AccountDeps,
  { rules, onRolesLeft }: SignInIssuer,
  { flow, identity, origin, over }: Finished,
) {
  if (flow.linkTo !== null) {
    const { auditId } = await linkIdentity(deps.parts, flow.linkTo, identity);
    return opens(flow.next, over, auditId);
  }
  const { begun, later, auditId } = await signInByIssuer(deps.parts, rules, identity, origin);
  if (later !== null) void later().catch(onRolesLeft);
  const session = setSession(begun.token, ISSUER_SESSION_LIFETIME_MS / 1_000);
  return opens(flow.next, [session, setDevice(begun.device), ...over], auditId);
}

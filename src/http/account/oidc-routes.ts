/** The routes of signing in by an OpenID issuer, and of the link between an account and the issuer. */
import { findAccount, NO_PASSWORD } from "../../control/accounts/accounts.ts";
import {
  endIssuerSessions,
  linkIdentity,
  signInByIssuer,
  unlinkIdentity,
} from "../../control/accounts/issuer-sign-in.ts";
import type { Origin } from "../../control/accounts/parts.ts";
import { ISSUER_SESSION_LIFETIME_MS } from "../../control/accounts/sessions.ts";
import { confirmPassword } from "../../control/accounts/sign-in.ts";
import { WAITING_MS } from "../../control/accounts/waiting.ts";
import type { Identity, WaitingFlow } from "../../oidc/issuer.ts";
import { IssuerRefused, IssuerUnavailable } from "../../oidc/refused.ts";
import { invalid, Problem } from "../../problem.ts";
import { clearFlow, setDevice, setFlow, setSession } from "../pipeline/session.ts";
import { object } from "../shapes.ts";
import { type AccountDeps, type ActionReply, action, issuerAction } from "./action.ts";
import * as schema from "./schema.ts";

const CALLBACK = "/account/oidc/callback";

type SignInIssuer = NonNullable<AccountDeps["oidc"]>;

function issuerFrom({ oidc }: AccountDeps): SignInIssuer {
  if (oidc !== null) return oidc;
  throw new Problem("not_found", "No issuer is set up here. Sign in with a password: POST /account/sign-in.");
}

/** Redirects the browser to the issuer. @throws {Problem} `unavailable` */
async function sentToIssuer(oidc: SignInIssuer, base: string, to: Pick<WaitingFlow, "next" | "linkTo">) {
  const { url, flow } = await asked(oidc, () => oidc.issuer.begin(base + CALLBACK));
  return { url, cookie: setFlow(oidc.flows.keep({ ...flow, ...to }), WAITING_MS / 1_000) };
}

/** The answers when the issuer fails, and when its answer is refused. */
interface Answers {
  unavailable: Problem;
  refused: Problem;
}

const TO_BROWSER: Answers = {
  unavailable: new Problem("unavailable", "The issuer cannot be reached now. Try again, or sign in with a password."),
  refused: new Problem("sign_in_failed", "What came back from the issuer is not valid. Begin again."),
};

const TO_ISSUER: Answers = {
  unavailable: new Problem("unavailable", "The keys of the issuer cannot be fetched now. Send the token again."),
  refused: invalid("The logout token is not valid.", "logout_token"),
};

/** Returns the issuer's answer. @throws {Problem} one of `answers` */
async function asked<T>({ onTrouble }: SignInIssuer, ask: () => Promise<T>, answers = TO_BROWSER): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof IssuerRefused || error instanceof IssuerUnavailable)) throw error;
    onTrouble(error);
    throw error instanceof IssuerUnavailable ? answers.unavailable : answers.refused;
  }
}

/** Returns the path of a page of the dashboard, and never another address. */
const ownPage = (wanted: string | null): string =>
  wanted !== null && /^\/(?![/\\])[^\\\p{Cc}]*$/u.test(wanted) ? wanted : "/";

/** Redirects the browser to a page of the dashboard. */
const opens = (page: string, cookies: readonly string[], auditId: string | null = null): ActionReply => ({
  location: page,
  cookies,
  auditId,
});

/** Redirects to a page that says why the sign-in failed, since browsers do not show problem documents. */
const explains = ({ code }: Problem, flow: WaitingFlow | null): ActionReply => {
  const page = flow?.linkTo == null ? "/sign-in" : "/settings";
  return opens(`${page}?issuer_problem=${code}`, [clearFlow()]);
};

export const oidcActions = [
  issuerAction({
    name: "issuer_start",
    at: "GET /account/oidc/start",
    summary: "Sign in by the issuer",
    description:
      "Sends the browser to the OpenID issuer of the settings. `next`: the page to open afterwards. The issuer sends the browser back to `/account/oidc/callback`, which is to be registered there.",
    setsCookies: true,
    redirects: true,
    async run({ base, query }, deps) {
      const next = ownPage(query.get("next"));
      try {
        const { url, cookie } = await sentToIssuer(issuerFrom(deps), base, { next, linkTo: null });
        return opens(url, [cookie]);
      } catch (error) {
        if (error instanceof Problem && error.code === "unavailable") return explains(error, null);
        throw error;
      }
    },
  }),

  issuerAction({
    name: "issuer_callback",
    at: `GET ${CALLBACK}`,
    summary: "Come back from the issuer",
    description:
      "The issuer sends the browser here. It begins a session of at most 8 hours, with the roles that the person's groups give now, and opens a page of the dashboard. When it fails, the page for signing in opens with the code of the problem as `issuer_problem`.",
    recordedAs: [
      "account.sign_in",
      "account.create",
      "member.join",
      "member.change",
      "member.remove",
      "account.link_identity",
    ],
    setsCookies: true,
    redirects: true,
    async run({ query, origin, flow: secret }, deps) {
      const oidc = issuerFrom(deps);
      const { parts } = deps;
      const flow = oidc.flows.take(secret);
      try {
        if (flow === null) {
          throw new Problem("sign_in_failed", "This sign-in was not begun in this browser, took too long, or is over.");
        }
        const identity = await asked(oidc, () => oidc.issuer.finish(flow, query.toString()));
        return await finished(deps, oidc, { flow, identity, origin });
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        if (error.code === "sign_in_failed") await parts.failures.failed(origin.address, null, "issuer");
        return explains(error, flow);
      }
    },
  }),

  issuerAction({
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
      const ended = await asked(oidc, () => oidc.issuer.loggedOut(token), TO_ISSUER);
      return endIssuerSessions(deps.parts, oidc.issuer.name, ended);
    },
  }),

  action({
    name: "link_issuer",
    at: "POST /account/oidc/link",
    body: object({ password: schema.Password }),
    summary: "Link the account to the issuer",
    description:
      "Returns the address at the issuer to open in this browser. Whoever signs in there can then sign in to this account by the issuer. An account is never linked by its email address.",
    setsCookies: true,
    response: { description: "Where to go.", schema: schema.IssuerAddress },
    problems: ["password_wrong", "not_found"],
    async run({ body, signedIn, base }, deps) {
      const oidc = issuerFrom(deps);
      const account = await confirmPassword(deps.parts, signedIn.session, body.password);
      const { url, cookie } = await sentToIssuer(oidc, base, { next: "/settings", linkTo: account.id });
      return { body: { url }, cookies: [cookie] };
    },
  }),

  action({
    name: "unlink_issuer",
    at: "DELETE /account/oidc/link",
    summary: "End the link to the issuer",
    description: "Only an account with a password can do so. Sessions that began at the issuer end.",
    recordedAs: ["account.unlink_identity"],
    problems: ["forbidden", "not_found"],
    async run({ signedIn }, deps) {
      const oidc = issuerFrom(deps);
      const { accountId, session } = signedIn;
      if (session.issuerSession !== null || isWithoutPassword(deps, accountId)) {
        throw new Problem(
          "forbidden",
          "Sign in with the account's password first, so that you do not lose the account.",
        );
      }
      return unlinkIdentity(deps.parts, accountId, oidc.issuer.name);
    },
  }),
];

const isWithoutPassword = ({ parts }: AccountDeps, accountId: string): boolean =>
  findAccount(parts.control.connection, accountId)?.password === NO_PASSWORD;

interface Finished {
  flow: WaitingFlow;
  identity: Identity;
  origin: Origin;
}

/** Links the identity to the account that requested it, or signs in. */
async function finished(deps: AccountDeps, { rules, onRolesLeft }: SignInIssuer, { flow, identity, origin }: Finished) {
  if (flow.linkTo !== null) {
    const { auditId } = await linkIdentity(deps.parts, flow.linkTo, identity);
    return opens(flow.next, [clearFlow()], auditId);
  }
  const { begun, later, auditId } = await signInByIssuer(deps.parts, rules, identity, origin);
  if (later !== null) void later().catch(onRolesLeft);
  const session = setSession(begun.token, ISSUER_SESSION_LIFETIME_MS / 1_000);
  return opens(flow.next, [session, setDevice(begun.device), clearFlow()], auditId);
}

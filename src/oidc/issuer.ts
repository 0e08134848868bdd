/**
 * Signs people in with an issuer: OpenID Connect Core, the authorization code flow with PKCE (RFC 7636), `nonce` and
 * `iss` (RFC 9207). The library checks the issuer's answers, including the signature of the ID token, although it comes
 * from the issuer itself over TLS.
 */
import { createRemoteJWKSet, errors, customFetch as keyFetch } from "jose";
import * as openid from "openid-client";
import { type Clock, systemClock } from "../ids.ts";
import { type LoggedOut, readLogoutToken } from "./logout-token.ts";
import { IssuerRefused, IssuerUnavailable } from "./refused.ts";

/** How far the clocks of the issuer and of this machine may differ, seconds. */
const CLOCK_TOLERANCE_S = 90;
/** How long the issuer may take for one answer, seconds. */
const PATIENCE_S = 5;
/** How long the issuer's metadata is used before it is fetched again, ms. */
const DISCOVERY_MS = 3_600_000;

interface IssuerOptions {
  issuer: string;
  clientId: string;
  /** Null for a public client. */
  clientSecret: string | null;
  /** The certificate authorities of the issuer in PEM; null for the default ones. */
  ca: string | null;
  scopes: readonly string[];
  groupsClaim: string;
  clock: Clock;
}

/** The state of a sign-in until the browser returns. */
interface Flow {
  state: string;
  nonce: string;
  verifier: string;
  redirectUri: string;
}

/** A sign-in that waits for the browser to return. */
export interface WaitingFlow extends Flow {
  /** The page to open after the sign-in. */
  next: string;
  /** The account that the identity is linked to; null for signing in. */
  linkTo: string | null;
}

/** The claims of the issuer about a person who signed in. Only issuer and subject identify a person. */
export interface Identity {
  issuer: string;
  subject: string;
  /** The session at the issuer, by which the issuer can end it; null when the issuer names none. */
  session: string | null;
  email: string | null;
  name: string | null;
  groups: readonly string[];
  /** Whether the issuer states that it used more than one factor (RFC 8176). */
  isMultiFactor: boolean;
}

interface Discovered {
  config: openid.Configuration;
  keys: ReturnType<typeof createRemoteJWKSet>;
  untilMs: number;
}

export class Issuer {
  #discovered: Promise<Discovered> | null = null;

  constructor(private readonly options: IssuerOptions) {}

  /** The issuer's name in settings and events. */
  get name(): string {
    return this.options.issuer;
  }

  /**
   * Begins a sign-in. Returns the address for the browser, and the state to keep until it returns.
   * @throws {IssuerUnavailable}
   */
  async begin(redirectUri: string): Promise<{ url: string; flow: Flow }> {
    const { config } = await this.#discover();
    const flow = {
      state: openid.randomState(),
      nonce: openid.randomNonce(),
      verifier: openid.randomPKCECodeVerifier(),
      redirectUri,
    };
    const url = openid.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: this.options.scopes.join(" "),
      state: flow.state,
      nonce: flow.nonce,
      code_challenge: await openid.calculatePKCECodeChallenge(flow.verifier),
      code_challenge_method: "S256",
    });
    return { url: url.href, flow };
  }

  /**
   * Finishes a sign-in. Returns the person's identity.
   * @param query the query of the redirection
   * @throws {IssuerRefused} when the answer does not prove an identity, {IssuerUnavailable}
   */
  async finish({ state, nonce, verifier, redirectUri }: Flow, query: string): Promise<Identity> {
    const { config } = await this.#discover();
    try {
      const tokens = await openid.authorizationCodeGrant(config, new URL(`${redirectUri}?${query}`), {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
      });
      const claims = tokens.claims() as openid.IDToken;
      if (claims[this.options.groupsClaim] !== undefined && claims.email !== undefined) return this.#identity(claims);
      return this.#identity({ ...(await this.#userInfo(config, tokens.access_token, claims.sub)), ...claims });
    } catch (error) {
      throw classified(error);
    }
  }

  /** Returns whose sessions a logout token ends. @throws {IssuerRefused} when it is not valid, {IssuerUnavailable} */
  async loggedOut(token: string): Promise<LoggedOut> {
    const { keys } = await this.#discover();
    const { issuer, clientId: audience, clock } = this.options;
    try {
      return await readLogoutToken(token, keys, { issuer, audience, now: clock(), toleranceS: CLOCK_TOLERANCE_S });
    } catch (error) {
      throw classified(error);
    }
  }

  /** Returns the claims of the userinfo endpoint; none if the issuer does not have one. */
  async #userInfo(config: openid.Configuration, accessToken: string, subject: string) {
    if (config.serverMetadata().userinfo_endpoint === undefined) return {};
    return await openid.fetchUserInfo(config, accessToken, subject);
  }

  #identity(claims: Record<string, unknown> & { sub: string }): Identity {
    const text = (name: string) => (typeof claims[name] === "string" && claims[name] !== "" ? claims[name] : null);
    const texts = (name: string) => [claims[name] ?? []].flat().filter((one): one is string => typeof one === "string");
    return {
      issuer: this.options.issuer,
      subject: claims.sub,
      session: text("sid"),
      email: text("email"),
      name: text("name") ?? text("preferred_username"),
      groups: texts(this.options.groupsClaim),
      isMultiFactor: texts("amr").includes("mfa"),
    };
  }

  async #discover(): Promise<Discovered> {
    const known = await this.#discovered?.catch(() => null);
    if (known && performance.now() < known.untilMs) return known;
    this.#discovered = this.#ask();
    try {
      return await this.#discovered;
    } catch (error) {
      // The last metadata is used, since keys and addresses change rarely.
      if (known) return known;
      throw new IssuerUnavailable(reasonOf(error), { cause: error });
    }
  }

  async #ask(): Promise<Discovered> {
    const { issuer, clientId, clientSecret, ca, clock } = this.options;
    const metadata = {
      // The library reads the system's clock.
      [openid.clockSkew]: Math.round((clock() - systemClock()) / 1_000),
      [openid.clockTolerance]: CLOCK_TOLERANCE_S,
    };
    const reach = (url: string, options: object) => fetch(url, { ...options, ...(ca === null ? {} : { tls: { ca } }) });
    const authentication = clientSecret === null ? openid.None() : openid.ClientSecretBasic(clientSecret);
    const config = await openid.discovery(new URL(issuer), clientId, metadata, authentication, {
      execute: [openid.enableNonRepudiationChecks],
      timeout: PATIENCE_S,
      [openid.customFetch]: reach,
    });
    const { jwks_uri: address } = config.serverMetadata();
    if (address === undefined) throw new IssuerUnavailable("it publishes no keys");
    const keys = createRemoteJWKSet(new URL(address), { timeoutDuration: PATIENCE_S * 1_000, [keyFetch]: reach });
    return { config, keys, untilMs: performance.now() + DISCOVERY_MS };
  }
}

/** Network failures and answers that say that the issuer itself failed. */
const UNAVAILABLE = new Set(["OAUTH_TIMEOUT", "ERR_JWKS_TIMEOUT", "OAUTH_RESPONSE_IS_NOT_CONFORM"]);

function classified(error: unknown): Error {
  if (error instanceof IssuerRefused || error instanceof IssuerUnavailable) return error;
  const isProtocol = error instanceof Error && "code" in error && /^(OAUTH|ERR_J)/.test(String(error.code));
  const reason = reasonOf(error);
  if (!isProtocol && !(error instanceof errors.JOSEError)) return new IssuerUnavailable(reason, { cause: error });
  return new (UNAVAILABLE.has(reason) ? IssuerUnavailable : IssuerRefused)(reason, { cause: error });
}

/**
 * Returns a word for the log: a code of the library, of OAuth (RFC 6749 section 5.2) or of the system; no text of the
 * issuer.
 */
function reasonOf(error: unknown): string {
  if (error instanceof IssuerUnavailable || error instanceof IssuerRefused) return error.reason;
  if (error instanceof openid.AuthorizationResponseError || error instanceof openid.ResponseBodyError) {
    return /^[a-z_]{1,40}$/.test(error.error) ? error.error : error.code;
  }
  const { code, cause } = error instanceof Error ? (error as Error & { code?: unknown }) : { code: "", cause: null };
  if (typeof code === "string" && code !== "") return code;
  return cause instanceof Error ? reasonOf(cause) : error instanceof Error ? error.name : "unknown";
}

/**
 * Signs people in with an issuer: OpenID Connect Core, the authorization code flow with PKCE (RFC 7636), `nonce` and
 * `iss` (RFC 9207). The signature of the ID token is verified, although it comes from the issuer itself over TLS.
 */
import { createRemoteJWKSet, customFetch as keyFetch } from "jose";
import * as openid from "openid-client";
import type { Clock } from "../ids.ts";
import type { JsonObject } from "../json.ts";
import { sendRequest } from "../outbound.ts";
import { accepted, ID_TOKEN, metadataAddress, plainIssuer } from "./answers.ts";
import { clientAuthentication } from "./client-authentication.ts";
import { type Identity, identityOf } from "./identity.ts";
import { type LoggedOut, readLogoutToken } from "./logout-token.ts";
import { IssuerRefused, type IssuerTrouble, IssuerUnavailable } from "./refused.ts";
import { audiencesOf, type Claims, type Expected, verifiedClaims, wrongClaim } from "./signed-token.ts";
import { troubleOf } from "./trouble.ts";

/** How far the clocks of the issuer and of this machine may differ, seconds. */
const CLOCK_TOLERANCE_S = 90;
/** How long the issuer may take for one answer, seconds. */
const PATIENCE_S = 5;
/** How long the issuer's metadata is used before it is fetched again, ms. */
const DISCOVERY_MS = 3_600_000;

export interface IssuerOptions {
  issuer: string;
  clientId: string;
  /** Null for a public client. */
  clientSecret: string | null;
  /** The certificate authorities of the issuer in PEM; null for the default ones. */
  ca: string | null;
  scopes: readonly string[];
  groupsClaim: string;
  clock: Clock;
  /** Called when the userinfo endpoint failed. The sign-in continues with the claims of the ID token. */
  onUserInfoTrouble(error: IssuerTrouble): void;
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

interface Discovered {
  /** The issuer's name for itself. */
  name: string;
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
   * Asks the issuer for its metadata.
   * @throws {IssuerUnavailable}, {IssuerRefused} when they do not fit the settings
   */
  async check(): Promise<void> {
    await this.#discover();
  }

  /**
   * Begins a sign-in. Returns the address for the browser, and the state to keep until it returns.
   * @throws {IssuerUnavailable}, {IssuerRefused}
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
    const issuer = await this.#discover();
    try {
      const tokens = await openid.authorizationCodeGrant(issuer.config, new URL(`${redirectUri}?${query}`), {
        expectedState: state,
        pkceCodeVerifier: verifier,
      });
      const claims = await this.#idToken(issuer, tokens[ID_TOKEN] as string, nonce);
      return await this.#identity(issuer.config, claims, tokens.access_token);
    } catch (error) {
      throw troubleOf(error);
    }
  }

  /** Returns whose sessions a logout token ends. @throws {IssuerRefused} when it is not valid, {IssuerUnavailable} */
  async loggedOut(token: string): Promise<LoggedOut> {
    const issuer = await this.#discover();
    try {
      return await readLogoutToken(token, issuer.keys, this.#expected(issuer));
    } catch (error) {
      throw troubleOf(error);
    }
  }

  #expected({ name: issuer }: Discovered): Omit<Expected, "required"> {
    const { clientId: audience, clock } = this.options;
    return { issuer, audience, nowMs: clock(), toleranceS: CLOCK_TOLERANCE_S };
  }

  /** Returns the claims of an ID token (OpenID Connect Core section 3.1.3.7). @throws {IssuerRefused} */
  async #idToken(issuer: Discovered, token: string, nonce: string): Promise<Claims> {
    if (token === "") throw new IssuerRefused("it answers without an ID token", "client_settings");
    const required = ["sub", "aud", "exp", "iat"];
    const claims = await verifiedClaims(token, issuer.keys, { ...this.#expected(issuer), required });
    const { sub, azp } = claims;
    if (typeof sub !== "string" || sub === "") throw wrongClaim("sub");
    if (claims.nonce !== nonce) throw new IssuerRefused("it has another nonce", "nonce");
    if (audiencesOf(claims).length > 1 && azp !== this.options.clientId) throw wrongClaim("azp");
    return claims;
  }

  /** Returns the identity, with claims of the userinfo endpoint where the ID token lacks some that are used. */
  async #identity(config: openid.Configuration, claims: Claims, accessToken: string): Promise<Identity> {
    const { issuer, groupsClaim } = this.options;
    const source = { issuer, groupsClaim, userInfoTrouble: null };
    const said = Object.fromEntries(Object.entries(claims).filter(([, claim]) => claim !== ""));
    if (said[groupsClaim] !== undefined && said.email !== undefined) return identityOf(said, source);
    try {
      return identityOf({ ...(await this.#userInfo(config, accessToken, claims.sub as string)), ...said }, source);
    } catch (error) {
      const found = troubleOf(error);
      const userInfoTrouble = found.why === "unavailable" ? found : new IssuerRefused(found.reason, "no_groups");
      this.options.onUserInfoTrouble(userInfoTrouble);
      return identityOf(said, { ...source, userInfoTrouble });
    }
  }

  /** Returns the claims of the userinfo endpoint; none if the issuer does not have one. */
  async #userInfo(config: openid.Configuration, accessToken: string, subject: string): Promise<JsonObject> {
    if (config.serverMetadata().userinfo_endpoint === undefined) return {};
    return (await openid.fetchUserInfo(config, accessToken, subject)) as JsonObject;
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
      throw error instanceof IssuerRefused ? error : new IssuerUnavailable(troubleOf(error).reason, { cause: error });
    }
  }

  async #ask(): Promise<Discovered> {
    const { issuer, clientId, clientSecret, ca } = this.options;
    const reach = async (url: string, options: RequestInit) => {
      const response = await sendRequest(url, { ...options, ...(ca === null ? {} : { tls: { ca } }) });
      return accepted(response, { isTokenAnswer: options.method === "POST" });
    };
    const reaching = { timeout: PATIENCE_S, [openid.customFetch]: reach as openid.CustomFetch };
    const address = new URL(metadataAddress(issuer));
    const metadata = (await openid.discovery(address, clientId, undefined, openid.None(), reaching)).serverMetadata();
    if (plainIssuer(metadata.issuer) !== plainIssuer(issuer)) {
      throw new IssuerRefused("its metadata name another issuer", "client_settings");
    }
    const authentication = clientAuthentication(metadata, clientSecret);
    const config = Object.assign(new openid.Configuration(metadata, clientId, undefined, authentication), reaching);
    // Of a signed answer of the userinfo endpoint.
    openid.enableNonRepudiationChecks(config);
    const keyAddress = URL.parse(metadata.jwks_uri ?? "");
    if (keyAddress?.protocol !== "https:")
      throw new IssuerRefused("it publishes no keys over https", "client_settings");
    const options = { timeoutDuration: PATIENCE_S * 1_000, [keyFetch]: reach as typeof fetch };
    const keys = createRemoteJWKSet(keyAddress, options);
    return { name: metadata.issuer, config, keys, untilMs: performance.now() + DISCOVERY_MS };
  }
}

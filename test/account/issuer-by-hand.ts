/**
 * An OpenID issuer over TLS that signs everybody in at once, and that can be told to break any rule: what a client must
 * refuse, a well-behaved issuer does not send.
 */
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import { TestAuthority } from "../tls/authority.ts";

const CLIENT = "governd";
const SECRET = "a secret of the client";
const ALGORITHM = "ES256";

/** Somebody at the issuer. */
export interface Someone {
  sub: string;
  email?: string;
  name?: string;
  groups?: readonly string[];
  amr?: readonly string[];
  sid?: string;
}

/** What the issuer does wrong. */
export interface Wrong {
  /** Members of the ID token; one that is undefined is left out. */
  claims?: Record<string, unknown>;
  /** The ID token is signed with a key that is not published. */
  key?: true;
  /** The `iss` of the redirection. */
  iss?: string;
  state?: string;
  /** The error in the redirection, instead of a code. */
  error?: string;
  /** Members of the token answer; one that is undefined is left out. */
  answer?: Record<string, unknown>;
  /** The token endpoint answers this instead. */
  tokenEndpoint?: () => Response;
  /** Its clock, in seconds from the right time. */
  clockS?: number;
}

export class IssuerByHand implements AsyncDisposable {
  who: Someone = { sub: "nobody" };
  wrong: Wrong = {};
  /** It answers nothing but 503. */
  isDown = false;
  /** How often it was asked for its keys. */
  keysAsked = 0;
  /** What it says of itself beside what is right. */
  metadata: Record<string, unknown> = {};
  /** The answer of the userinfo endpoint. */
  userInfo: () => Response = () => new Response("not found", { status: 404 });
  /** Members of each key that it publishes, and keys beside them. */
  published: { members: Record<string, unknown>; beside: readonly unknown[] } = { members: {}, beside: [] };
  /** Where the client has to send its secret. */
  method: "client_secret_basic" | "client_secret_post" = "client_secret_basic";
  /** How the client proved itself, one item for each request for a token. */
  readonly proofs: string[] = [];
  #published: readonly { kid: string; keys: CryptoKeyPair }[];
  readonly #codes = new Map<string, { nonce: string; challenge: string; redirectUri: string }>();
  readonly #server: ReturnType<typeof Bun.serve>;

  private constructor(
    readonly authority: TestAuthority,
    pair: { cert: string; key: string },
    private readonly keys: CryptoKeyPair,
    private readonly otherKeys: CryptoKeyPair,
  ) {
    this.#published = [{ kid: "1", keys }];
    this.#server = Bun.serve({ hostname: "127.0.0.1", port: 0, tls: pair, fetch: (request) => this.#answer(request) });
  }

  static async start(): Promise<IssuerByHand> {
    const authority = await TestAuthority.make("issuers");
    const pair = await authority.issue("localhost", { usage: "server" });
    const keys = () => generateKeyPair(ALGORITHM, { extractable: true });
    return new IssuerByHand(authority, pair, await keys(), await keys());
  }

  get url(): string {
    return `https://localhost:${this.#server.port}`;
  }

  /** Returns the settings of a daemon that signs people in by this issuer. Files are written to the directory. */
  settings(directory: string) {
    const [secret, ca] = [join(directory, "client-secret"), join(directory, "issuer-ca.pem")];
    writeFileSync(secret, `${SECRET}\n`);
    writeFileSync(ca, this.authority.cert);
    return { oidc_issuer: this.url, oidc_client_id: CLIENT, oidc_client_secret_file: secret, oidc_ca_file: ca };
  }

  /** Returns where a browser is sent that comes to an address of the issuer. */
  async visited(address: string): Promise<string> {
    const response = await fetch(address, { redirect: "manual", tls: { ca: this.authority.cert } });
    return response.headers.get("location") as string;
  }

  /** Returns a logout token; `wrong` replaces its claims. */
  async logoutToken(claims: JWTPayload, keys = this.keys): Promise<string> {
    const events = { "http://schemas.openid.net/event/backchannel-logout": {} };
    return this.#sign({ aud: CLIENT, jti: randomUUID(), events, ...claims }, keys);
  }

  /** Publishes these keys only. Tokens are signed with one of them that names it. */
  publish(...published: readonly { kid: string; keys: CryptoKeyPair }[]): void {
    this.#published = published;
  }

  /** Its keys at the start. */
  get firstKeys() {
    return { kid: "1", keys: this.keys };
  }

  /** Returns a token of a workload; a claim that is undefined is left out. */
  token(claims: JWTPayload, { keys = this.keys, kid = "1", clockS = 0 } = {}): Promise<string> {
    return this.#sign(claims, keys, { kid, clockS });
  }

  /** The keys that it does not publish. */
  get strangeKeys(): CryptoKeyPair {
    return this.otherKeys;
  }

  async #sign(
    claims: JWTPayload,
    keys: CryptoKeyPair,
    { kid = "1", clockS = this.wrong.clockS ?? 0 } = {},
  ): Promise<string> {
    const now = Math.floor(Date.now() / 1_000) + clockS;
    const all = { iss: this.url, iat: now, exp: now + 300, ...claims };
    const present = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
    return new SignJWT(present).setProtectedHeader({ alg: ALGORITHM, kid }).sign(keys.privateKey);
  }

  async #answer(request: Request): Promise<Response> {
    if (this.isDown) return new Response("down", { status: 503 });
    const url = new URL(request.url);
    switch (url.pathname) {
      case "/.well-known/openid-configuration":
        return Response.json({
          issuer: this.url,
          authorization_endpoint: `${this.url}/authorize`,
          token_endpoint: `${this.url}/token`,
          jwks_uri: `${this.url}/keys`,
          response_types_supported: ["code"],
          subject_types_supported: ["public"],
          id_token_signing_alg_values_supported: [ALGORITHM],
          authorization_response_iss_parameter_supported: true,
          ...this.metadata,
        });
      case "/keys":
        this.keysAsked++;
        return Response.json({
          keys: await Promise.all(
            this.#published.map(async ({ kid, keys }) => ({
              ...(await exportJWK(keys.publicKey)),
              kid,
              alg: ALGORITHM,
              ...this.published.members,
            })),
          ).then((keys) => [...this.published.beside, ...keys]),
        });
      case "/userinfo":
        return this.userInfo();
      case "/authorize":
        return this.#authorize(url.searchParams);
      case "/token":
        return this.#token(request);
      default:
        return new Response("not found", { status: 404 });
    }
  }

  #authorize(asked: URLSearchParams): Response {
    const code = randomUUID();
    const redirectUri = asked.get("redirect_uri") as string;
    this.#codes.set(code, {
      nonce: asked.get("nonce") as string,
      challenge: asked.get("code_challenge") as string,
      redirectUri,
    });
    const back = new URL(redirectUri);
    if (this.wrong.error === undefined) back.searchParams.set("code", code);
    else back.searchParams.set("error", this.wrong.error);
    back.searchParams.set("state", this.wrong.state ?? (asked.get("state") as string));
    back.searchParams.set("iss", this.wrong.iss ?? this.url);
    return new Response(null, { status: 302, headers: { location: back.href } });
  }

  async #token(request: Request): Promise<Response> {
    const form = new URLSearchParams(await request.text());
    const code = form.get("code") ?? "";
    const known = this.#codes.get(code);
    this.#codes.delete(code);
    const right = `Basic ${btoa(`${encodeURIComponent(CLIENT)}:${encodeURIComponent(SECRET).replaceAll("%20", "+")}`)}`;
    const isPost = form.get("client_id") === CLIENT && form.get("client_secret") === SECRET;
    const isBasic = request.headers.get("authorization") === right;
    const proof = isBasic === isPost ? "none" : isBasic ? "client_secret_basic" : "client_secret_post";
    this.proofs.push(proof);
    if (this.wrong.tokenEndpoint !== undefined) return this.wrong.tokenEndpoint();
    if (proof !== this.method) return Response.json({ error: "invalid_client" }, { status: 401 });
    const digest = new Bun.CryptoHasher("sha256").update(form.get("code_verifier") ?? "").digest("base64url");
    if (known === undefined || known.challenge !== digest || known.redirectUri !== form.get("redirect_uri")) {
      return Response.json({ error: "invalid_grant" }, { status: 400 });
    }
    const claims = { aud: CLIENT, nonce: known.nonce, ...this.who, ...this.wrong.claims } as JWTPayload;
    const idToken = await this.#sign(claims, this.wrong.key ? this.otherKeys : this.keys);
    const answer = { access_token: randomUUID(), token_type: "Bearer", expires_in: 60, id_token: idToken };
    return Response.json({ ...answer, ...this.wrong.answer });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(true);
  }
}

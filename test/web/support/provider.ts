/** A real OpenID issuer (the package `oidc-provider`), over TLS, with people whose groups a test changes. */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import OpenIdProvider from "oidc-provider";
import { TestAuthority } from "../../tls/authority.ts";

/** With characters that a form and an `Authorization` header each encode in their own way. */
const CLIENT = { id: "governd: 1", secret: 'the client\'s own +%20/=&?~(long) "secret"' };

type Method = "client_secret_basic" | "client_secret_post";

export class Provider implements AsyncDisposable {
  /** The groups of each person, by the name that they type. */
  readonly groups = new Map<string, readonly string[]>();

  private constructor(
    private readonly server: Server,
    private readonly authority: TestAuthority,
    private readonly method: Method,
  ) {}

  /** `method`: the only one by which its clients can send their secret. */
  static async start(method: Method): Promise<Provider> {
    const authority = await TestAuthority.make("issuers");
    const server = createServer(await authority.issue("localhost", { usage: "server" }));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new Provider(server, authority, method);
  }

  get url(): string {
    return `https://localhost:${(this.server.address() as AddressInfo).port}`;
  }

  /** Returns the settings of a daemon that signs people in here. Files are written to the directory. */
  settings(directory: string): Record<string, string> {
    const [secret, ca] = [join(directory, "client-secret"), join(directory, "issuer-ca.pem")];
    writeFileSync(secret, CLIENT.secret);
    writeFileSync(ca, this.authority.cert);
    return {
      GOVERND_OIDC_ISSUER: this.url,
      GOVERND_OIDC_CLIENT_ID: CLIENT.id,
      GOVERND_OIDC_CLIENT_SECRET_FILE: secret,
      GOVERND_OIDC_CA_FILE: ca,
      GOVERND_OIDC_SCOPES: "openid,profile,email,groups",
    };
  }

  /** Accepts a daemon as its client. */
  accept(daemon: { url: string; ca: string }): void {
    const provider = new OpenIdProvider(this.url, {
      clients: [
        {
          client_id: CLIENT.id,
          client_secret: CLIENT.secret,
          token_endpoint_auth_method: this.method,
          redirect_uris: [`${daemon.url}/account/oidc/callback`],
          backchannel_logout_uri: `${daemon.url}/account/oidc/back-channel-logout`,
          backchannel_logout_session_required: true,
        },
      ],
      clientAuthMethods: [this.method],
      claims: { openid: ["sub"], email: ["email"], profile: ["name"], groups: ["groups"] },
      scopes: ["openid", "email", "profile", "groups"],
      features: { backchannelLogout: { enabled: true }, devInteractions: { enabled: true } },
      cookies: { keys: ["the key of its cookies"] },
      fetch: (url: string, options: object) => fetch(url, { ...options, tls: { ca: daemon.ca } }),
      findAccount: (_: unknown, name: string) => ({
        accountId: name,
        claims: () => ({ sub: name, name, email: `${name}@example.org`, groups: this.groups.get(name) ?? [] }),
      }),
    });
    this.server.on("request", provider.callback());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
  }
}

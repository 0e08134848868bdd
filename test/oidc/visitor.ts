/** Somebody who signs in by an issuer: a browser as far as the issuer cares, with redirections and the daemon's cookies. */
import { expect } from "bun:test";
import type { Cause } from "../../src/oidc/causes.ts";
import { Browser } from "../account/browser.ts";
import type { IssuerByHand } from "../account/issuer-by-hand.ts";
import type { TestDaemon } from "../support/daemon.ts";

/** The page that says why a sign-in did not succeed. */
export const problemPage = (cause: Cause): string => `/sign-in?issuer_problem=${cause}`;

export class Visitor {
  readonly browser: Browser;

  constructor(
    private readonly daemon: TestDaemon,
    private readonly issuer: IssuerByHand,
  ) {
    this.browser = new Browser(daemon);
  }

  /** Begins to sign in, as in a tab. Returns the address to which the issuer sends the browser back. */
  async begin(next = "/"): Promise<string> {
    return this.issuer.visited(await this.redirected(`/account/oidc/start?next=${encodeURIComponent(next)}`));
  }

  /** Follows the redirections from an address of the daemon. Returns the page at the end. */
  async follow(path: string): Promise<string> {
    const to = await this.redirected(path);
    return to.startsWith("/") ? to : this.back(await this.issuer.visited(to));
  }

  /** Comes back from the issuer. Returns the page that opens. */
  back(address: string): Promise<string> {
    return this.redirected(address.slice(this.daemon.url.length));
  }

  async redirected(path: string): Promise<string> {
    const { status, headers } = await this.browser.get(path);
    expect(status).toBe(303);
    return headers.get("location") as string;
  }

  signIn = (next = "/"): Promise<string> => this.follow(`/account/oidc/start?next=${encodeURIComponent(next)}`);

  async isSignedIn(): Promise<boolean> {
    return (await this.browser.get("/account")).status === 200;
  }

  async roles(): Promise<Record<string, string>> {
    const { json } = await this.browser.get("/account");
    return Object.fromEntries(json.workspaces.map(({ id, role }: { id: string; role: string }) => [id, role]));
  }
}

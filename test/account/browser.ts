/** A browser as far as accounts care: cookies, and an Origin with every request but GET. */
import type { Answered } from "../support/client.ts";
import type { TestDaemon } from "../support/daemon.ts";

export const PASSWORD = "correct horse battery staple";

export interface Visit {
  method?: string;
  path: string;
  /** Sent as JSON; a string as it is. */
  body?: unknown;
  headers?: Record<string, string>;
  /** Another Origin; null sends none. */
  origin?: string | null;
}

/** The token of a link's address. */
export function tokenOf(url: string | null): string {
  const token = url?.split("#token=")[1];
  if (token === undefined) throw new Error("no link with a token");
  return token;
}

const textOf = (body: unknown): string => (typeof body === "string" ? body : JSON.stringify(body));

let people = 0;

/** A mail address that no other test uses. */
export const freshEmail = (): string => `person-${++people}@example.com`;

export class Browser {
  readonly cookies = new Map<string, string>();

  constructor(readonly daemon: TestDaemon) {}

  /** Returns this browser as it comes through another node: with copies of its cookies. */
  at(daemon: TestDaemon): Browser {
    const there = new Browser(daemon);
    for (const [name, value] of this.cookies) there.cookies.set(name, value);
    return there;
  }

  async visit(visit: Visit): Promise<Answered> {
    const method = visit.method ?? (visit.body === undefined ? "GET" : "POST");
    const headers: Record<string, string> = { ...visit.headers };
    const origin = visit.origin === undefined ? this.daemon.url : visit.origin;
    if (method !== "GET" && origin !== null) headers.origin = origin;
    if (this.cookies.size > 0) headers.cookie = [...this.cookies].map(([k, v]) => `${k}=${v}`).join("; ");
    if (visit.body !== undefined) headers["content-type"] ??= "application/json";
    const response = await fetch(this.daemon.url + visit.path, {
      method,
      headers,
      ...(visit.body === undefined ? {} : { body: textOf(visit.body) }),
      redirect: "manual",
      tls: { ca: this.daemon.ca },
    });
    for (const line of response.headers.getSetCookie()) this.#keep(line);
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: text === "" ? null : JSON.parse(text) };
  }

  get(path: string, headers: Record<string, string> = {}): Promise<Answered> {
    return this.visit({ path, headers });
  }

  post(path: string, body: unknown = undefined, headers: Record<string, string> = {}): Promise<Answered> {
    return this.visit({ method: "POST", path, headers, ...(body === undefined ? {} : { body }) });
  }

  put(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answered> {
    return this.visit({ method: "PUT", path, body, headers });
  }

  delete(path: string): Promise<Answered> {
    return this.visit({ method: "DELETE", path });
  }

  get session(): string | undefined {
    return this.cookies.get("__Host-governd_session");
  }

  #keep(line: string): void {
    const [pair = ""] = line.split(";");
    const equals = pair.indexOf("=");
    const value = pair.slice(equals + 1);
    if (value === "" || /max-age=0\b/i.test(line)) this.cookies.delete(pair.slice(0, equals));
    else this.cookies.set(pair.slice(0, equals), value);
  }
}

/** Somebody signed in, and the workspace that they signed up with. */
export interface Person {
  browser: Browser;
  email: string;
  accountId: string;
  workspaceId: string;
  apiKey: string | null;
}

/** Signs up by a link's token. */
export async function signUp(daemon: TestDaemon, token: string, rest: object = {}): Promise<Person> {
  const browser = new Browser(daemon);
  const email = freshEmail();
  const { status, json, text } = await browser.post("/account/sign-up", { email, password: PASSWORD, token, ...rest });
  if (status !== 201) throw new Error(`signing up answered ${status}: ${text}`);
  return { browser, email, accountId: json.account.id, workspaceId: json.workspace_id, apiKey: json.api_key };
}

/** Invites a new person to a workspace, who then signs up. */
export async function invited(owner: Person, role: string): Promise<Person> {
  const path = `/account/workspaces/${owner.workspaceId}/invitations`;
  const { json } = await owner.browser.post(path, { role });
  return signUp(owner.browser.daemon, json.token);
}

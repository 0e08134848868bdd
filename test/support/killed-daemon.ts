/** A daemon that is killed while clients use it, and people whose sessions survive that. */
import { expect } from "bun:test";
import type { RunningDaemon } from "../cli/governd-process.ts";

/** Somebody with a session. */
export class Session {
  #cookie = "";
  accountId = "";
  workspaceId = "";

  /** Signs up with the token of a link or an invitation. */
  static async signUp(daemon: RunningDaemon, email: string, token: string | undefined): Promise<Session> {
    const session = new Session();
    const wish = { email, password: "correct horse battery staple", token };
    const response = await session.send(daemon, "POST", "/account/sign-up", wish);
    expect(response.status).toBe(201);
    session.#cookie = response.headers
      .getSetCookie()
      .map((line) => line.split(";", 1)[0])
      .join("; ");
    const made = (await response.json()) as { account: { id: string }; workspace_id: string };
    session.accountId = made.account.id;
    session.workspaceId = made.workspace_id;
    return session;
  }

  /** Signs up the first person, with the link that the daemon printed at its start. */
  static first(daemon: RunningDaemon): Promise<Session> {
    return Session.signUp(daemon, "ada@example.com", daemon.ready.sign_up_url?.split("#token=")[1]);
  }

  send(daemon: RunningDaemon, method: string, path: string, body?: object): Promise<Response> {
    const headers = { origin: new URL(daemon.url).origin, ...(this.#cookie !== "" && { cookie: this.#cookie }) };
    return daemon.ask(path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  }

  /** As {@link send}, about the workspace with which the person signed up. */
  ask(daemon: RunningDaemon, method: string, rest: string, body?: object): Promise<Response> {
    return this.send(daemon, method, `/account/workspaces/${this.workspaceId}${rest}`, body);
  }
}

/** What was answered to a client before the daemon was killed. */
export interface BeforeKill {
  isDone: boolean;
  /** The event that recorded it; null when nothing was recorded. */
  auditId: string | null;
  json: Record<string, unknown> | null;
}

const CLIENTS = 4;

/**
 * Lets clients send requests, and kills the daemon after so many answers.
 * @param request sends one request after another, each for itself, until one fails
 * @param beside what else is done meanwhile, which must not need the daemon
 */
export async function killedAfter(
  daemon: RunningDaemon,
  answers: number,
  request: (answered: (response: Response) => Promise<BeforeKill>) => Promise<unknown>,
  beside: Promise<unknown>,
): Promise<void> {
  const end = Promise.withResolvers<void>();
  let count = 0;
  const answered = async (response: Response): Promise<BeforeKill> => {
    const json = (await response.json().catch(() => null)) as BeforeKill["json"];
    if (response.status >= 500) {
      const error = new Error(`answered ${response.status}`);
      end.reject(error);
      throw error;
    }
    if (++count === answers) end.resolve();
    return { isDone: response.status < 300, auditId: response.headers.get("x-audit-id"), json };
  };
  const client = async () => {
    for (;;) await request(answered);
  };
  const clients = Array.from({ length: CLIENTS }, () => client().catch(() => {}));
  await end.promise;
  await daemon.stop("SIGKILL");
  await Promise.all([...clients, beside]);
}

/** What every request passes, whatever its route: identification, admission, answer, log entry. */

import type { AccountDeps } from "../account/action.ts";
import type { Principal, WorkspaceClient } from "../workspace/contract.ts";
import { type Authenticate, authenticateRequest, type Sessions } from "./authenticate.ts";
import { Exchange, type RequestLogEntry } from "./exchange.ts";
import { handle } from "./handle.ts";
import { Problem, problemResponse } from "./problem.ts";
import { RateLimit } from "./rate-limit.ts";
import { RequestIds } from "./request-id.ts";
import type { Route } from "./route.ts";
import { requireHttps, type TrustedProxies } from "./trusted-proxy.ts";

/** What the HTTP side needs of the rest of the program. */
export interface AppDeps {
  workspaces: WorkspaceClient;
  authenticate: Authenticate;
  /** Accounts and their sessions; absent where there are none, and no routes for them. */
  accounts?: AccountDeps;
  /** Whether the storage can be written and is migrated. */
  isReady(): boolean | Promise<boolean>;
  /** Told of every request once its answer is known, or of those whose status `logs` says yes to. */
  log(entry: RequestLogEntry): void;
  logs?(status: number): boolean;
  /** Told what went wrong inside; the client sees only `internal`. */
  onInternalError(error: unknown, requestId: string): void;
  /** A monotonic clock in milliseconds. */
  monotonicMs(): number;
  randomBytes(length: number): Uint8Array;
  maxBodyBytes: number;
  /** Requests per second that each key may send; absent or 0 for no limit. */
  requestsPerSecond?: number;
  /** Present when TLS is off: the proxies that may speak to the daemon. */
  trustedProxies?: TrustedProxies;
  /** The address of a request's peer; needed with `trustedProxies`. */
  peerOf?(request: Request): string | null;
}

/** What the router found out about a request. */
export interface Routed {
  request: Request;
  url: string;
  /** Index of the `?` in `url`, or -1. */
  qi: number;
  /** Decoded by the router, null where the percent-encoding is broken; absent for a path without any. */
  params?: Record<string, string | null> | undefined;
  exchange: Exchange;
}

const NO_PARAMS: Record<string, string | null> = {};

const API_ROOT = "/v1";

export class Pipeline {
  readonly #deps: AppDeps;
  readonly #requestIds: RequestIds;
  readonly #publicPaths: ReadonlySet<string>;
  readonly #rateLimit: RateLimit | null;

  /** `publicPaths` are answered without a key; everything else under /v1 is not. */
  constructor(deps: AppDeps, publicPaths: ReadonlySet<string>) {
    this.#deps = deps;
    this.#requestIds = new RequestIds(deps.randomBytes);
    this.#publicPaths = publicPaths;
    this.#rateLimit = deps.requestsPerSecond ? new RateLimit(deps.requestsPerSecond) : null;
  }

  /** Begins the record of a request, and gives it its id. */
  open(request: Request): Exchange {
    const requestId = this.#requestIds.of(request.headers.get("x-request-id"));
    return new Exchange(requestId, request.method, this.#deps.monotonicMs());
  }

  /** Before routing: authenticates, or answers at once if the request may not go on. */
  admit(exchange: Exchange, request: Request, path: string): Response | undefined {
    const { headers } = request;
    try {
      this.#checkHttps(request, headers);
      if (isUnderApi(path) && !this.#publicPaths.has(path)) {
        exchange.principal = authenticateRequest(
          request,
          this.#deps.authenticate,
          this.#deps.accounts?.sessions,
        );
        this.#rateLimit?.check(exchange.principal.actor, exchange.startedMs);
      }
      return undefined;
    } catch (error) {
      return this.fail(exchange, error);
    }
  }

  #isStillAllowed({ method, headers }: Request, principal: Principal): boolean {
    const { authenticate, accounts } = this.#deps;
    try {
      const now = authenticateRequest(
        { method, headers },
        authenticate,
        accounts && passive(accounts.sessions),
      );
      return now.scope === principal.scope && now.actor === principal.actor;
    } catch (error) {
      if (error instanceof Problem) return false;
      throw error;
    }
  }

  #checkHttps(request: Request, headers: Headers): void {
    const { trustedProxies, peerOf } = this.#deps;
    if (trustedProxies !== undefined) requireHttps(trustedProxies, peerOf?.(request) ?? null, headers);
  }

  /** Answers a request for an operation. */
  async operate(route: Route, routed: Routed): Promise<Response> {
    const { exchange, qi } = routed;
    exchange.route = route.path;
    try {
      const response = await handle(
        route,
        {
          request: routed.request,
          params: routed.params ?? NO_PARAMS,
          queryText: qi === -1 ? "" : routed.url.slice(qi + 1),
          exchange,
          principal: exchange.principal as Principal,
          isStillAllowed: () => this.#isStillAllowed(routed.request, exchange.principal as Principal),
        },
        this.#deps,
      );
      return this.#done(exchange, response);
    } catch (error) {
      return this.fail(exchange, error);
    }
  }

  /** Answers a request for something that is no operation: a page, a probe, a method not allowed. */
  async serve(
    path: string,
    exchange: Exchange,
    answer: () => Response | Promise<Response>,
  ): Promise<Response> {
    exchange.route = path;
    try {
      return this.#done(exchange, await answer());
    } catch (error) {
      return this.fail(exchange, error);
    }
  }

  /** Answers a request that came to nothing. Whatever is no {@link Problem} is `internal`, and nothing more. */
  fail(exchange: Exchange | null, error: unknown): Response {
    const failed = exchange ?? new Exchange(this.#requestIds.of(null), "", this.#deps.monotonicMs());
    const problem = error instanceof Problem ? error : this.#internal(error, failed.requestId);
    failed.problem = problem.code;
    return this.#done(failed, problemResponse(problem, failed.requestId, failed.headers("")));
  }

  #internal(error: unknown, requestId: string): Problem {
    this.#deps.onInternalError(error, requestId);
    return new Problem(
      "internal",
      "Something went wrong inside. Tell the operator the request_id; the daemon's log says more.",
    );
  }

  #done(exchange: Exchange, response: Response): Response {
    const { logs, log, monotonicMs } = this.#deps;
    if (logs === undefined || logs(response.status)) log(exchange.logEntry(response.status, monotonicMs()));
    return response;
  }
}

/** Looking whether a session goes on is no use of it, which would keep it from ending. */
function passive(sessions: AccountDeps["sessions"]): Sessions {
  return { find: (token) => sessions.find(token, { use: false }) };
}

function isUnderApi(path: string): boolean {
  return path.startsWith(API_ROOT) && (path.length === API_ROOT.length || path[API_ROOT.length] === "/");
}

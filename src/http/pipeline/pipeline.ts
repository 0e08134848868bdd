/** What every request passes, whatever its route: identification, admission, answer, log entry. */

import type { Principal, WorkspaceClient } from "../../workspace/contract.ts";
import { isStorageFailure } from "../../workspace/storage-failure.ts";
import type { AccountDeps } from "../account/action.ts";
import type { ReadinessAnswer } from "../documents/pages.ts";
import { Problem, problemResponse } from "../problem.ts";
import type { Route } from "../route.ts";
import { type Authenticate, authenticateRequest, type Sessions } from "./authenticate.ts";
import { authenticateDownload, DOWNLOAD_PATH, downloadHeaders, requestOfForm } from "./download.ts";
import { Exchange, RequestIds, type RequestLogEntry } from "./exchange.ts";
import { handle } from "./handle.ts";
import { RateLimit, WrongKeys } from "./rate-limits.ts";
import type { RequestMeter } from "./request-meter.ts";
import { clientAddress, requireHttps, type TrustedProxies } from "./trusted-proxy.ts";

/** What a client is told when the control database cannot be written or read just now. */
const STORAGE_FAILED = "The disk takes no writes just now; nothing was changed. Try again shortly.";
const RETRY_AFTER_SECONDS = 1;

/** What the HTTP side needs of the rest of the program. */
export interface AppDeps {
  workspaces: WorkspaceClient;
  authenticate: Authenticate;
  /** Accounts and their sessions; absent where there are none, and no routes for them. */
  accounts?: AccountDeps;
  /** Whether the storage can be written and is migrated, and how many workspaces are down. */
  isReady(): ReadinessAnswer | Promise<ReadinessAnswer>;
  /** Told of every request once its answer is known, or of those whose status `logs` says yes to. */
  log(entry: RequestLogEntry): void;
  logs?(status: number): boolean;
  /** Counts every request; absent where nobody asks for the count. */
  meter?: RequestMeter;
  /** Told what went wrong inside; the client sees only `internal`. */
  onInternalError(error: unknown, requestId: string): void;
  /** A monotonic clock in milliseconds. */
  monotonicMs(): number;
  randomBytes(length: number): Uint8Array;
  maxBodyBytes: number;
  /** Time that a large body may take to come, ms. */
  bodyTimeoutMs?: number;
  /** Requests per second that each key may send; absent or 0 for no limit. */
  requestsPerSecond?: number;
  /** Requests per minute with wrong keys that may come from one address; absent or 0 for no limit. */
  wrongKeysPerMinute?: number;
  /** Present when TLS is off: the proxies that may speak to the daemon. */
  trustedProxies?: TrustedProxies;
  /** The address of a request's peer; needed with `trustedProxies`. */
  peerOf?(request: Request): string | null;
  /** Whether a connection may stay without a byte for as long as the answer takes. */
  setPatience?(request: Request, patient: boolean): void;
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
  readonly #wrongKeys: WrongKeys | null;

  /** `publicPaths` are answered without a key; everything else under /v1 is not. */
  constructor(deps: AppDeps, publicPaths: ReadonlySet<string>) {
    this.#deps = deps;
    this.#requestIds = new RequestIds(deps.randomBytes);
    this.#publicPaths = publicPaths;
    this.#rateLimit = deps.requestsPerSecond ? new RateLimit(deps.requestsPerSecond) : null;
    this.#wrongKeys = deps.wrongKeysPerMinute ? new WrongKeys(deps.wrongKeysPerMinute) : null;
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
        const { authenticate, accounts } = this.#deps;
        this.#enter(exchange, authenticateRequest(request, authenticate, accounts?.sessions));
      }
      return undefined;
    } catch (error) {
      return this.fail(exchange, this.#countWrongKey(request, error, exchange.startedMs));
    }
  }

  /** Whose request it is, and whether that one may ask just now. @throws {Problem} past the limit */
  #enter(exchange: Exchange, principal: Principal): void {
    exchange.principal = principal;
    if (this.#rateLimit !== null) {
      exchange.rateLimit = this.#rateLimit.count(principal.actor, exchange.startedMs);
    }
  }

  /** What to answer: the error itself, or that there were too many of its kind. */
  #countWrongKey(request: Request, error: unknown, nowMs: number): unknown {
    const isWrongKey =
      error instanceof Problem && error.code === "unauthenticated" && request.headers.has("x-api-key");
    if (this.#wrongKeys === null || !isWrongKey) return error;
    try {
      this.#wrongKeys.count(this.#addressOf(request), nowMs);
      return error;
    } catch (refused) {
      return refused;
    }
  }

  #addressOf(request: Request): string {
    const { trustedProxies, peerOf } = this.#deps;
    return clientAddress(trustedProxies, peerOf?.(request) ?? null, request.headers);
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

  /** Answers a form of the dashboard with what the route streams; see `download.ts`. */
  async download(route: Route, routed: Routed): Promise<Response> {
    const { exchange } = routed;
    exchange.route = DOWNLOAD_PATH;
    let request: Request;
    try {
      const headers = downloadHeaders(routed.request, routed.params?.workspace_id ?? "");
      this.#enter(exchange, authenticateDownload(headers, this.#deps.accounts?.sessions));
      request = await requestOfForm(routed.request, headers);
    } catch (error) {
      return this.fail(exchange, error);
    }
    return this.operate(route, { ...routed, request, params: undefined });
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
    if (error instanceof Error && isStorageFailure(error)) {
      const headers = { "retry-after": `${RETRY_AFTER_SECONDS}` };
      return new Problem("unavailable", STORAGE_FAILED, { headers });
    }
    return new Problem(
      "internal",
      "Something went wrong inside. Tell the operator the request_id; the daemon's log says more.",
    );
  }

  #done(exchange: Exchange, response: Response): Response {
    const { logs, log, meter, monotonicMs } = this.#deps;
    const { status } = response;
    if (meter !== undefined) meter.count(exchange, status, monotonicMs() - exchange.startedMs);
    if (logs === undefined || logs(status)) log(exchange.logEntry(status, monotonicMs()));
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

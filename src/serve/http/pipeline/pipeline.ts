/** The steps of every request: id, authentication, response, log entry. */

import { problemResponse } from "../../../api/problem-document.ts";
import type { AnyRoute, Route } from "../../../api/route.ts";
import { isOfKey, type Principal } from "../../../core/writer/contract.ts";
import { messageOf } from "../../../failure.ts";
import { isLoopback } from "../../../networks.ts";
import { Problem } from "../../../problem.ts";
import type { PublicState } from "../documents/pages.ts";
import { metadataAddress } from "../mcp/resource-metadata.ts";
import { isHost, type OwnHosts } from "../own-hosts.ts";
import {
  type Authenticate,
  authenticateRequest,
  type People,
  publicReader,
  sendsKey,
  unauthenticated,
  type WorkloadTokens,
  withMetadata,
} from "./authenticate.ts";
import { authenticateDownload, DOWNLOAD_PATH, downloadHeaders, requestOfForm } from "./download.ts";
import { Exchange, RequestIds, type RequestLogEntry } from "./exchange.ts";
import { failureProblem, serverProblem } from "./failures.ts";
import { type HandleDeps, handle, type Routed } from "./handle.ts";
import { AddressRate, RateLimit, WrongKeys } from "./rate-limits.ts";
import type { RequestMeter } from "./request-meter.ts";
import { traceOf } from "./trace-context.ts";
import { clientAddress, requireHttps } from "./trusted-proxy.ts";

/** The parts of the daemon that HTTP uses. */
export interface AppDeps extends HandleDeps, PublicState {
  authenticate: Authenticate;
  /**
   * Looks the key of a principal up again. Returns its principal now, null when the key has ended; absent when keys do
   * not change.
   */
  renew?(principal: Principal): Promise<Principal | null>;
  /** The tokens of workloads; absent when there are none. */
  workloads?: WorkloadTokens;
  /** Reports whether requests of a principal may come from an address; absent when all may. */
  allowsFrom?(principal: Principal, address: () => string): boolean;
  /** The names of this server, which the endpoints of MCP require; absent when requests may name any host. */
  ownHosts?: OwnHosts;
  /** Called after every response, or only for the statuses that `logs` accepts. */
  log(entry: RequestLogEntry): void;
  logs?(status: number): boolean;
  /** Counts every request; absent without metrics. */
  meter?: RequestMeter;
  /** Called with an internal error. The client sees only `internal`. */
  onInternalError(error: unknown, requestId: string): void;
  randomBytes(length: number): Uint8Array;
  /** The most requests per second of each key; absent or 0 for no limit. */
  requestsPerSecond?: number;
  /** The most requests per minute with wrong keys from one address; absent or 0 for no limit. */
  wrongKeysPerMinute?: number;
  /** The most requests per second from one address other than this machine's; absent or 0 for no limit. */
  addressRequestsPerSecond?: number;
  /**
   * Reports whether a peer has more connections than it may have. Calls `peer` only while some address has too many.
   */
  isCrowded?(peer: () => string): boolean;
  /** The workspaces whose logs are public. */
  publicLogs?: ReadonlySet<string>;
}

const API_ROOT = "/v1";

export class Pipeline {
  readonly #requestIds: RequestIds;
  readonly #rateLimit: RateLimit | null;
  readonly #wrongKeys: WrongKeys | null;
  readonly #addressRate: AddressRate | null;
  /** Requests whose key was looked up or whose token was verified. They are admitted a second time. */
  readonly #known = new WeakMap<Request, { exchange: Exchange; principal: Principal }>();

  /** `publicPaths` need no key; everything else under /v1 does. */
  constructor(
    private readonly deps: AppDeps,
    private readonly publicPaths: ReadonlySet<string>,
  ) {
    this.#requestIds = new RequestIds(deps.randomBytes);
    this.#rateLimit = deps.requestsPerSecond ? new RateLimit(deps.requestsPerSecond) : null;
    this.#addressRate = deps.addressRequestsPerSecond ? new AddressRate(deps.addressRequestsPerSecond) : null;
    this.#wrongKeys = deps.wrongKeysPerMinute ? new WrongKeys(deps.wrongKeysPerMinute) : null;
  }

  /** Starts the record of a request, with its id. */
  open(request: Request): Exchange {
    const known = this.#known.get(request);
    if (known !== undefined) return known.exchange;
    const requestId = this.#requestIds.of(request.headers.get("x-request-id"));
    return new Exchange(requestId, request.method, this.deps.monotonicMs());
  }

  /**
   * Authenticates a request before routing. Returns a response when the request is refused, and a promise of the
   * response when its key must be looked up or its token verified first: then `again` routes and handles the request
   * once more.
   */
  admit(
    exchange: Exchange,
    request: Request,
    path: string,
    again: (request: Request) => Response | Promise<Response>,
  ): Response | Promise<Response> | undefined {
    const { headers } = request;
    try {
      const known = this.#known.get(request);
      if (known === undefined) {
        requireHost(headers);
        this.#checkHttps(request, headers);
        this.#countAddress(request, exchange.startedMs);
      }
      if (isUnderApi(path) && !this.publicPaths.has(path)) {
        exchange.trace = traceOf(headers.get("traceparent"));
        const principal = known?.principal ?? this.#publicReader(path, headers) ?? this.#authenticate(request, true);
        if (principal instanceof Promise) return this.#admitLater(exchange, request, path, principal, again);
        this.#enter(exchange, request, principal);
        this.#requireNetwork(request, principal);
      }
      return undefined;
    } catch (error) {
      return this.#refuse(exchange, request, path, error);
    }
  }

  async #admitLater(
    exchange: Exchange,
    request: Request,
    path: string,
    authenticated: Promise<Principal>,
    again: (request: Request) => Response | Promise<Response>,
  ): Promise<Response> {
    try {
      this.#known.set(request, { exchange, principal: await authenticated });
    } catch (error) {
      return this.#refuse(exchange, request, path, error);
    }
    return again(request);
  }

  #refuse(exchange: Exchange, request: Request, path: string, error: unknown): Response {
    const counted = this.#countWrongKey(request, error, exchange.startedMs);
    const metadata = metadataAddress(path, request.headers, this.deps);
    return this.fail(exchange, metadata === null ? counted : withMetadata(counted, metadata));
  }

  /** @throws {Problem} `rate_limited` when too many requests or connections come from the client's address */
  #countAddress(request: Request, nowMs: number): void {
    const { isCrowded, peerOf } = this.deps;
    if (this.#addressRate !== null) {
      const address = this.#addressOf(request);
      if (!isLoopback(address)) this.#addressRate.count(address, nowMs);
    }
    if (isCrowded?.(() => peerOf?.(request) ?? "") !== true) return;
    const headers = { connection: "close" };
    const detail =
      "Too many connections come from this address. This one is closed: use fewer, and send more requests on each.";
    throw new Problem("rate_limited", detail, { headers, retryAfterSeconds: 1 });
  }

  #publicReader(path: string, headers: Headers): Principal | null {
    const { publicLogs } = this.deps;
    return publicLogs === undefined || sendsKey(headers) ? null : publicReader(path, publicLogs);
  }

  /** Sets the principal of a request, and counts it against the limit. @throws {Problem} above the limit */
  #enter(exchange: Exchange, request: Request, principal: Principal): void {
    exchange.principal = principal;
    exchange.again = () => this.#again(exchange, request);
    if (this.#rateLimit !== null) {
      exchange.rateLimit = this.#rateLimit.count(principal.actor, exchange.startedMs);
    }
  }

  /** @throws {Problem} `forbidden` when the key is limited to networks without the client's address */
  #requireNetwork(request: Request, principal: Principal): void {
    if (this.deps.allowsFrom?.(principal, () => this.#addressOf(request)) !== false) return;
    throw new Problem("forbidden", "This API key is limited to networks, and the request comes from another address.");
  }

  /** Counts a wrong key. Returns the error, or `rate_limited` when there were too many. */
  #countWrongKey(request: Request, error: unknown, nowMs: number): unknown {
    const isWrongKey = error instanceof Problem && error.code === "unauthenticated" && sendsKey(request.headers);
    if (this.#wrongKeys === null || !isWrongKey) return error;
    try {
      this.#wrongKeys.count(this.#addressOf(request), nowMs);
      return error;
    } catch (refused) {
      return refused;
    }
  }

  #addressOf(request: Request): string {
    const { trustedProxies, peerOf } = this.deps;
    return clientAddress(trustedProxies, peerOf?.(request) ?? null, request.headers);
  }

  get #people(): People | null {
    const { accounts } = this.deps;
    return accounts ? { sessions: accounts.sessions, memberships: accounts.parts.memberships } : null;
  }

  /** Returns the principal of a request. `use`: see `SessionKeeper.find`. @throws {Problem} */
  #authenticate(request: Request, use: boolean): Principal | Promise<Principal> {
    const { authenticate, workloads } = this.deps;
    return authenticateRequest(request, { authenticate, people: this.#people, workloads }, use);
  }

  /** See `Exchange.again`. */
  async #again(exchange: Exchange, request: Request): Promise<Principal> {
    const { renew } = this.deps;
    const before = exchange.principal as Principal;
    const now = renew && isOfKey(before) ? await renew(before) : await this.#authenticate(request, false);
    if (now === null) throw unauthenticated();
    this.#requireNetwork(request, now);
    if (now.scope !== before.scope || now.actor !== before.actor) throw unauthenticated();
    exchange.principal = now;
    return now;
  }

  #checkHttps(request: Request, headers: Headers): void {
    const { trustedProxies, peerOf } = this.deps;
    if (trustedProxies !== undefined) requireHttps(trustedProxies, peerOf?.(request) ?? null, headers);
  }

  /** Responds to a request for a route. */
  async operate(route: AnyRoute, routed: Routed): Promise<Response> {
    const { exchange } = routed;
    exchange.route = route.path;
    try {
      return this.#done(exchange, await handle(route, routed, this.deps));
    } catch (error) {
      return this.fail(exchange, error);
    }
  }

  /** Responds to a form of the dashboard with the stream of the route; see `download.ts`. */
  async download(route: Route, routed: Routed): Promise<Response> {
    const { exchange } = routed;
    exchange.route = DOWNLOAD_PATH;
    let request: Request;
    try {
      const headers = downloadHeaders(routed.request, routed.params?.workspace_id);
      const principal = await authenticateDownload(headers, this.#people);
      this.#enter(exchange, routed.request, principal);
      request = await requestOfForm(routed.request, headers, route.body?.lists);
    } catch (error) {
      return this.fail(exchange, error);
    }
    return this.operate(route, { ...routed, request, params: undefined });
  }

  /** Responds to a request that is not for an operation: a page, a probe, a wrong method. */
  async serve(path: string, exchange: Exchange, answer: () => Response | Promise<Response>): Promise<Response> {
    exchange.route = path;
    try {
      return this.#done(exchange, await answer());
    } catch (error) {
      return this.fail(exchange, error);
    }
  }

  /** Responds with a problem. Any error but a {@link Problem} becomes `internal` or `unavailable`. */
  fail(exchange: Exchange | null, error: unknown): Response {
    const failed = exchange ?? new Exchange(this.#requestIds.of(null), "", this.deps.monotonicMs());
    const ofServer = serverProblem(error);
    if (ofServer !== null) failed.reason = messageOf(error);
    const problem = error instanceof Problem ? error : (ofServer ?? this.#internal(error, failed.requestId));
    failed.problem = problem.code;
    return this.#done(failed, problemResponse(problem, failed.requestId, failed.headers("")));
  }

  #internal(error: unknown, requestId: string): Problem {
    this.deps.onInternalError(error, requestId);
    return failureProblem(error);
  }

  #done(exchange: Exchange, response: Response): Response {
    const { logs, log, meter, monotonicMs } = this.deps;
    const { status } = response;
    if (meter !== undefined) meter.count(exchange, status, monotonicMs() - exchange.startedMs);
    if (logs === undefined || logs(status)) log(exchange.logEntry(status, monotonicMs()));
    return response;
  }
}

/**
 * Refuses a request with more than one `Host`, or a malformed one (RFC 9112 section 3.2). The runtime refuses those of
 * HTTP/1.1 without any.
 * @throws {Problem}
 */
function requireHost(headers: Headers): void {
  const host = headers.get("host");
  if (host === null || isHost(host)) return;
  const detail = "Send one Host header: the name or address of this server, and the port if it is not the usual one.";
  throw new Problem("invalid_request", detail, { param: "Host" });
}

function isUnderApi(path: string): boolean {
  return path.startsWith(API_ROOT) && (path.length === API_ROOT.length || path[API_ROOT.length] === "/");
}

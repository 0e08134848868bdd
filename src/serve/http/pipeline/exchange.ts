/** The record of one request, for the headers of its response and for the log. */
import { isAgentId } from "../../../agent-id.ts";
import type { AuditResult, PartResult, Principal, Via } from "../../../core/writer/contract.ts";
import type { RateLimitHeaders } from "./rate-limits.ts";
import { traceIdOf } from "./trace-context.ts";

/** Durations are logged to the microsecond. */
const MICROSECONDS = 1_000;

export class Exchange {
  principal: Principal | null = null;
  /**
   * Authenticates the request again, by what is stored now. @throws {Problem} when its credentials do not allow it any
   * more
   */
  again: (() => Promise<Principal>) | null = null;
  /** The account that is signed in, for requests outside any workspace. */
  accountId: string | null = null;
  route: string | null = null;
  operation: string | null = null;
  /** The agent that the request names, null when it names none or only a checkpoint or an event. */
  agentId: string | null = null;
  /** The recorded result of the operation. */
  decision: AuditResult | null = null;
  /** The recorded results of the parts of a composite operation; null for any other. */
  parts: readonly PartResult[] | null = null;
  /** `policy:…`, when a policy refused it. */
  blockedBy: string | null = null;
  auditId: string | null = null;
  /** The client program's own name; null when it does not name itself. */
  client: string | null = null;
  /** The valid `traceparent` of the request. */
  trace: string | null = null;
  /** The session that the request names; null when it names none. */
  session: string | null = null;
  /** Whether the response is the stored response to an earlier request. */
  replayed = false;
  /** The code of the problem document; null when the response is not one. */
  problem: string | null = null;
  /** Why the libSQL server could not be used, for the operator; null otherwise. */
  reason: string | null = null;
  /** What remains of the limit of the request's key; null without a limit. */
  rateLimit: RateLimitHeaders | null = null;

  constructor(
    readonly requestId: string,
    readonly method: string,
    readonly startedMs: number,
  ) {}

  /** What the event's details say about the request; null for nothing. */
  get via(): Via | null {
    const { client, trace } = this;
    const session = this.session ?? (trace === null ? null : traceIdOf(trace));
    if (client === null && session === null) return null;
    return { ...(client && { client }), ...(trace && { trace }), ...(session && { session }) };
  }

  /** Returns the headers that every response has. */
  headers(contentType: string): Record<string, string> {
    const headers: Record<string, string> = {
      "content-type": contentType,
      "x-request-id": this.requestId,
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    };
    if (this.auditId !== null) headers["x-audit-id"] = this.auditId;
    if (this.replayed) headers["idempotent-replayed"] = "true";
    if (this.rateLimit !== null) Object.assign(headers, this.rateLimit);
    return headers;
  }

  /**
   * Returns the log entry of the request, once the status is known. It never has a key, a value or a query string, and
   * of the path's parameters only an agent's id.
   */
  logEntry(status: number, nowMs: number) {
    return {
      request_id: this.requestId,
      method: this.method,
      /** The route's pattern (`/v1/config/:agent_id`), null when no route matched. */
      route: this.route,
      status,
      duration_ms: Math.round((nowMs - this.startedMs) * MICROSECONDS) / MICROSECONDS,
      workspace_id: this.principal?.workspaceId ?? null,
      agent_id: this.agentId !== null && isAgentId(this.agentId) ? this.agentId : null,
      /** `key_…`, `usr_…` or `wid_…`. */
      actor: this.principal?.actor ?? this.accountId,
      operation: this.operation,
      decision: this.decision,
      blocked_by: this.blockedBy,
      audit_id: this.auditId,
      problem: this.problem,
      reason: this.reason,
      trace: this.trace,
    };
  }
}

export type RequestLogEntry = ReturnType<Exchange["logEntry"]>;

/** A client's request id: 1 to 128 of `A-Z a-z 0-9 . _ -`. */
const CLIENT_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** A random prefix and a counter in hex digits are unique across restarts, and cheap. */
const PREFIX_BYTES = 8;
const COUNTER_DIGITS = 8;
const COUNTER_LIMIT = 16 ** COUNTER_DIGITS;

/** Makes request ids. The random bytes are drawn once for every 2^32 requests. */
export class RequestIds {
  #prefix = "";
  #next = COUNTER_LIMIT;

  constructor(private readonly randomBytes: (length: number) => Uint8Array) {}

  /** Returns the id of a request: its `X-Request-Id` header when that is safe to log and return, else a new id. */
  of(header: string | null): string {
    return header !== null && CLIENT_ID.test(header) ? header : this.#make();
  }

  #make(): string {
    if (this.#next === COUNTER_LIMIT) {
      this.#prefix = `req_${Buffer.from(this.randomBytes(PREFIX_BYTES)).toString("hex")}`;
      this.#next = 0;
    }
    return this.#prefix + (this.#next++).toString(16).padStart(COUNTER_DIGITS, "0");
  }
}

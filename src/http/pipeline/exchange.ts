/** One request and what becomes known about it: for the answer's headers and for the log. */
import type { AuditResult, Principal } from "../../workspace/contract.ts";
import { isAgentId } from "../fields.ts";
import type { RateLimitHeaders } from "./rate-limit.ts";

/** Durations are logged to the microsecond. */
const MICROSECONDS = 1_000;

/**
 * What the log is told about a request. Never a key, a value or a query string, and of the path's
 * parameters only an agent's id.
 */
export interface RequestLogEntry {
  request_id: string;
  method: string;
  /** The route's pattern (`/v1/config/:agent_id`), null when no route matched. */
  route: string | null;
  status: number;
  duration_ms: number;
  workspace_id: string | null;
  /** The agent that the request names; null when it names none, or by a checkpoint or an event only. */
  agent_id: string | null;
  /** `key_…` or `usr_…`. */
  actor: string | null;
  operation: string | null;
  /** What was recorded of the operation: `ok`, `allowed`, `blocked`, … */
  decision: string | null;
  /** `policy:…`, when a policy refused it. */
  blocked_by: string | null;
  audit_id: string | null;
  /** The code of the problem document, when the answer is one. */
  problem: string | null;
}

export class Exchange {
  readonly requestId: string;
  readonly method: string;
  readonly startedMs: number;
  principal: Principal | null = null;
  /** Who is signed in, where there is no workspace to be a principal of. */
  accountId: string | null = null;
  route: string | null = null;
  operation: string | null = null;
  agentId: string | null = null;
  decision: AuditResult | null = null;
  blockedBy: string | null = null;
  auditId: string | null = null;
  problem: string | null = null;
  /** Where its key stands; null without a limit. */
  rateLimit: RateLimitHeaders | null = null;

  constructor(requestId: string, method: string, startedMs: number) {
    this.requestId = requestId;
    this.method = method;
    this.startedMs = startedMs;
  }

  /** The headers that every answer carries. */
  headers(contentType: string): Record<string, string> {
    const headers: Record<string, string> = {
      "content-type": contentType,
      "x-request-id": this.requestId,
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    };
    if (this.auditId !== null) headers["x-audit-id"] = this.auditId;
    if (this.rateLimit !== null) Object.assign(headers, this.rateLimit);
    return headers;
  }

  /** What the log is told once the status is known. */
  logEntry(status: number, nowMs: number): RequestLogEntry {
    return {
      request_id: this.requestId,
      method: this.method,
      route: this.route,
      status,
      duration_ms: Math.round((nowMs - this.startedMs) * MICROSECONDS) / MICROSECONDS,
      workspace_id: this.principal?.workspaceId ?? null,
      agent_id: this.agentId !== null && isAgentId(this.agentId) ? this.agentId : null,
      actor: this.principal?.actor ?? this.accountId,
      operation: this.operation,
      decision: this.decision,
      blocked_by: this.blockedBy,
      audit_id: this.auditId,
      problem: this.problem,
    };
  }
}

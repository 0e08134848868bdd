/** One request and what becomes known about it: for the answer's headers and for the log. */
import type { Principal } from "../workspace/contract.ts";

/** What the log is told about a request. Never a key, a value, a path parameter or a query string. */
export interface RequestLogEntry {
  requestId: string;
  method: string;
  /** The route's pattern (`/v1/config/:agent_id`), null when no route matched. */
  route: string | null;
  status: number;
  durationMs: number;
  workspaceId: string | null;
  /** `key_…` or `usr_…`. */
  actor: string | null;
  operation: string | null;
  auditId: string | null;
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
  auditId: string | null = null;
  problem: string | null = null;

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
    return headers;
  }

  /** What the log is told once the status is known. */
  logEntry(status: number, nowMs: number): RequestLogEntry {
    return {
      requestId: this.requestId,
      method: this.method,
      route: this.route,
      status,
      durationMs: nowMs - this.startedMs,
      workspaceId: this.principal?.workspaceId ?? null,
      actor: this.principal?.actor ?? this.accountId,
      operation: this.operation,
      auditId: this.auditId,
      problem: this.problem,
    };
  }
}

/**
 * What the HTTP side and the workspace side say to each other: the request for an operation
 * (`operations.ts` has the names and inputs), and the reply. Plain data only, since it crosses a thread boundary.
 */
import type { JsonObject } from "../json.ts";
import type { AuditResult } from "../log/event.ts";
import type { Scope } from "../operation-facts.ts";
import type { AccountEventName, OperationInputs, OperationName } from "../operations.ts";

export type { AuditResult } from "../log/event.ts";

export type {
  AuditScope,
  ExportFormat,
  ExportResumption,
  IfMatch,
  Page,
  TimeWindow,
} from "../operation-facts.ts";
export {
  type InquiryName,
  type InspectionName,
  isInquiry,
  isInspection,
  isReport,
  leavesNoTrace,
  type OperationInputs,
  type OperationName,
  type ReportName,
} from "../operations.ts";

/** Who asks: the audit actor, and what the credentials allow. */
export interface Principal {
  /** `key_…` or `usr_…`: the `actor` of the audit event. */
  actor: string;
  workspaceId: string;
  scope: Scope;
  /** The agents that the key is limited to; null means every agent. */
  agents: readonly string[] | null;
}

/** An event of the workspace itself (no agent), whose effect is in the control database. */
export interface WorkspaceEvent {
  operation: AccountEventName;
  /** Who did it: `cli`, `usr_…` or `key_…`. */
  actor: string;
  details: JsonObject;
}

/** One operation on its way to the workspace that owns it. */
export interface OperationRequest<N extends OperationName = OperationName> {
  name: N;
  input: OperationInputs[N];
  principal: Principal;
}

/** Error codes that an operation itself can answer with; `http` turns them into problem documents. */
export type OperationProblem =
  | "invalid_request"
  | "forbidden"
  | "agent_suspended"
  | "agent_not_found"
  | "config_not_found"
  | "version_not_found"
  | "checkpoint_not_found"
  | "entry_not_found"
  | "audit_event_not_found"
  | "seal_not_found"
  | "invalid_request"
  | "restore_blocked"
  | "quota_exceeded"
  | "version_conflict"
  | "unavailable"
  | "internal";

/** How an operation was recorded: for the log and the metrics. Absent when nothing was recorded. */
export interface Recorded {
  result?: AuditResult;
  /** `policy:…`, when a policy refused it. */
  blockedBy?: string;
}

/** An operation that ended well: a JSON body ready to send. */
export interface JsonReply extends Recorded {
  kind: "json";
  status: number;
  /** The serialised body. */
  body: string;
  /** Absent only for an inspection. */
  auditId?: string;
  /** The strong entity tag without quotes (a config version), when there is one. */
  etag?: string;
}

/** A text to be saved or passed on as it is: a seal, a receipt. */
export interface TextReply extends Recorded {
  kind: "text";
  contentType: string;
  body: string;
  filename?: string;
  auditId?: string;
}

/** An operation that came to nothing. `auditId` is absent only when nothing was recorded. */
export interface ProblemReply extends Recorded {
  kind: "problem";
  code: OperationProblem;
  detail: string;
  auditId?: string;
  /** Extra members of the problem document (`blocked_by`, `findings` of a blocked restore). */
  extra?: JsonObject;
  retryAfterSeconds?: number;
}

/** An operation whose body is streamed: an export, a checkpoint with its state. */
export interface StreamReply extends Recorded {
  kind: "stream";
  status: number;
  contentType: string;
  /** File name for `Content-Disposition: attachment`, when the body is a download. */
  filename?: string;
  /** How an export that breaks off can be continued. */
  cursor?: string;
  auditId: string;
  body: ReadableStream<Uint8Array>;
  /** It does not end by itself: whoever sends it on sees to it that it is still allowed. */
  live?: true;
}

export type OperationReply = JsonReply | TextReply | ProblemReply | StreamReply;

/**
 * The workspace side as the routes see it. A reply means that the operation and its audit event are
 * on disk. Overload answers with a `problem` of code `unavailable`; nothing was written then.
 */
export interface WorkspaceClient {
  perform<N extends OperationName>(request: OperationRequest<N>): Promise<OperationReply>;
}

/** The workspace side as accounts, keys and members see it. */
export interface WorkspaceJournal {
  /** Appends to the workspace's own chain; answers the event's id, or null when it could not be written. */
  record(workspaceId: string, event: WorkspaceEvent): Promise<string | null>;
}

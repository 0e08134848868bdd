/**
 * What the HTTP side and the workspace side say to each other: the name and the input of every
 * operation, and the reply. Plain data only, since it crosses a thread boundary.
 */
import type { JsonObject } from "../json.ts";
import type { AuditResult } from "../log/event.ts";

export type { AuditResult } from "../log/event.ts";

/** Inclusive start and exclusive end, milliseconds since the Unix epoch. */
export interface TimeWindow {
  startMs?: number;
  endMs?: number;
}

/** One page of a list. `after` is a decoded cursor position; it is never sent together with `offset`. */
export interface Page {
  limit: number;
  offset: number;
  after?: string | number;
}

/** `If-Match` as parsed: `*`, or the strong tags (weak ones never match and are left out). */
export type IfMatch = "*" | readonly string[];

/** Whose audit trail: one agent's, the workspace's own events, or (verify, export) everything. */
export type AuditScope = { agentId: string } | { scope: "workspace" };

/** The formats of `POST /v1/audit/export`. */
export type ExportFormat = "json" | "ndjson" | "csv" | "cloudevents" | "ocsf";

/** An export that was interrupted, and how many of its events the client has. */
export interface ExportResumption {
  /** The export holds the events before this position. */
  beforeSeq: number;
  exportedAt: string;
  received: number;
}

/** The input of every operation that a client can ask for, after validation. */
export interface OperationInputs {
  "config.read": { agentId: string };
  "config.update": { agentId: string; config: JsonObject; ifMatch?: IfMatch };
  "config.list_versions": { agentId: string; page: Page };
  "config.read_version": { agentId: string; version: string };
  "config.rollback": { agentId: string; version: string; ifMatch?: IfMatch };
  "checkpoint.create": { agentId: string; label: string | null; metadata: JsonObject };
  "checkpoint.list": { agentId: string; page: Page };
  "checkpoint.read": { checkpointId: string };
  "checkpoint.restore": { checkpointId: string; restoreConfig: boolean; restoreData: boolean };
  "checkpoint.delete": { checkpointId: string };
  "data.write": { agentId: string; key: string; value: string; metadata: JsonObject };
  "data.read": { agentId: string; key: string };
  "data.read_full": { agentId: string; key: string };
  "data.list": { agentId: string; prefix: string; page: Page; includeValues: boolean };
  "data.search": {
    agentId: string;
    query: string;
    limit: number;
    prefix: string;
    minSimilarity: number;
  };
  "data.delete": { agentId: string; key: string };
  "data.delete_prefix": { agentId: string; prefix: string };
  "data.erase": { agentId: string; key: string } | { agentId: string; prefix: string };
  "audit.query": {
    scope: AuditScope;
    operations?: readonly string[];
    result?: string;
    window: TimeWindow;
    page: Page;
  };
  "audit.read": { eventId: string; proof: boolean };
  "audit.receipt": { eventId: string };
  "audit.verify": { scope: AuditScope };
  "audit.export": {
    scope: AuditScope;
    format: ExportFormat;
    window: TimeWindow;
    resume?: ExportResumption;
  };
  "audit.stream": { scope: AuditScope; after?: string };
  "audit.activity": { scope: AuditScope; window: TimeWindow; interval: "minute" | "hour" | "day" };
  "agent.list": { prefix: string; page: Page };
  "agent.read": { agentId: string };
  "agent.suspend": { agentId: string; reason: string | null };
  "agent.resume": { agentId: string; reason: string | null };
  "audit.seal": Record<never, never>;
  "audit.key": Record<never, never>;
  "audit.consistency": { from: number; to?: number };
  "audit.anchors": Record<never, never>;
}

/** The name of an operation that a client can ask for. */
export type OperationName = keyof OperationInputs;

const INQUIRY_NAMES = [
  "data.search",
  "audit.query",
  "audit.verify",
  "audit.activity",
  "agent.list",
  "agent.read",
] as const;

/** Operations that read first, on a reader thread, and are recorded with what was found. */
export type InquiryName = (typeof INQUIRY_NAMES)[number];

const INSPECTION_NAMES = ["audit.seal", "audit.key", "audit.consistency"] as const;

/**
 * Operations that leave no trace: they are about the workspace's seals alone, which monitors fetch
 * again and again.
 */
export type InspectionName = (typeof INSPECTION_NAMES)[number];

/**
 * What is asked of the daemon and not of a workspace's thread: where the workspace's seals were taken to.
 * It leaves no trace either.
 */
export type ReportName = "audit.anchors";

export const isReport = (name: OperationName): name is ReportName => name === "audit.anchors";

export const isInspection = (name: OperationName): name is InspectionName =>
  (INSPECTION_NAMES as readonly string[]).includes(name);

/** Whether an operation is not recorded. */
export const leavesNoTrace = (name: OperationName): name is InspectionName | ReportName =>
  isInspection(name) || isReport(name);

export const isInquiry = (name: OperationName): name is InquiryName =>
  (INQUIRY_NAMES as readonly string[]).includes(name);

/** Who asks: the audit actor, and what the credentials allow. */
export interface Principal {
  /** `key_…` or `usr_…`: the `actor` of the audit event. */
  actor: string;
  workspaceId: string;
  scope: "full" | "agent" | "auditor";
  /** The agents that the key is limited to; null means every agent. */
  agents: readonly string[] | null;
}

/** What is recorded of a workspace itself on behalf of accounts, keys and members. */
export const WORKSPACE_EVENTS = [
  "key.create",
  "key.revoke",
  "key.rotate",
  "member.invite",
  "member.uninvite",
  "member.join",
  "member.change",
  "member.remove",
] as const;

/** An event of the workspace itself (no agent), whose effect is in the control database. */
export interface WorkspaceEvent {
  operation: (typeof WORKSPACE_EVENTS)[number];
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

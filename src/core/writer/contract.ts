/**
 * The contract between the HTTP side and the workspace side: the request for an operation (`operations.ts` has the
 * names and inputs), and the reply. Both are plain data, since they cross a thread boundary.
 */
import { type AgentLimit, isWithin } from "../../agent-id.ts";
import type { Party, SecondFactor } from "../../details.ts";
import type { JsonObject } from "../../json.ts";
import { type AuditResult, SYSTEM } from "../../log/event.ts";
import type { AuditScope, ExportFormat, Page, Role, Scope, TimeWindow, ViewFormat } from "../../operation-facts.ts";
import type { EventName, INSTALLATION_HEADS, OperationInputs, OperationName, STATE_ROOT } from "../../operations.ts";
import { Problem, type ProblemCode } from "../../problem.ts";
import type { Freshness } from "../../screen/retention.ts";
import type { TrailFilter } from "../../trail-filter.ts";
import type { HeadChanges } from "../heads/stored.ts";
import { type LongText, wholeText } from "../long-text.ts";
import type { RetryId } from "../rows/answers.ts";

export type { AuditResult } from "../../log/event.ts";

/** Who makes a request: the actor in the audit log, and what the credentials allow. */
export interface Principal {
  /** `key_…`, `usr_…` or `wid_…`: the `actor` of the audit event. */
  actor: string;
  workspaceId: string;
  scope: Scope;
  /** The agents that the key is limited to, or the one that the request names; null means every agent. */
  agents: AgentLimit;
  /** The networks that the key is limited to; absent when it works from everywhere. */
  networks?: readonly string[];
  /** Set for a member: the role by which the request is allowed. */
  role?: Role;
  /** Set for a person with a session. Every event of the person states it. */
  authorisedBy?: AuthorisedBy;
  /** Set for a member with a second factor. */
  hasSecondFactor?: true;
  /** Set for a person with a session, whose views are recorded (`views.ts`). */
  person?: true;
  /** Set for a workload: its identity at its issuer. */
  workload?: Workload;
  /** Set for a workload whose token says who acts for whom: the subject, then the actors, the present one first. */
  onBehalfOf?: readonly Party[];
  /** Set when `workspaceId` names the log of the installation, which an operator may read. */
  installation?: true;
}

/** Returns the principal of what the daemon does by itself in a workspace. */
export const systemPrincipal = (workspaceId: string): Principal => ({
  actor: SYSTEM,
  workspaceId,
  scope: "full",
  agents: null,
});

/** The session in which a person acts, and the second factor with which it began; null without one. */
export type AuthorisedBy = Readonly<{
  session_id: string;
  second_factor: SecondFactor | null;
  /** RFC 3339. */
  second_factor_at: string | null;
}>;

/** Who a workload is at its issuer. */
type Workload = Readonly<{ issuer: string; subject: string }>;

/** What a workload's token may act as, before its workspace was asked for the workload's id. */
export type UnnamedWorkload = Omit<Principal, "actor"> & Required<Pick<Principal, "workload">>;

/** Reports whether the principal is an API key. */
export const isOfKey = ({ actor }: Principal): boolean => actor.startsWith("key_");

/** Reports whether a row of the workspace gives the principal its right: that of a key, or of a member. */
export const hasRow = (principal: Principal): boolean => isOfKey(principal) || principal.role !== undefined;

/** Reports whether the principal is a signed-in person. */
export const isPerson = ({ actor }: Principal): boolean => actor.startsWith("usr_");

/** @throws {Problem} `forbidden` when the key is limited to other agents */
export function requireAgentAllowed({ agents }: Principal, agentId: string | null): void {
  if (isWithin(agents, agentId)) return;
  throw new Problem("forbidden", "This API key is limited to other agents. Use a key that allows this agent.");
}

/**
 * Returns the principal of a request that names an agent: it finds nothing that another agent has.
 * @throws {Problem} `forbidden` when the key is limited to other agents
 */
export function limitedTo(principal: Principal, agentId: string): Principal {
  requireAgentAllowed(principal, agentId);
  return { ...principal, agents: [agentId] };
}

/** An event of the workspace itself (no agent) that no client requests, or of its first key. */
export interface WorkspaceEvent {
  operation:
    | "account.sign_in"
    | "installation.add_workspace"
    | "installation.delete_workspace"
    | "key.create"
    | typeof STATE_ROOT
    | typeof INSTALLATION_HEADS;
  /** `cli`, `usr_…`, `key_…` or `wid_…`; `system` when nobody is authenticated. */
  actor: string;
  /** `ok` when absent. */
  result?: "denied";
  details: JsonObject;
  /** The session of the person who acts. */
  authorisedBy?: AuthorisedBy;
  /** Of {@link INSTALLATION_HEADS}: how the stored heads change. Its details follow from them. */
  heads?: HeadChanges;
}

/** The origin of a request. The details of its event include it. */
export interface Via {
  /** The name that the client program gives itself. */
  client?: string;
  /** The trace that the request belongs to (`traceparent`, W3C Trace Context). */
  trace?: string;
  /** The session that the client names, or the id of that trace. */
  session?: string;
}

/** When an answer goes out without its content: always (`HEAD`), or when its tag is in this `If-None-Match`. */
export type Withheld = "always" | { ifNoneMatch: string };

/** A request for one operation. */
export interface OperationRequest<N extends OperationName = OperationName> {
  name: N;
  input: OperationInputs[N];
  principal: Principal;
  via?: Via;
  withheld?: Withheld;
  /** The parts of a composite operation, as several lists in JSON. */
  partTexts?: readonly string[];
  /** Reports whether the client has closed its connection. An operation that has not begun is then not performed. */
  isAbandoned?: () => boolean;
  /** Absent without an `Idempotency-Key`. */
  retry?: Retry;
  /**
   * Set when another thread has looked something up before: the position of the newest known event when the lookup
   * began; -1 when it is not known.
   */
  lookedAt?: number;
}

/** A request with an `Idempotency-Key`. The answer is stored, and returned to its repetitions. */
export interface Retry extends RetryId {
  requestId: string;
}

/** What a reader thread streams once the operation that requested it is recorded. Plain data. */
export type StreamPlan =
  | {
      kind: "export";
      scope: AuditScope;
      format: ExportFormat;
      window: TimeWindow;
      /** The position of the export's event, which states what the export contains. */
      eventSeq: number;
      /** Events that the client has already; 0 for an export from its beginning. */
      received: number;
    }
  | {
      /** The events that match a filter, as a view. */
      kind: "extract";
      agentId: string | null;
      filter: TrailFilter;
      format: ViewFormat;
      window: TimeWindow;
      /** The position of the export's event. Only events before it are searched. */
      eventSeq: number;
    }
  | {
      /** New events as they are committed. */
      kind: "tail";
      /** Null for all events of the workspace. */
      agentId: string | null;
      /** Events after this position are sent: `agent_seq` for an agent, otherwise `seq`. */
      after: number;
      /** Only events that match are sent. */
      filter?: TrailFilter;
    }
  | {
      kind: "checkpoint";
      checkpointId: string;
      /** The members of the answer before `state`, as JSON text without the closing brace. */
      head: string;
      /** Determines which entries have not expired. */
      fresh: Freshness;
      /** Set when only some of the entries are wanted. */
      page?: Page;
    }
  | {
      kind: "replay";
      /** Null for the entries of all agents. */
      agentId: string | null;
      /** The policies, as a config states them. */
      policies: JsonObject;
      form: "json" | "ndjson";
      /** The time for deciding which entries have expired and which exceptions hold, ms since the Unix epoch. */
      nowMs: number;
      /** Whether what is set aside is replayed, too. */
      seesSetAside: boolean;
    };

/** The answer to a client. `Body` is the plan of a stream, or its bytes. */
export type Answer<Body = StreamPlan> =
  /**
   * A successful operation: a JSON text ready to send, and its strong entity tag without quotes, if any. `itemsAt`:
   * where in the text the main thread inserts the items that it got from a reader thread.
   */
  | { kind: "json"; status: number; body: LongText; etag?: string; itemsAt?: number }
  /** A text that is saved or sent unchanged, such as a seal or a receipt. */
  | { kind: "text"; contentType: string; body: string; filename?: string }
  /** Bytes that never change, such as a part of the log, so that caches may keep them. */
  | { kind: "bytes"; contentType: string; body: Uint8Array }
  /** An operation that was refused or failed. `extra`: further members of the problem document. */
  | { kind: "problem"; code: ProblemCode; detail: string; extra?: JsonObject }
  | StreamAnswer<Body>;

/** A body that is streamed: an export, a checkpoint with its state, the trail as it grows. */
interface StreamAnswer<Body> {
  kind: "stream";
  contentType: string;
  /** File name for `Content-Disposition: attachment`, when the body is a download. */
  filename?: string;
  /**
   * The beginning of the cursor with which a client continues an interrupted export; the number of received events
   * follows.
   */
  cursor?: string;
  /** Set when the stream does not end by itself. The sender then keeps checking that the client may still read it. */
  live?: true;
  body: Body;
}

/** The result of an operation, from the workspace's writer to the HTTP response. */
export interface Reply<Body = StreamPlan> {
  answer: Answer<Body>;
  /** The id of its event; null when nothing was recorded. */
  auditId: string | null;
  /** The event's result; for a refused composite operation, the first refusal's. Absent without an event. */
  result?: AuditResult;
  /** `policy:…`, when a policy refused the operation. */
  blockedBy?: string;
  /** The results of a composite operation's parts. */
  parts?: readonly PartResult[];
  /** Set when this is a stored answer: the id of the first request that got it. Nothing was done now. */
  firstRequestId?: string;
  /** Set when nothing was done because the lookup is out of date. The caller repeats the lookup. */
  again?: true;
}

/** A result, and the number of parts of a composite operation that have it. */
export interface PartResult {
  operation: EventName;
  result: AuditResult;
  blockedBy?: string | undefined;
  count: number;
}

/** The bytes of a streamed body. */
export type Bytes = ReadableStream<Uint8Array>;

/** Returns the body of an answer. @throws {Problem} when the operation was refused */
export function jsonOf<T>(answer: Answer<unknown>): T {
  if (answer.kind === "problem") throw new Problem(answer.code, answer.detail);
  if (answer.kind !== "json") throw new Error("it is answered in JSON");
  return JSON.parse(wholeText(answer.body)) as T;
}

/** Returns the reply to an operation without an event. */
export const unrecorded = <Body = never>(answer: Answer<Body>): Reply<Body> => ({ answer, auditId: null });

/** Returns a problem without an event. */
export const problem = (code: ProblemCode, detail: string): Reply<never> =>
  unrecorded({ kind: "problem", code, detail });

/** Returns the reply to an operation that refused its input. */
export const refusal = ({ code, message, options: { param } }: Problem): Reply<never> =>
  unrecorded({ kind: "problem", code, detail: message, ...(param !== undefined && { extra: { param } }) });

/**
 * The interface of the workspace side for the routes. A reply with an `auditId` means that the operation and its event
 * are on disk. Under overload the reply is a `problem` of code `unavailable`, and nothing was written.
 */
export interface WorkspaceClient {
  perform<N extends OperationName>(request: OperationRequest<N>): Promise<Reply<Bytes>>;
}

/** A position before every event, so that the workspace's thread brings its file up to date and asks for a lookup. */
export const NOT_LOOKED = -2;

/**
 * What the HTTP side and the workspace side say to each other: the request for an operation (`operations.ts` has the
 * names and inputs), and the reply. Plain data only, since it crosses a thread boundary.
 */
import type { JsonObject } from "../json.ts";
import type { AuditResult } from "../log/event.ts";
import type { LongText } from "../long-text.ts";
import type { AuditScope, ExportFormat, Page, Scope, TimeWindow, ViewFormat } from "../operation-facts.ts";
import type { AccountEventName, ActName, EventName, OperationInputs, OperationName } from "../operations.ts";
import type { Freshness } from "../policy/retention.ts";
import { Problem, type ProblemCode } from "../problem.ts";
import type { RetryId } from "../state/answers.ts";
import type { TrailFilter } from "../trail-filter.ts";

export type { AuditResult } from "../log/event.ts";

/** Who asks: the audit actor, and what the credentials allow. */
export interface Principal {
  /** `key_…`, `usr_…` or `wid_…`: the `actor` of the audit event. */
  actor: string;
  workspaceId: string;
  scope: Scope;
  /** The agents that the key is limited to; null means every agent. */
  agents: readonly string[] | null;
  /** A person with a session, whose looking is recorded as such (`views.ts`). */
  person?: true;
  /** A workload, as its issuer calls it. */
  workload?: Workload;
  /** `workspaceId` names the log of the installation, which an operator may read. */
  installation?: true;
}

/** The `actor` of what the daemon does by itself: no person's or program's name. */
export const SYSTEM = "system";

/** Returns the principal of what the daemon does by itself in a workspace. */
export const systemPrincipal = (workspaceId: string): Principal => ({
  actor: SYSTEM,
  workspaceId,
  scope: "full",
  agents: null,
});

/** Who a workload is at its issuer. */
type Workload = Readonly<{ issuer: string; subject: string }>;

/** Reports whether it is a person who is signed in, and no program with a key. */
export const isPerson = ({ actor }: Principal): boolean => actor.startsWith("usr_");

/** @throws {Problem} `forbidden` when the key is limited to agents and this is none of them */
export function requireAgentAllowed({ agents }: Principal, agentId: string | null): void {
  if (agents === null || (agentId !== null && agents.includes(agentId))) return;
  throw new Problem("forbidden", "This API key is limited to other agents. Use a key that allows this agent.");
}

/** An event of the workspace itself (no agent), whose effect is in the control database. */
export interface WorkspaceEvent {
  /** The id that the event gets (`aud_…`); without it, it gets a new one. An id cannot be recorded twice. */
  id?: string;
  operation: AccountEventName | ActName | "account.link" | "account.require_issuer";
  /** Who did it: `cli`, `usr_…`, `key_…` or `wid_…`; `system` when nobody proved who they are. */
  actor: string;
  /** `ok` when absent. */
  result?: "denied";
  details: JsonObject;
}

/** What is known of a request beside what it asks for; its event's details repeat it. */
export interface Via {
  /** The workload that asks. */
  workload?: Workload;
  /** The program that asks, in its own words. */
  client?: string;
  /** The trace that the request belongs to (`traceparent`, W3C Trace Context). */
  trace?: string;
}

/** One operation on its way to the workspace that owns it. */
export interface OperationRequest<N extends OperationName = OperationName> {
  name: N;
  input: OperationInputs[N];
  principal: Principal;
  via?: Via;
  /** The parts of a composite operation, as several lists in JSON. */
  partTexts?: readonly string[];
  /** Reports whether the client has closed its connection. Then an operation that has not begun is not performed. */
  isAbandoned?: () => boolean;
  /** Absent without an `Idempotency-Key`. */
  retry?: Retry;
  /**
   * Of what another thread looked up before: the position of the newest event that the workspace was served up to when the
   * lookup began, -1 when that is not known.
   */
  lookedAt?: number;
}

/** A request with an `Idempotency-Key`. The answer to its operation is stored, and is the answer to its repetitions. */
export interface Retry extends RetryId {
  requestId: string;
}

/** What a reader thread streams once the operation that asked for it is recorded. Plain data. */
export type StreamPlan =
  | {
      kind: "export";
      scope: AuditScope;
      format: ExportFormat;
      window: TimeWindow;
      /** The position of the event of the export, which states what the export holds. */
      eventSeq: number;
      /** Events that the client has already; 0 for an export from its beginning. */
      received: number;
    }
  | {
      /** The events that fit a filter, as a view. */
      kind: "extract";
      agentId: string | null;
      filter: TrailFilter;
      format: ViewFormat;
      window: TimeWindow;
      /** The position of the event of the export; those before it are looked through. */
      eventSeq: number;
    }
  | {
      /** New events as they are committed. */
      kind: "tail";
      /** Null for everything in the workspace. */
      agentId: string | null;
      /** The last position that is not sent: `agent_seq` of an agent, else `seq`. */
      after: number;
      /** Only the events that fit. */
      filter?: TrailFilter;
    }
  | {
      kind: "checkpoint";
      checkpointId: string;
      /** The members of the answer before `state`, as JSON text without the closing brace. */
      head: string;
      /** The entries that are not gone. */
      fresh: Freshness;
      /** Set when only some of the entries are wanted. */
      page?: Page;
    }
  | {
      kind: "replay";
      /** Null for the entries of all agents. */
      agentId: string | null;
      /** As a config has them. */
      policies: JsonObject;
      form: "json" | "ndjson";
      /** The time at which entries have ended and exceptions hold, ms since the Unix epoch. */
      nowMs: number;
    };

/** What the client of an operation is told. `Body`: what the bytes of a stream are made from, or the bytes. */
export type Answer<Body = StreamPlan> =
  /**
   * An operation that ended well: a JSON text ready to send, and its strong entity tag without quotes, if any. `itemsAt`:
   * where in the text the items belong that the main thread has from a reader thread, until it puts them there.
   */
  | { kind: "json"; status: number; body: LongText; etag?: string; itemsAt?: number }
  /** A text that is saved or sent unchanged: a seal, a receipt. */
  | { kind: "text"; contentType: string; body: string; filename?: string }
  /** Bytes that never change, so that caches may keep them: a part of the log. */
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
  /** What a client sends to continue an export that broke off, before the number of events that it has. */
  cursor?: string;
  /** The stream does not end by itself: its sender checks that the client may still read it. */
  live?: true;
  body: Body;
}

/** What became of an operation, from the workspace's writer to the HTTP response. */
export interface Reply<Body = StreamPlan> {
  answer: Answer<Body>;
  /** The id of its event; null when nothing was recorded. */
  auditId: string | null;
  /** What the event says of it, of a composite operation that was refused its first refusal; absent without an event. */
  result?: AuditResult;
  /** `policy:…`, when a policy refused it. */
  blockedBy?: string;
  /** What the events of a composite operation say of its parts. */
  parts?: readonly PartResult[];
  /** Set when this is a stored answer: the id of the request that it was first given to. Nothing was done now. */
  firstRequestId?: string;
  /** Set when nothing was done, since what was looked up before is out of date: it is looked up again. */
  again?: true;
}

/** A result of parts of a composite operation, and how many have it. */
export interface PartResult {
  operation: EventName;
  result: AuditResult;
  blockedBy?: string | undefined;
  count: number;
}

/** The bytes of a streamed body. */
export type Bytes = ReadableStream<Uint8Array>;

/** Returns the reply to an operation that left no event. */
export const unrecorded = <Body = never>(answer: Answer<Body>): Reply<Body> => ({ answer, auditId: null });

/** Returns a problem that left no event. */
export const problem = (code: ProblemCode, detail: string): Reply<never> =>
  unrecorded({ kind: "problem", code, detail });

/** Returns the reply to an operation that refused its input. */
export const refusal = ({ code, message, options: { param } }: Problem): Reply<never> =>
  unrecorded({ kind: "problem", code, detail: message, ...(param !== undefined && { extra: { param } }) });

/**
 * The workspace side as the routes see it. A reply with an `auditId` means that the operation and its audit event are
 * on disk. Overload replies with a `problem` of code `unavailable`; nothing was written then.
 */
export interface WorkspaceClient {
  perform<N extends OperationName>(request: OperationRequest<N>): Promise<Reply<Bytes>>;
}

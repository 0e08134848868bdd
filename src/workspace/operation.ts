/**
 * An operation: a plain function of a reader, its circumstances and its input that returns what is to happen. Only
 * `perform` calls one, applies the effect that it returns and records it, so an operation cannot change anything that
 * is not audited.
 */
import type { VersionCondition } from "../condition.ts";
import type { IdSource } from "../ids.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import type { Items } from "../lists.ts";
import type { AuditResult } from "../log/event.ts";
import type { Around, LongText } from "../long-text.ts";
import type {
  CompositeName,
  InquiryName,
  OperationInputs,
  OperationName,
  PartOf,
  RecordedName,
  StreamName,
} from "../operations.ts";
import type { Refused } from "../policy/decide.ts";
import type { ProblemCode } from "../problem.ts";
import type { AgentDirectory, AgentState } from "../state/agents.ts";
import { type Effect, NO_EFFECT } from "../state/apply.ts";
import { findCheckpoint } from "../state/checkpoints.ts";
import type { Versions } from "../state/events.ts";
import type { StoredSeal } from "../state/seals.ts";
import type { QueryEmbedder } from "../state/search.ts";
import type { SearchIndexes } from "../state/search-indexes.ts";
import type { Connection } from "../store/connection.ts";
import type { MaybePromise, Reader } from "../store/transaction.ts";
import type { Answer, Principal } from "./contract.ts";

/** The circumstances of one operation. */
export interface Context {
  readonly workspaceId: string;
  readonly principal: Principal;
  readonly nowMs: number;
  /** The same moment as the event will show it. */
  readonly timestamp: string;
  /** The position that this operation's event will take in the log. */
  readonly seq: number;
  /** The id that this operation's event will have. */
  readonly auditId: string;
  readonly ids: IdSource;
  readonly agents: AgentDirectory;
  readonly versions: Versions;
  /** Writes the heads of the agents that this transaction's earlier events are about, for queries that read them. */
  writeHeads(): Promise<void>;
  /**
   * Seals every event before this operation's own, as part of the transaction. Null when it cannot be done just now;
   * the operator's log says why.
   */
  seal(): Promise<StoredSeal | null>;
  /** Lets other workspaces have their turn, between the steps of an operation that may take long. */
  pause(): Promise<void>;
  /** Returns the root of the tree over every event before this operation's own. */
  treeRoot(): Promise<Uint8Array>;
}

/** What happened, as the audit trail will hold it, and the answer. */
export interface Outcome<A extends Answer = WholeAnswer> {
  /** The agent in whose chain the event is; null for the workspace's own events. */
  agent: AgentState | null;
  result: AuditResult;
  details: JsonObject;
  blockedBy?: string;
  /** Whether a seal is made over the log up to this operation's event, in the same transaction if it can be. */
  sealed?: boolean;
  /** What is to change in the stored rows. */
  effect: Effect;
  answer: A;
}

/** An answer that is not streamed. */
type WholeAnswer = Exclude<Answer, { kind: "stream" }>;
type JsonAnswer = Extract<Answer, { kind: "json" }>;
export type ProblemAnswer = Extract<Answer, { kind: "problem" }>;

/** The answers that an operation can give: those of kind `stream` give a stream or a problem, the others no stream. */
type AnswerOf<N extends OperationName> = N extends StreamName
  ? Exclude<Answer, JsonAnswer | { kind: "text" }>
  : WholeAnswer;

/** `prepared` is what the operation's preparation returned, if it has one; see `Job`. */
export type Operation<N extends OperationName, Prepared = unknown> = (
  reader: Reader,
  context: Context,
  input: OperationInputs[N],
  prepared?: Prepared,
) => MaybePromise<Outcome<AnswerOf<N>>>;

/** An operation with work that needs no transaction: `Job` says when `prepare` is called. */
export interface PreparedOperation<N extends OperationName, Prepared> {
  /** `found` is what `ahead` returned, as {@link Recorded}, when it was called. */
  prepare(agents: AgentDirectory, input: OperationInputs[N], found: JsonValue | undefined): Prepared | undefined;
  /** Does the costly part for some inputs, on another thread than the workspace's. */
  ahead?(reader: Reader, input: OperationInputs[N], now: Pick<QueryContext, "nowMs" | "versions">): Promise<JsonValue>;
  run: Operation<N, Prepared>;
}

/** A request for several operations. */
export interface Composite<C extends CompositeName> {
  /** What runs its parts. An answer that is no problem is a result of the composite operation. */
  parts: { [N in PartOf<C>]: Operation<N, Own> | PreparedOperation<N, Own> };
  /** See `CompositeJob`. */
  nameOf(index: number): string;
  answer(results: readonly (string | null)[], applied: boolean): LongText;
}

/** Circumstances of a query on a reader thread. */
export interface QueryContext {
  readonly workspaceId: string;
  readonly principal: Principal;
  readonly nowMs: number;
  /** The search indexes of this thread. */
  readonly indexes: SearchIndexes;
  /** The ids of events that this connection was asked for. */
  readonly versions: Versions;
  /** Opens the control database for reading; null in a program without one. */
  readonly openControl: (() => Connection) | null;
  /** Makes vectors of queries by the model outside; null without one. */
  readonly queryEmbedder: QueryEmbedder | null;
}

/** What was found, as it is recorded. Of a list of items, the workspace's thread may get only how many there are. */
export type Recorded<Found> = Found extends { items: readonly string[] }
  ? Omit<Found, "items"> & { items: Items }
  : Found;

/**
 * The reading part of an operation that may take long: it runs on a reader thread, and what it found is passed to the
 * operation that records it and replies. What it lists are JSON texts in a member `items`: they stay on the main thread,
 * which puts them into the answer.
 */
export interface Inquiry<N extends OperationName, Found extends JsonValue> {
  /** The query keeps one snapshot for long, so it has its own connection. */
  readonly long?: boolean;
  query(reader: Reader, context: QueryContext, input: OperationInputs[N]): Promise<Found>;
  record(
    reader: Reader,
    context: Context,
    input: OperationInputs[N],
    found: Recorded<Found>,
  ): Promise<Outcome<AnswerOf<N>>>;
}

/** Returns the inquiry. Its two parts agree about what is found: the type is that of what `query` returns. */
export const inquiry = <N extends InquiryName, Found extends JsonValue>(_name: N, parts: Inquiry<N, Found>) => parts;

// biome-ignore lint/suspicious/noExplicitAny: each operation knows what it prepared or found
type Own = any;

/** What runs the operations whose names begin with a word, by name. One that is left out does not compile. */
export type OperationsOf<Word extends string> = {
  [N in Extract<RecordedName, `${Word}.${string}`>]: N extends InquiryName
    ? Inquiry<N, Own>
    : Operation<N, Own> | PreparedOperation<N, Own>;
};

/** Returns the agent that an operation is about; null when that never began, or it is about none. */
export async function subjectOf(
  reader: Reader,
  { agents }: Pick<Context, "agents">,
  input: OperationInputs[OperationName],
) {
  if ("agentId" in input) return agents.find(input.agentId);
  if (!("checkpointId" in input)) return null;
  const checkpoint = await findCheckpoint(reader, input.checkpointId);
  return checkpoint === undefined ? null : agents.findByFirstSeq(checkpoint.agent);
}

/** Returns details with the agent's id if the agent never began: its event is then one of the workspace's own. */
export function naming(agent: AgentState | null, agentId: string, details: JsonObject): JsonObject {
  return agent === null ? { agent_id: agentId, ...details } : details;
}

/** An operation that changed nothing and answers with a problem. `extra`: further members of the problem document. */
export function refused(
  agent: AgentState | null,
  result: AuditResult,
  details: JsonObject,
  problem: Omit<ProblemAnswer, "kind">,
): Outcome<ProblemAnswer> {
  return { agent, result, details, effect: NO_EFFECT, answer: { kind: "problem", ...problem } };
}

/** What an answer says when a condition does not hold. */
interface ConflictWords {
  /** The thing does not exist. */
  absent: string;
  /** The thing exists, and the condition asks for none. */
  present: string;
  /** The thing has another version. */
  other: string;
}

/** An operation whose condition does not hold. `current`: the version that there is, null for none. */
export function conflict(
  agent: AgentState | null,
  details: JsonObject,
  words: ConflictWords,
  condition: VersionCondition,
  current: string | null,
): Outcome<ProblemAnswer> {
  const detail = current === null ? words.absent : "exists" in condition ? words.present : words.other;
  return refused(agent, "conflict", details, { code: "version_conflict", detail, extra: { current_version: current } });
}

/** An operation that a policy refused. Its event and its answer say what was found where, never the text. */
export function refusedByPolicy(
  agent: AgentState,
  { blockedBy, message, findings, limit, excepted }: Refused,
  code: "blocked" | "restore_blocked" = "blocked",
  more: JsonObject = {},
): Outcome<ProblemAnswer> {
  const extra = { blocked_by: blockedBy, findings: findings as unknown as JsonObject[] };
  const details = { ...more, findings: extra.findings, ...(limit && { limit }), ...(excepted && { excepted }) };
  return { ...refused(agent, "blocked", details, { code, detail: message, extra }), blockedBy };
}

/** An operation that found nothing: recorded with the agent, or with the workspace if it never began. */
export function notFound(
  agent: AgentState | null,
  agentId: string | null,
  code: ProblemCode,
  detail: string,
  details: JsonObject,
): Outcome<ProblemAnswer> {
  const named = agentId === null ? details : naming(agent, agentId, details);
  return refused(agent, "not_found", named, { code, detail });
}

/** An operation on an agent that does not exist. */
export function noAgent(agent: AgentState | null, agentId: string | null, details: JsonObject = {}) {
  const detail = "The agent does not exist: nothing was written, configured or checkpointed for it.";
  return notFound(agent, agentId, "agent_not_found", detail, details);
}

/** A finished operation without an effect, whose answer is a stream or a text. `sealed`: see {@link Outcome}. */
export function finished<A extends Answer>(
  agent: AgentState | null,
  details: JsonObject,
  answer: A,
  sealed = false,
): Outcome<A> {
  return { agent, result: "ok", details, effect: NO_EFFECT, answer, sealed };
}

/** A finished operation with a JSON body. */
export function answered(
  agent: AgentState | null,
  details: JsonObject,
  body: LongText | Around,
  extra: Partial<Omit<Outcome, "agent" | "details" | "answer">> & { status?: number; etag?: string } = {},
): Outcome<JsonAnswer> {
  const { status = 200, etag, result = "ok", blockedBy, effect = NO_EFFECT } = extra;
  const answer: JsonAnswer =
    typeof body === "object" && "start" in body
      ? { kind: "json", status, body: body.start + body.end, itemsAt: body.start.length }
      : { kind: "json", status, body };
  if (etag !== undefined) answer.etag = etag;
  // Member by member: this is done for every operation, and copying the rest of an object is slow.
  const outcome: Outcome<JsonAnswer> = { agent, result, details, effect, answer };
  if (blockedBy !== undefined) outcome.blockedBy = blockedBy;
  return outcome;
}

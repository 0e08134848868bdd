/**
 * An operation: plain functions of a reader, a context and an input. `look` may be called first, on another thread; `run`
 * returns an outcome. Only the recorder (recorder.ts) runs operations; it applies the effect and appends the event, so
 * every change is audited.
 */

import type { IdSource, RandomPool } from "../../ids.ts";
import type { JsonObject } from "../../json.ts";
import { recordedEffect } from "../../log/effects.ts";
import type { AuditResult } from "../../log/event.ts";
import { rowChanges } from "../../log/row-effects.ts";
import type { VersionCondition } from "../../operation-facts.ts";
import type {
  CompositeName,
  DirectName,
  InquiryName,
  LookupName,
  OperationInputs,
  OperationName,
  PartOf,
  RecordedName,
  RowsOperation,
} from "../../operations.ts";
import type { ProblemCode } from "../../problem.ts";
import type { Refused } from "../../screen/decide.ts";
import type { PolicySettings } from "../../screen/policies.ts";
import type { Viewer } from "../../screen/retention.ts";
import type { MaybePromise, Reader } from "../../store/transaction.ts";
import type { Items } from "../lists.ts";
import type { Around, LongText } from "../long-text.ts";
import type { AgentDirectory, AgentState } from "../rows/agents.ts";
import { type BoundContents, type Effect, NO_EFFECT } from "../rows/apply.ts";
import { findCheckpoint } from "../rows/checkpoints.ts";
import type { StoredSeal } from "../rows/log/seals.ts";
import type { QueryEmbedder } from "../rows/search.ts";
import type { SearchIndexes } from "../rows/search-indexes.ts";
import type { Answer, Principal } from "./contract.ts";
import type { Site } from "./site.ts";

/** The context of one operation. */
export interface Context extends Readonly<Viewer> {
  readonly workspaceId: string;
  readonly principal: Principal;
  /** The time, as the event states it. */
  readonly timestamp: string;
  /** The position of the operation's event in the log. */
  readonly seq: number;
  /** The id of the operation's event. */
  readonly auditId: string;
  readonly ids: IdSource;
  readonly random: RandomPool;
  /** Returns the salt of a new digest, hex. */
  newSalt(): string;
  readonly site: Site;
  readonly agents: AgentDirectory;
  /**
   * Seals all events before the operation's own, in the transaction. Returns null when that is not possible at present;
   * the daemon's log says why.
   */
  seal(): Promise<StoredSeal | null>;
  /** Gives other workspaces a turn; to be called between the steps of a long operation. */
  pause(): Promise<void>;
  /** Returns the root of the tree over all events before the operation's own. */
  treeRoot(): Promise<Uint8Array>;
}

/** The outcome of an operation: its event, its effect and its answer. */
export interface Outcome<A extends Answer = Answer> {
  /** The agent to whose chain the event is appended; null for the workspace's own chain. */
  agent: AgentState | null;
  result: AuditResult;
  details: JsonObject;
  blockedBy?: string;
  /** Whether to seal the log up to the event, in the same transaction if possible. */
  sealed?: boolean;
  /** The change of stored rows. */
  effect: Effect;
  answer: A;
}

/** The answer of an operation that only looked, or found nothing to change. There is no event. */
export interface Unrecorded {
  unrecorded: Answer;
}

/** Only an operation on rows may find that there is nothing to change: every other one is an event in any case. */
type ResultOf<N extends OperationName> = N extends RowsOperation ? Outcome | Unrecorded : Outcome;

type JsonAnswer = Extract<Answer, { kind: "json" }>;
export type ProblemAnswer = Extract<Answer, { kind: "problem" }>;

/** Carries out an operation on the workspace's thread. @param found what its `look` has found, if it was looked up */
export type Run<N extends OperationName, Found = unknown> = (
  reader: Reader,
  context: Context,
  input: OperationInputs[N],
  found?: Found,
) => MaybePromise<ResultOf<N>>;

/** Finds out on another thread, over a read-only connection, what takes long. */
export interface Look<N extends OperationName, Found> {
  (reader: Reader, context: LookContext, input: OperationInputs[N]): Promise<Found>;
  /**
   * Finds out the same under policies that are known. The workspace's thread does so for a whole group of operations
   * before it runs the first one, which keeps the tables of screening in the processor's cache: the database would evict
   * them between one operation and the next.
   */
  under?(policies: PolicySettings, input: OperationInputs[N], nowMs: number): Found;
}

/**
 * An operation: what may take long, and the rest. The list of operations says when `look` is called. Listed items that it
 * finds are JSON texts in a member `items`. They stay on the main thread, which inserts them into the answer.
 */
export interface Operation<N extends OperationName, Found = unknown> {
  look?: Look<N, Found>;
  /** Records what was found, and replies. */
  run(
    reader: Reader,
    context: Context,
    input: OperationInputs[N],
    found: N extends InquiryName ? Recorded<Found> : Recorded<Found> | undefined,
  ): MaybePromise<ResultOf<N>>;
}

/** An operation on the workspace's thread that is not recorded: it reads a few rows, and returns the answer. */
export type Lookup<N extends LookupName> = (
  reader: Reader,
  context: Pick<Context, "nowMs">,
  input: OperationInputs[N],
) => Promise<Answer>;

/** An operation on a reader thread that is not recorded: what its look finds is the answer. */
export interface Inspection<N extends OperationName> {
  look: Look<N, Answer>;
}

/** A request for several operations. */
export interface Composite<C extends CompositeName> {
  /** The operation of each part. Its answer becomes a result of the composite operation, unless it is a problem. */
  parts: { [N in PartOf<C>]: Operation<N, Own> };
  /** See `CompositeJob`. */
  nameOf(index: number): string;
  answer(results: readonly (string | null)[], applied: boolean): LongText;
}

/** The context of a look. */
export interface LookContext extends Readonly<Viewer> {
  readonly workspaceId: string;
  readonly principal: Principal;
  readonly site: Site;
  /** Runs what must see one state of the file, over a connection of its own. */
  apart<T>(read: (reader: Reader) => Promise<T>): Promise<T>;
  /** The search indexes of this thread. */
  readonly indexes: SearchIndexes;
  /** Makes vectors of queries with the external model; null without one. */
  readonly queryEmbedder: QueryEmbedder | null;
}

/** What was found, as the workspace's thread gets it: instead of a list of items, it may get only their number. */
type Recorded<Found> = Found extends { items: readonly string[] } ? Omit<Found, "items"> & { items: Items } : Found;

/** Returns an operation that is looked up, with the type of what `look` finds checked against what `run` takes. */
export const operation = <N extends RecordedName, Found>(_name: N, parts: Required<Operation<N, Found>>) => parts;

// biome-ignore lint/suspicious/noExplicitAny: each operation knows what it finds
type Own = any;

/** The operations whose names begin with a word, by name. A missing operation does not compile. */
export type OperationsOf<Word extends string> = {
  [N in Extract<RecordedName, `${Word}.${string}`>]: N extends DirectName
    ? Pick<Operation<N, Own>, "run">
    : Required<Operation<N, Own>>;
};

/** Returns the agent that an operation is about; null when the agent does not exist, or there is none. */
export async function subjectOf(
  reader: Reader,
  { agents, principal }: Pick<Context, "agents" | "principal">,
  input: OperationInputs[OperationName],
) {
  if ("agentId" in input) return agents.find(input.agentId);
  if (!("checkpointId" in input)) return null;
  const checkpoint = await findCheckpoint(reader, input.checkpointId, principal.agents);
  return checkpoint === undefined ? null : agents.findByFirstSeq(checkpoint.agent);
}

/** Adds the agent's id to details if the agent does not exist, since the event is then in the workspace's own chain. */
export function naming(agent: AgentState | null, agentId: string, details: JsonObject): JsonObject {
  return agent === null ? { agent_id: agentId, ...details } : details;
}

/** Returns the outcome of an operation that changed nothing and answers with a problem, whose code its event states. */
export function refused(
  agent: AgentState | null,
  result: AuditResult,
  details: JsonObject,
  problem: Omit<ProblemAnswer, "kind">,
): Outcome<ProblemAnswer> {
  const { code } = problem;
  const said = result === "denied" || result === "conflict" ? { ...details, code } : details;
  return { agent, result, details: said, effect: NO_EFFECT, answer: { kind: "problem", ...problem } };
}

/** The texts for a condition that does not hold. */
interface ConflictWords {
  /** When the thing does not exist. */
  absent: string;
  /** When the thing exists, and the condition requires that it does not. */
  present: string;
  /** When the thing has another version. */
  other: string;
}

/** Returns the outcome of an operation whose condition does not hold. `current`: the present version, null for none. */
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

/**
 * Returns the outcome of an operation that a policy refused. Its event and answer say what was found where, never the
 * text.
 */
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

/**
 * Returns the outcome of an operation that found nothing: in the agent's chain, or the workspace's if there is no
 * agent.
 */
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

/** Returns the outcome of an operation on an agent that does not exist. */
export function noAgent(agent: AgentState | null, agentId: string | null, details: JsonObject = {}) {
  const detail = "The agent does not exist: nothing was written, configured or checkpointed for it.";
  return notFound(agent, agentId, "agent_not_found", detail, details);
}

/** Returns the outcome of a successful operation without an effect, whose answer is a stream or a text. */
export function finished<A extends Answer>(
  agent: AgentState | null,
  details: JsonObject,
  answer: A,
  sealed = false,
): Outcome<A> {
  return { agent, result: "ok", details, effect: NO_EFFECT, answer, sealed };
}

/** Returns the outcome of a successful operation with a JSON body. */
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
  // Member by member, since every operation passes here, and spreading an object is slow.
  const outcome: Outcome<JsonAnswer> = { agent, result, details, effect, answer };
  if (blockedBy !== undefined) outcome.blockedBy = blockedBy;
  return outcome;
}

/** Returns the body of an answer that has only the id of the event; null when nothing was recorded. */
export const done = ({ auditId }: { auditId: string | null }): string => JSON.stringify({ audit_id: auditId });

/** Returns the answer of an operation that found nothing to change. @param body JSON */
export const unchanged = (body = done({ auditId: null })): Unrecorded => ({
  unrecorded: { kind: "json", status: 200, body },
});

/**
 * Returns the outcome of a successful operation whose event states rows of the workspace (row-effects.ts), with a JSON
 * body.
 * @param contents of the rows of which the details state a digest
 * @throws when the details do not have the operation's form
 */
export function changedRows(
  operation: RowsOperation,
  { seq, timestamp, workspaceId }: Pick<Context, "seq" | "timestamp" | "workspaceId">,
  details: JsonObject,
  body: LongText,
  { contents = {}, status }: { contents?: BoundContents; status?: number } = {},
): Outcome<JsonAnswer> {
  const stated = recordedEffect({ operation, result: "ok" }, details);
  const changes = rowChanges({ operation, seq, timestamp, workspace_id: workspaceId }, details);
  if (changes === null || stated.kind !== "rows") throw new Error(`the details of ${operation} do not have its form`);
  return answered(null, details, body, {
    effect: { ...stated, changes, contents },
    ...(status !== undefined && { status }),
  });
}

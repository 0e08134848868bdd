/** Finds every operation by its name: the one place that connects the features with the threads that run them. */

import { matchesNone } from "../../api/entity-tag.ts";
import type { CompositeJob } from "../../core/writer/composite.ts";
import {
  type Answer,
  hasRow,
  isPerson,
  type OperationRequest,
  type Principal,
  type Via,
  type Withheld,
} from "../../core/writer/contract.ts";
import type { Job } from "../../core/writer/job.ts";
import type {
  Composite,
  Inspection,
  Look,
  LookContext,
  Lookup,
  Operation,
  OperationsOf,
  Outcome,
  Run,
  Unrecorded,
} from "../../core/writer/operation.ts";
import type { WorkspaceWriter } from "../../core/writer/perform.ts";
import { sweepWorkspace } from "../../core/writer/sweep.ts";
import type { JsonObject, JsonValue } from "../../json.ts";
import { withoutRecall } from "../../log/recall.ts";
import {
  type CompositeName,
  changesSomething,
  type EventName,
  type InspectionName,
  isComposite,
  isInspection,
  isLookup,
  isSuspendable,
  type LookupName,
  leavesNoTrace,
  type OperationName,
  whatGrows,
} from "../../operations.ts";
import { accountOperations } from "../../ops/accounts/operations.ts";
import { agentOperations, refusingSuspended } from "../../ops/agents/operations.ts";
import { lineageOperations } from "../../ops/audit/lineage.ts";
import { auditOperations } from "../../ops/audit/operations.ts";
import { showConsistency, showKey, showSeal } from "../../ops/audit/proofs.ts";
import { computeState } from "../../ops/audit/state/compute.ts";
import { stateOperations } from "../../ops/audit/state/prove.ts";
import { checkpointOperations } from "../../ops/checkpoints/operations.ts";
import { keepSchedule } from "../../ops/checkpoints/schedule.ts";
import { configOperations } from "../../ops/config/operations.ts";
import { batchData } from "../../ops/data/batch.ts";
import { dataOperations } from "../../ops/data/operations.ts";
import { hasRoom, type Quota, refusingOverQuota } from "../../ops/data/quota.ts";
import { keyOperations } from "../../ops/keys/operations.ts";
import { showKeyOfDigest, showKeys } from "../../ops/keys/shown.ts";
import { memberOperations } from "../../ops/members/operations.ts";
import { showInvitationOfDigest, showInvitations, showMember, showMembers } from "../../ops/members/shown.ts";
import { policyOperations } from "../../ops/policies/operations.ts";
import { quarantineOperations } from "../../ops/quarantine/operations.ts";
import { sinkOperations } from "../../ops/sinks/operations.ts";
import { showSink, showSinks } from "../../ops/sinks/shown.ts";
import { showEntries, showTile } from "../../ops/tlog/tiles.ts";
import { showWorkload, workloadOperations } from "../../ops/workloads/operations.ts";
import { Problem } from "../../problem.ts";
import { recorded } from "../../screen/decide.ts";
import type { PolicySettings } from "../../screen/policies.ts";
import { DISK_IS_FULL, type DiskSpace } from "../../store/disk-space.ts";
import { after, type Reader } from "../../store/transaction.ts";

/** The function of each recorded operation. */
const OPERATIONS: OperationsOf<string> = {
  ...accountOperations,
  ...agentOperations,
  ...auditOperations,
  ...checkpointOperations,
  ...configOperations,
  ...dataOperations,
  ...keyOperations,
  ...lineageOperations,
  ...memberOperations,
  ...policyOperations,
  ...quarantineOperations,
  ...sinkOperations,
  ...stateOperations,
  ...workloadOperations,
};

/** The function of each composite operation. */
const COMPOSITES: { [C in CompositeName]: Composite<C> } = { "data.batch": batchData };

/** An operation without the types of its input and of what it finds. */
type AnyOperation = Operation<OperationName>;

/** The operations that read a few rows on the workspace's thread, and are not recorded. */
const LOOKUPS: { [N in LookupName]: Lookup<N> } = {
  "key.list": showKeys,
  "key.find": showKeyOfDigest,
  "workload.find": showWorkload,
  "member.find": showMember,
  "member.list": showMembers,
  "invitation.find": showInvitationOfDigest,
  "invitation.list": showInvitations,
};

/** The operations that read on a reader thread, and are not recorded. */
const INSPECTIONS: { [N in InspectionName]: Inspection<N> } = {
  "audit.seal": { look: showSeal },
  "audit.key": { look: showKey },
  "audit.consistency": { look: showConsistency },
  "sink.list": { look: showSinks },
  "sink.read": { look: showSink },
  "state.compute": { look: computeState },
  "tlog.checkpoint": { look: showSeal },
  "tlog.tile": { look: showTile },
  "tlog.entries": { look: showEntries },
};

/** Returns what an operation finds out before it is run, or instead. */
export function lookOf(name: OperationName): Look<OperationName, unknown> {
  const { look } = isInspection(name) ? INSPECTIONS[name] : recordedOperation(name);
  if (look === undefined) throw new Error(`${name} is not looked up`);
  return look as Look<OperationName, unknown>;
}

/** The limits by which operations that make the data grow are refused. Without them, workspaces may grow freely. */
interface Limits {
  quota?: Quota | null;
  space?: DiskSpace;
}

/**
 * Removes expired data of a workspace, and makes the checkpoints that are due unless the workspace may not grow.
 * @param giveWay gives other workspaces of the thread their turn, between two transactions
 */
export async function sweep(
  { connection: reader, writer }: { connection: Reader; writer: WorkspaceWriter },
  { quota = null, space }: Limits,
  giveWay: () => Promise<void>,
  onWarning: (warning: string) => void,
): Promise<void> {
  await sweepWorkspace(reader, writer, giveWay);
  const mayGrow = async () => !space?.isFull && (await hasRoom(reader, quota));
  await keepSchedule(reader, writer, mayGrow, giveWay, onWarning);
}

/**
 * Returns a recorded operation as a job for the workspace's writer.
 * @param found the result of another thread; for a composite operation, one for each part
 */
export function jobOf<N extends OperationName>(request: OperationRequest<N>, found?: JsonValue, limits: Limits = {}) {
  const job = isComposite(request.name)
    ? compositeJobOf(request as OperationRequest<CompositeName>, found, limits)
    : isLookup(request.name)
      ? lookupJobOf(request as OperationRequest<LookupName>)
      : singleJobOf(recordedOperation(request.name), request, found, limits);
  if (hasRow(request.principal)) job.rightOf = request.principal;
  if (request.retry !== undefined) job.retry = request.retry;
  if (request.lookedAt !== undefined && !("parts" in job)) job.lookedAt = request.lookedAt;
  return job as N extends CompositeName ? CompositeJob : Job;
}

/**
 * Returns what performs an operation that looks first, in a process without reader threads: it looks within the
 * transaction. Not for searches and verifications, whose look needs an index of entries or threads.
 */
export function lookingRun<N extends Exclude<EventName & OperationName, CompositeName>>(
  name: N,
  input: OperationRequest<N>["input"],
): Job["run"] {
  return async (reader, context) => {
    const apart: LookContext["apart"] = (read) => read(reader);
    const around = { ...context, apart, indexes: undefined as never, queryEmbedder: null };
    const found = (await lookOf(name)(reader, around, input)) as JsonValue;
    const job = jobOf({ name, input, principal: context.principal } as OperationRequest<N>, found) as Job;
    return await job.run(reader, context);
  };
}

function lookupJobOf({ name, input, principal }: OperationRequest<LookupName>): Job {
  const look: Lookup<never> = LOOKUPS[name];
  const run: Job["run"] = async (tx, context) => ({ unrecorded: await look(tx, context, input as never) });
  return { operation: name as string as EventName, principal, run };
}

function compositeJobOf(request: OperationRequest<CompositeName>, found: JsonValue = [], limits: Limits): CompositeJob {
  const { name, input } = request;
  const { parts, ...shown } = COMPOSITES[name];
  const ofParts = found as JsonValue[];
  const jobs = input.parts.map((part, index) =>
    singleJobOf(parts[part.name] as AnyOperation, { ...request, ...part }, ofParts[index] ?? undefined, limits),
  );
  return { operation: name, parts: jobs, atomic: input.atomic, ...shown };
}

function singleJobOf(
  own: AnyOperation,
  { name, input, principal, via, withheld }: OperationRequest,
  found: JsonValue | undefined,
  { quota, space }: Limits,
): Job {
  let run: Run<OperationName> = own.run;
  if (withheld !== undefined) run = withholding(run, withheld);
  if (quota) run = refusingOverQuota(name, run, quota);
  if (isSuspendable(name) && !mayLook(name, principal)) run = refusingSuspended(run);
  if (space?.isFull && whatGrows(name) !== "nothing") run = refuseFull;
  const job: Job = {
    operation: name as EventName,
    principal,
    run: (tx, context, known) => run(tx, context, input, known ?? found),
  };
  if (via !== undefined) job.via = (policies) => recordedVia(via, policies);
  const under = own.look?.under;
  if (found === undefined && under !== undefined && "agentId" in input && input.agentId !== null) {
    const { agentId } = input;
    job.prepare = (agents, nowMs) => {
      const agent = agents.known(agentId);
      return agent && under(agent.policies, input, nowMs);
    };
  }
  return job;
}

/**
 * Returns what an event records of the origin of a request. A client program names itself and its session, so the event
 * does not have a name if a policy finds something in it.
 */
function recordedVia(via: Via, policies: PolicySettings): JsonObject {
  const said: JsonObject = { ...via };
  for (const name of ["client", "session"] as const) {
    const text = via[name];
    if (text !== undefined && "redacted" in recorded(name, text, policies)) delete said[name];
  }
  return said;
}

/** Whether a suspension does not apply: a signed-in person may read what a suspended agent has stored. */
const mayLook = (name: OperationName, principal: Principal): boolean => isPerson(principal) && !changesSomething(name);

/** Leaves out of the event what the answer would have shown, if it goes out without its content. */
const withholding =
  (run: Run<OperationName>, withheld: Withheld): Run<OperationName> =>
  (...given) =>
    after(run(...given), (outcome: Outcome | Unrecorded) => {
      if ("unrecorded" in outcome || !isWithheld(outcome.answer, withheld)) return outcome;
      return { ...outcome, details: withoutRecall(outcome.details) };
    });

const isWithheld = (answer: Answer, withheld: Withheld): boolean =>
  withheld === "always" ||
  (answer.kind === "json" && answer.etag !== undefined && matchesNone(withheld.ifNoneMatch, answer.etag));

/** Refuses operations that were on their way when the disk became full. */
const refuseFull: Run<OperationName> = () => {
  throw new Problem("unavailable", DISK_IS_FULL);
};

/** @throws when the operation is not recorded */
function recordedOperation(name: OperationName): AnyOperation {
  if (leavesNoTrace(name) || isComposite(name)) throw new Error(`${name} does not run on this thread`);
  return OPERATIONS[name] as AnyOperation;
}

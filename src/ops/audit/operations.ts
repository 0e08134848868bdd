/** Operations that query, count and verify the audit trail on a reader thread, then record what they found. */
import { availableParallelism } from "node:os";
import { itemCount, listBody } from "../../core/lists.ts";
import { readAgent } from "../../core/rows/agents.ts";
import { countActivity, INTERVALS } from "../../core/rows/counts/activity.ts";
import { countScreened } from "../../core/rows/counts/findings.ts";
import { sealingKeys } from "../../core/rows/log/seals.ts";
import { listTrail } from "../../core/rows/log/trail.ts";
import { answered, type LookContext, noAgent, type OperationsOf, operation } from "../../core/writer/operation.ts";
import { TimeSlice } from "../../core/writer/time-slice.ts";
import { FIRST_MOMENT_MS, LAST_MOMENT_MS, showTime } from "../../ids.ts";
import type { JsonObject } from "../../json.ts";
import { parseVerifierKey } from "../../log/note.ts";
import type { OperationInputs } from "../../operations.ts";
import { Problem } from "../../problem.ts";
import type { Reader } from "../../store/transaction.ts";
import { nextTurn } from "../../timer.ts";
import { exportAudit } from "./export.ts";
import { streamAudit } from "./live.ts";
import { giveReceipt, readAuditEvent } from "./proofs.ts";
import { agentIdOf, filterDetails, subjectOf, windowDetails } from "./scope.ts";

const monotonicMs = () => performance.now();

const queryAudit = operation("audit.query", {
  /** Returns a page of events, each as JSON text. `next` is the last one's position if more events follow. */
  async look(reader, _context, input) {
    const slice = new TimeSlice(monotonicMs, nextTurn);
    slice.begin();
    const { events, next } = await listTrail(reader, input, { monotonicMs, pause: () => slice.pause() });
    return { items: events, next };
  },
  async run(_reader, context, input, { items, next }) {
    const { scope, window, page: _page, ...filter } = input;
    const { agent, asked, policies } = await subjectOf(context, scope);
    const details = { ...asked, ...windowDetails(window), ...filterDetails(filter, policies), count: itemCount(items) };
    return answered(agent, details, listBody("audit.query", input, items, next));
  },
});

/** The most problems in an answer. */
const MAX_PROBLEMS = 100;

/** Returns the number of threads for a large log. If there are enough processors, one is left to the service. */
function threadsToSpare(): number {
  const processors = availableParallelism();
  return processors === 1 ? 1 : Math.max(2, processors - 1);
}

/** Whether a verification of this thread uses additional threads, which only one may at a time. */
let isHelped = false;

/**
 * Verifies one agent's chain, or the whole workspace if `agentId` is null. Returns the body of the answer without its
 * time, which the recording operation adds.
 */
async function verifyTrail(reader: Reader, agentId: string | null) {
  const helped = agentId === null && !isHelped;
  const threads = { count: threadsToSpare(), patient: true };
  if (helped) isHelped = true;
  // Imported when first needed, since the verifier is half of what a thread would load at its start.
  const { logCompleteness } = await import("../../verify/completeness.ts");
  const { verifyWorkspaceAndFile } = await import("../../verify/sources.ts");
  const { causesOf } = await import("../../verify/causes.ts");
  const { nameEvents } = await import("../../verify/rows/events-named.ts");
  const { reported, reportedObstacle, reportedRestores } = await import("../../verify/report.ts");
  // The first key that the log names, which seals the later ones.
  const [first] = await sealingKeys(reader);
  try {
    const scope = agentId === null ? ({ scope: "workspace" } as const) : { agentId };
    const { report, obstacle } = await verifyWorkspaceAndFile(reader, scope, {
      // Other queries of the thread run between two pages.
      onProgress: nextTurn,
      ...(first === undefined ? {} : { publicKeys: [parseVerifierKey(first.verifierKey).publicKey] }),
      ...(helped ? { threads } : {}),
    });
    const completeness = obstacle === null ? logCompleteness(report) : ({ is: "unknown" } as const);
    const valid = report.valid && obstacle === null;
    // Damaged pages may contain anything, so problems in them are not reported.
    const causes =
      obstacle === null ? causesOf(report.problems).map(reported) : [reportedObstacle(obstacle.code, obstacle.message)];
    const problems = causes.slice(0, MAX_PROBLEMS);
    await nameEvents(reader, problems);
    return {
      valid,
      completeness: completeness.is,
      complete_through: completeness.is === "complete" ? completeness.through : null,
      events_checked: report.eventsChecked,
      chain_intact: report.chainIntact,
      chain_start: report.chainStart && { ...report.chainStart },
      chain_end: report.chainEnd && { ...report.chainEnd },
      first_invalid: report.firstInvalid && { ...report.firstInvalid },
      restores: reportedRestores(report.restores).map((restore) => ({ ...restore })),
      problem_count: causes.length,
      problems,
    };
  } finally {
    if (helped) isHelped = false;
  }
}

const verifyAudit = operation("audit.verify", {
  /** Returns null when the agent does not exist. */
  async look(reader, _context, { scope }) {
    const agentId = agentIdOf(scope);
    const exists = agentId === null || (await readAgent(reader, agentId)) !== null;
    return exists ? await verifyTrail(reader, agentId) : null;
  },
  async run(_reader, context, { scope }, found) {
    if (found === null) return noAgent(null, agentIdOf(scope));
    const { agent, asked } = await subjectOf(context, scope);
    const { valid, chain_intact, events_checked } = found;
    const body = JSON.stringify({ ...found, verified_at: context.timestamp });
    return answered(agent, { ...asked, valid, chain_intact, events_checked }, body);
  },
});

/** The number of intervals when the request has no start, and the most of one request. */
const DEFAULT_INTERVALS = 24;
const MAX_INTERVALS = 750;

/** Returns the body of the answer: the window widened to whole intervals, and the counts. */
async function queryActivity(
  reader: Reader,
  { nowMs }: LookContext,
  { interval, scope, window, byDetector }: OperationInputs["audit.activity"],
) {
  const ms = INTERVALS[interval];
  const endOf = (untilMs: number) => Math.ceil(untilMs / ms) * ms;
  const asked = endOf(window.endMs ?? nowMs + 1);
  // An end in the last interval of the year 9999 means "for ever".
  const endMs = asked > LAST_MOMENT_MS ? endOf(nowMs + 1) : asked;
  const startMs = Math.max(Math.floor((window.startMs ?? endMs - DEFAULT_INTERVALS * ms) / ms) * ms, FIRST_MOMENT_MS);
  if (endMs - startMs > MAX_INTERVALS * ms || endMs < startMs) {
    throw new Problem(
      "invalid_request",
      `The window must hold 0 to ${MAX_INTERVALS} intervals. Choose a later start_time, an end_time after it, or a longer interval.`,
    );
  }
  const counted = { interval, startMs, endMs };
  const slice = new TimeSlice(monotonicMs, nextTurn);
  slice.begin();
  const counts = byDetector
    ? await countScreened(reader, counted, () => slice.pause())
    : await countActivity(reader, { agentId: agentIdOf(scope), ...counted });
  return {
    interval,
    start_time: showTime(startMs),
    end_time: showTime(endMs),
    data: counts.map(({ startMs: at, ...rest }) => ({ start_time: showTime(at), ...rest }) as JsonObject),
  };
}

const countEvents = operation("audit.activity", {
  look: queryActivity,
  async run(_reader, context, { scope }, found) {
    const { agent, asked } = await subjectOf(context, scope);
    const { interval, start_time, end_time } = found;
    return answered(agent, { ...asked, interval, start_time, end_time }, JSON.stringify(found));
  },
});

export const auditOperations: OperationsOf<"audit"> = {
  "audit.read": { run: readAuditEvent },
  "audit.receipt": { run: giveReceipt },
  "audit.export": exportAudit,
  "audit.stream": { run: streamAudit },
  "audit.query": queryAudit,
  "audit.verify": verifyAudit,
  "audit.activity": countEvents,
};

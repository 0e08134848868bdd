/** What `POST /v1/audit/verify` answers, from the report of the verifier. */
import { availableParallelism } from "node:os";
import type { Reader } from "../../store/transaction.ts";
import type { EventReference } from "../../verify/events/chains.ts";
import type { FirstInvalid } from "../../verify/problems.ts";
import { verifyWorkspace, type WorkspaceReport } from "../../verify/workspace.ts";

/** The answer without the time, which the recording operation adds. */
export interface VerificationAnswer {
  valid: boolean;
  events_checked: number;
  chain_intact: boolean;
  chain_start: EventReference | null;
  chain_end: EventReference | null;
  first_invalid: FirstInvalid | null;
}

/** Other queries of the thread get their turn between two pages. */
const giveWay = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Threads for a large log: one processor is left to the service, where there are enough of them. */
function threadsToSpare(): number {
  const processors = availableParallelism();
  return processors === 1 ? 1 : Math.max(2, processors - 1);
}

/** Whether this thread has a verification under way that others help with: one at a time is enough. */
let isHelped = false;

/** Recomputes everything of one agent's chain, or of the whole workspace (`agentId` null). */
export async function verifyTrail(reader: Reader, agentId: string | null): Promise<VerificationAnswer> {
  if (agentId !== null) return answerOf(await verifyWorkspace(reader, { agentId }, { onProgress: giveWay }));
  const scope = { scope: "workspace" } as const;
  if (isHelped) return answerOf(await verifyWorkspace(reader, scope, { onProgress: giveWay }));
  isHelped = true;
  try {
    const threads = { count: threadsToSpare(), patient: true };
    return answerOf(await verifyWorkspace(reader, scope, { onProgress: giveWay, threads }));
  } finally {
    isHelped = false;
  }
}

function answerOf(report: WorkspaceReport): VerificationAnswer {
  return {
    valid: report.valid,
    events_checked: report.eventsChecked,
    chain_intact: report.chainIntact,
    chain_start: report.chainStart,
    chain_end: report.chainEnd,
    first_invalid: report.firstInvalid,
  };
}

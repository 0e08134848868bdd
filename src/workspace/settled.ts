/** What became of a job, as its caller is told. */
import type { OperationProblem, Recorded } from "./contract.ts";
import type { Answer } from "./operation.ts";

/** What became of a job. `auditId` is null when nothing was recorded. */
export interface Settled extends Recorded {
  answer: Answer;
  auditId: string | null;
}

export const INTERNAL =
  "An unexpected failure; nothing was changed. The log of the server has it by request id.";

export const problem = (code: OperationProblem, detail: string): Settled => ({
  answer: { kind: "problem", code, detail },
  auditId: null,
});

/** The job found nothing to do, and nothing was recorded. */
export const NOTHING_HAPPENED: Settled = { answer: { kind: "json", status: 200, body: "{}" }, auditId: null };

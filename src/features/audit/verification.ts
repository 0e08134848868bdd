/** What `POST /v1/audit/verify` answers, from the report of the verifier. */
import { verifyWorkspace } from "../../evidence/workspace.ts";
import type { EventReference } from "../../log/chains.ts";
import type { FirstInvalid } from "../../log/problems.ts";
import type { Reader } from "../../store/transaction.ts";

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

/** Recomputes everything of one agent's chain, or of the whole workspace (`agentId` null). */
export async function verifyTrail(reader: Reader, agentId: string | null): Promise<VerificationAnswer> {
  const scope = agentId === null ? ({ scope: "workspace" } as const) : { agentId };
  const report = await verifyWorkspace(reader, scope, { onProgress: giveWay });
  return {
    valid: report.valid,
    events_checked: report.eventsChecked,
    chain_intact: report.chainIntact,
    chain_start: report.chainStart,
    chain_end: report.chainEnd,
    first_invalid: report.firstInvalid,
  };
}

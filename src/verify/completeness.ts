/** Whether evidence holds all events of its scope. */
import type { ExportHeader } from "../log/export-format.ts";
import type { VerificationReport } from "./events/contract.ts";
import { isWhole, sealedSize } from "./events/export-window.ts";

/** What is known of events that evidence may omit. */
export type Completeness =
  /** It holds every event of its scope through this seq, under a seal that was checked. */
  | { is: "complete"; through: number }
  /** It holds a part, which is named; every event of that part is under a seal that was checked. */
  | { is: "partial"; part: string }
  /** Events may be missing, at the end or at the beginning. */
  | { is: "unknown"; why: string };

/** The last event under a seal that was checked: with a trusted key, or by comparing it with a given seal. */
export function provedThrough({ seals }: Pick<VerificationReport, "seals">): number | null {
  const { sealedThrough = null, anchoredThrough = null } = seals ?? {};
  if (sealedThrough === null || anchoredThrough === null) return sealedThrough ?? anchoredThrough;
  return Math.max(sealedThrough, anchoredThrough);
}

const unknown = (why: string): Completeness => ({ is: "unknown", why });

export const TAMPERED = unknown("the evidence was changed");
const UNPROVED = unknown("no seal that could be checked says where the log ends");

/** Returns what an export that was read to its end, or as far as it goes, proves. */
export function exportCompleteness(
  header: ExportHeader | null,
  found: VerificationReport,
  undetermined: string | null,
): Completeness {
  if (found.problemCount > 0) return TAMPERED;
  if (undetermined !== null || header === null) return unknown(undetermined ?? "the export cannot be read");
  const through = provedThrough(found);
  const { chainStart: first, chainEnd: last } = found;
  if (through === null || first === null || last === null) return UNPROVED;
  const size = sealedSize(header);
  if (header.agent_id === null) {
    if (isWhole(header)) return { is: "complete", through };
    return { is: "partial", part: `events ${first.seq} to ${last.seq}${size === null ? "" : ` of ${size}`}` };
  }
  const named = `events ${first.agent_seq} to ${last.agent_seq} of the agent`;
  if (!isWhole(header)) return { is: "partial", part: named };
  if (size === last.seq + 1) return { is: "complete", through };
  return unknown(`nothing proves that the agent has no events after event ${last.seq}`);
}

/** Returns what a database, whose log was verified, proves. */
export function logCompleteness(found: VerificationReport & { prunedBefore?: number }): Completeness {
  if (found.problemCount > 0) return TAMPERED;
  const through = provedThrough(found);
  if (through === null) return UNPROVED;
  if (!found.prunedBefore) return { is: "complete", through };
  return { is: "partial", part: `events ${found.prunedBefore} to ${through}; those before were pruned` };
}

/** Determines whether evidence contains all events of its scope. */
import { readBinding } from "../log/export-binding.ts";
import type { ExportHeader } from "../log/export-schema.ts";
import { storedFromPresented } from "../log/present.ts";
import type { VerificationReport } from "./events/contract.ts";
import { isWhole } from "./events/export-claims.ts";
import type { EventReference } from "./events/segment.ts";

/** What is known about events that evidence may omit. */
export type Completeness =
  /** The evidence has all events of its scope up to this seq, under a seal that was checked. */
  | { is: "complete"; through: number }
  /** The evidence has all events of the named part, under a seal that was checked. */
  | { is: "partial"; part: string }
  /** Events may be missing, at the end or at the beginning. */
  | { is: "unknown"; why: string };

/** Returns the last event under a seal that was checked with a given key, or that was given; null for none. */
function provedThrough({ seals }: Pick<VerificationReport, "seals">): number | null {
  const given = [seals?.keyGiven ? seals.sealedThrough : null, seals?.anchoredThrough ?? null];
  const known = given.filter((through) => through !== null);
  return known.length === 0 ? null : Math.max(...known);
}

const unknown = (why: string): Completeness => ({ is: "unknown", why });

export const TAMPERED = unknown("the evidence was changed");
const UNPROVED = unknown("no seal that could be checked says where the log ends");

/** Returns what an export proves that was read to its end, or as far as possible. */
export function exportCompleteness(
  header: ExportHeader | null,
  found: VerificationReport,
  undetermined: string | null,
): Completeness {
  if (found.problemCount > 0) return TAMPERED;
  if (undetermined !== null || header === null) return unknown(undetermined ?? "the export cannot be read");
  const through = provedThrough(found);
  if (through === null) return UNPROVED;
  const { event, said } = readBinding(storedFromPresented(header.binding));
  const pruned = said.pruned_before ?? 0;
  if (isWhole(header) && pruned === 0)
    return { is: "complete", through: header.agent_id === null ? through : event.seq - 1 };
  const [first, last] = [found.chainStart, found.chainEnd];
  const number = ({ seq, agent_seq }: EventReference): number => (header.agent_id === null ? seq : agent_seq);
  const of = header.agent_id === null ? ` of ${event.seq}` : " of the agent";
  const held = first === null || last === null ? "no events" : `events ${number(first)} to ${number(last)}${of}`;
  const window = isWhole(header) ? "" : `, all ${windowText(header)}`;
  const gone = pruned > 0 ? `; events before event ${pruned} were pruned` : "";
  return { is: "partial", part: `${held}${window}${gone}` };
}

function windowText({ start_time: start, end_time: end }: ExportHeader): string {
  if (start === null) return `before ${end}`;
  return end === null ? `from ${start} on` : `from ${start} until ${end}`;
}

/** Returns what a database with a verified log proves. */
export function logCompleteness(found: VerificationReport & { prunedBefore?: number }): Completeness {
  if (found.problemCount > 0) return TAMPERED;
  const through = provedThrough(found);
  if (through === null) return UNPROVED;
  if (!found.prunedBefore) return { is: "complete", through };
  return { is: "partial", part: `events ${found.prunedBefore} to ${through}; those before were pruned` };
}

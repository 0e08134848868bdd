/**
 * A segment of the log that was verified by itself, as plain data. So several threads can verify one log, a segment
 * each, and one verifier joins the segments in order.
 */

import type { AuditEventBody } from "../../log/event.ts";
import { CompactRange } from "../../log/merkle.ts";
import type { DeclaredRestore } from "../../log/restores.ts";
import type { FirstInvalid, ProblemsFound } from "../problems.ts";
import type { Blank, Erasure } from "./details.ts";
import type { NamedKey } from "./epochs.ts";
import type { PlainPremises } from "./premises.ts";

/** A reference to an event by its positions and its hash. */
export interface EventReference {
  seq: number;
  agent_seq: number;
  id: string;
  hash: string;
  timestamp: string;
}

/** One end of a chain: an event and its hash. */
export interface ChainEnd {
  event: AuditEventBody;
  hash: string;
}

/** The state of a chain while it is verified. */
export interface ChainState {
  first: ChainEnd;
  last: ChainEnd;
  events: number;
  intact: boolean;
  firstInvalid: FirstInvalid | null;
}

/** The report on one agent's chain. `agent_id` is null for the workspace's own chain. */
export interface AgentReport {
  agent_id: string | null;
  events: number;
  valid: boolean;
  chain_intact: boolean;
  first_invalid: FirstInvalid | null;
  head: EventReference;
}

/** A run of leaves as plain data. */
export interface PlainRange {
  start: number;
  end: number;
  roots: readonly Uint8Array[];
}

/** The result of a verifier that began at `start`. */
export interface Segment {
  /** The expected seq of its first event, and of the event after it. */
  start: number;
  nextSeq: number;
  workspaceId: string | null;
  first: ChainEnd | null;
  last: ChainEnd | null;
  events: number;
  intact: boolean;
  chains: ChainState[];
  problems: ProblemsFound;
  /** The leaves, if the tree was requested, and the leaves up to each marked tree size. */
  tree: PlainRange | null;
  marks: PlainRange[];
  /** Sealing keys that events name. */
  keys: NamedKey[];
  /** Events without details, and the erasures. */
  blanks: Blank[];
  erasures: Erasure[];
  /** Restores that events declare. */
  restores: DeclaredRestore[];
  /** What the operations of its events need, and leave behind. */
  premises: PlainPremises;
}

/** Returns a run of leaves as plain data. */
export function plainRange(range: CompactRange): PlainRange {
  return { start: range.start, end: range.end, roots: [...range.roots] };
}

/** Returns the tree of all leaves before a segment, and the segment's leaves up to a position. */
export function grown(tree: CompactRange, { start, end, roots }: PlainRange): CompactRange {
  const whole = CompactRange.of(tree.start, tree.end, tree.roots);
  whole.appendRange(CompactRange.of(start, end, roots));
  return whole;
}

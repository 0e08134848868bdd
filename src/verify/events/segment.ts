/**
 * A stretch of the log, verified by itself, as plain data: so that several threads can verify one
 * log, each a stretch, and one verifier puts the stretches together in order.
 */

import type { AuditEventBody } from "../../log/event.ts";
import { CompactRange } from "../../log/merkle.ts";
import type { DeclaredRestore } from "../../log/restores.ts";
import type { FirstInvalid, ProblemsFound } from "../problems.ts";
import type { Blank, Erasure } from "./details.ts";
import type { NamedKey } from "./epochs.ts";

/** An event named by its places and its hash. */
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

/** What is remembered of a chain. */
export interface ChainState {
  first: ChainEnd;
  last: ChainEnd;
  events: number;
  intact: boolean;
  firstInvalid: FirstInvalid | null;
}

/** What is reported of one agent's chain; `agent_id` null is the workspace's own. */
export interface AgentReport {
  agent_id: string | null;
  events: number;
  valid: boolean;
  chain_intact: boolean;
  first_invalid: FirstInvalid | null;
  head: EventReference;
}

/** A run of leaves in a form that crosses threads. */
export interface PlainRange {
  start: number;
  end: number;
  roots: readonly Uint8Array[];
}

/** What a verifier that began at `start` found up to where it stopped. */
export interface Segment {
  /** The expected seq of its first event, and of the next one. */
  start: number;
  nextSeq: number;
  workspaceId: string | null;
  first: ChainEnd | null;
  last: ChainEnd | null;
  events: number;
  intact: boolean;
  chains: ChainState[];
  problems: ProblemsFound;
  /** The leaves, when the tree was asked for, and the same up to each tree size that was marked. */
  tree: PlainRange | null;
  marks: PlainRange[];
  /** Sealing keys that events name. */
  keys: NamedKey[];
  /** Events without details, and the erasures. */
  blanks: Blank[];
  erasures: Erasure[];
  /** Restores that events declare. */
  restores: DeclaredRestore[];
}

/** A run of leaves as plain data. */
export function plainRange(range: CompactRange): PlainRange {
  return { start: range.start, end: range.end, roots: [...range.roots] };
}

/** The tree of all leaves before a stretch and those of the stretch up to some place. */
export function grown(tree: CompactRange, { start, end, roots }: PlainRange): CompactRange {
  const whole = CompactRange.of(tree.start, tree.end, tree.roots);
  whole.appendRange(CompactRange.of(start, end, roots));
  return whole;
}

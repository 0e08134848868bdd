/** What a verifier of events is told, and what it reports. */

import type { Bytes } from "../../log/bytes.ts";
import type { AuditEventBody } from "../../log/event.ts";
import { ZERO_HASH } from "../../log/hash.ts";
import type { VerifierKey } from "../../log/note.ts";
import type { DeclaredRestore } from "../../log/restores.ts";
import type { ProblemCode } from "../codes.ts";
import type { Finding, FirstInvalid, Problem } from "../problems.ts";
import type { BlankCounts } from "./details.ts";
import type { ExplainedSeal } from "./epochs.ts";
import type { Accepted } from "./fast/known-chains.ts";
import type { OnTile } from "./leaf-run.ts";
import type { AgentReport, ChainEnd, EventReference } from "./segment.ts";
import type { Witnessing } from "./witnesses.ts";

/** What there is to judge seals by. Keys are 32 raw bytes. */
export interface SealAuditOptions {
  /** The keys that the auditor trusts; without any, the key that the genesis names is trusted. */
  trusted: readonly Uint8Array[];
  /** Keys that came with the evidence. They count only where the log itself names them. */
  offered: readonly Uint8Array[];
  /** The witnesses whose cosignatures count. */
  witnesses?: readonly VerifierKey[];
}

/** What the seals establish; the numbers are seqs, null when nothing is covered. */
export interface SealReport {
  /** The last event under a good seal by a trusted key. */
  sealedThrough: number | null;
  /** The last event under a seal that the auditor brought. */
  anchoredThrough: number | null;
  /** Whether the auditor brought a key. Without one, a seal only shows that the log fits the key that it names itself. */
  keyGiven: boolean;
  /** Seals compared with the log. */
  checked: number;
  /** Those of them whose signature could not be checked, since the key is not at hand. */
  unverified: number;
  /** What was asked for and cannot be established, in words. */
  undetermined: string[];
  /** Those of the given witnesses that have cosigned a seal here; null when none was given. */
  witnesses: Witnessing[] | null;
  /** Seals that the auditor brought and that a restore names as lost. */
  explained: ExplainedSeal[];
}

/** What the events that will be fed are. */
export interface VerifierOptions {
  /** `workspace`: every event, so that seq has no gaps. `agent`: the chain of one agent. */
  scope: "workspace" | "agent";
  /**
   * Where the first event stands. A window of time begins anywhere. A segment of the whole log, which is joined with
   * others, begins at a known seq.
   */
  start: "beginning" | "anywhere" | { seq: number };
  /** Given to check seals; the tree is computed only then. */
  seals?: SealAuditOptions;
  /** In a segment: the sizes of seals that cover part of it, ascending. */
  marks?: readonly number[];
  /** Called with every well-formed event, and its details unless they are erased or not genuine. */
  onEvent?: (event: AuditEventBody, details: string | null) => void;
  /** Called instead of `onEvent` for events that the fast path accepted, with the text that they are in. */
  onAccepted?: (accepted: Accepted, text: Bytes) => void;
  /** Called with every full tile of the tree. */
  onTile?: OnTile;
}

/** What a verification found. */
export interface VerificationReport extends BlankCounts {
  workspaceId: string | null;
  eventsChecked: number;
  /** Every link and number follows. */
  chainIntact: boolean;
  /** {@link chainIntact}, and every hash, commitment and stored thing agrees. */
  valid: boolean;
  chainStart: EventReference | null;
  chainEnd: EventReference | null;
  firstInvalid: FirstInvalid | null;
  /** In order of first appearance; `agent_id` null is the workspace's own chain. */
  agents: AgentReport[];
  /** What the seals establish; null when they were not asked for. */
  seals: SealReport | null;
  /** Where the log was put back from a backup, as it says itself; each begins an epoch. */
  restores: readonly DeclaredRestore[];
  /** At most MAX_REPORTED_PROBLEMS; `problemCount` counts all. */
  problems: Problem[];
  problemCount: number;
}

/** What the evidence says about itself; compared at the end, since a file may say it last. */
export interface Expectations {
  workspaceId?: string;
  /** The agent whose chain this is; `null` says that it is the whole workspace. */
  agentId?: string | null;
  /** The event before the first one of an agent's chain; `null` says that there is none. */
  startsAfter?: { agent_seq: number; hash: string } | null;
  /** Whether events after the last one are left out, and erasures with them. */
  endsEarly?: boolean;
  /** How many events there are, each time that it is stated. */
  eventCounts?: readonly number[];
  /** The hash of the last event; null when there are none. */
  head?: string | null;
}

/** Which expectations the events do not meet. */
export function unmet(
  { workspaceId, agentId, startsAfter, eventCounts, head }: Expectations,
  { first, last, events }: { first: ChainEnd | null; last: ChainEnd | null; events: number },
): Finding[] {
  const found: Finding[] = [];
  const add = (code: ProblemCode, message: string): void => void found.push({ code, message });
  if (first !== null) {
    const { event } = first;
    if (workspaceId !== undefined && event.workspace_id !== workspaceId) {
      add("wrong_workspace", "the events belong to another workspace than is stated");
    }
    if (agentId != null && event.agent_id !== agentId) {
      add("wrong_agent", "the events belong to another agent than is stated");
    }
    const before = startsAfter ?? { agent_seq: 0, hash: ZERO_HASH };
    const follows = event.agent_seq === before.agent_seq + 1 && event.previous_hash === before.hash;
    if (startsAfter !== undefined && !follows) {
      add("export_window", "the first event does not follow the one that is stated to stand before it");
    }
  }
  const wrongCount = eventCounts?.find((count) => count !== events);
  if (wrongCount !== undefined) add("export_count", `${events} events where ${wrongCount} are stated`);
  if (head !== undefined && head !== (last?.hash ?? null)) {
    add("head_mismatch", "the last event is not the one that is stated to be the last");
  }
  return found;
}

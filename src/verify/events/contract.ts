/** The options and the report of a verifier of events. */

import type { JsonObject } from "../../json.ts";
import type { AuditEventBody } from "../../log/event.ts";
import type { VerifierKey } from "../../log/note.ts";
import type { DeclaredRestore } from "../../log/restores.ts";
import type { Seal } from "../../log/seal.ts";
import type { ProblemCode } from "../codes.ts";
import type { Finding, FirstInvalid, Problem } from "../problems.ts";
import type { BlankCounts } from "./details.ts";
import type { ExplainedSeal } from "./epochs.ts";
import type { OnTile } from "./leaf-run.ts";
import type { AgentReport, ChainEnd, EventReference } from "./segment.ts";
import type { Witnessing } from "./witnesses.ts";

/** The keys for checking seals, 32 raw bytes each. */
export interface SealAuditOptions {
  /** The keys that the auditor trusts. Without any, the key that the genesis names is trusted. */
  trusted: readonly Uint8Array[];
  /** Keys that came with the evidence. A key counts only if the log itself names it. */
  offered: readonly Uint8Array[];
  /** The witnesses whose cosignatures count. */
  witnesses?: readonly VerifierKey[];
}

/** What the seals establish. */
export interface SealReport {
  /** The seq of the last event under a good seal by a trusted key; null for none. */
  sealedThrough: number | null;
  /** The seq of the last event under a seal of the auditor; null for none. */
  anchoredThrough: number | null;
  /**
   * Whether the auditor gave a key. Without one, a seal only shows that the log matches the key that it names itself.
   */
  keyGiven: boolean;
  /** The number of seals that were compared with the log. */
  checked: number;
  /** The number of these whose signature could not be checked because the key is not available. */
  unverified: number;
  /** The requested checks whose results cannot be established, as messages. */
  undetermined: string[];
  /** The given witnesses that have cosigned a seal; null when no witnesses were given. */
  witnesses: Witnessing[] | null;
  /** The newest seals with time stamps, which are not checked yet (timestamps.ts). */
  stamped: Seal[];
  /** The auditor's seals that a restore names as lost. */
  explained: ExplainedSeal[];
}

/** The events that will be fed, and callbacks for them. */
export interface VerifierOptions {
  /** `workspace`: every event, so that seq has no gaps. `agent`: the chain of one agent. */
  scope: "workspace" | "agent";
  /**
   * The position of the first event. A window of time begins anywhere. A segment of the whole log, which is joined with
   * others, begins at a known seq.
   */
  start: "beginning" | "anywhere" | { seq: number };
  /** The greatest vocabulary that the evidence says was announced. */
  vocabulary?: number;
  /** The event that announces a greater vocabulary than this program knows, if it is in a chain that is not fed. */
  raisedAt?: number;
  /** Set to check seals. Only then is the tree computed. */
  seals?: SealAuditOptions;
  /** For a segment: the sizes of seals that end in it, ascending. */
  marks?: readonly number[];
  /**
   * Called with every well-formed event, its details unless they are erased or not genuine, and whether its vocabulary
   * is known.
   */
  onEvent?: (event: AuditEventBody, details: JsonObject | null, isKnown: boolean) => void;
  /** Called with every full tile of the tree. */
  onTile?: OnTile;
}

/** The result of a verification. */
export interface VerificationReport extends BlankCounts {
  workspaceId: string | null;
  eventsChecked: number;
  /** Whether all links and numbers are right. */
  chainIntact: boolean;
  /** Whether there is no problem: {@link chainIntact}, and all hashes, commitments and stored rows agree. */
  valid: boolean;
  chainStart: EventReference | null;
  chainEnd: EventReference | null;
  firstInvalid: FirstInvalid | null;
  /** In order of first appearance; `agent_id` null is the workspace's own chain. */
  agents: AgentReport[];
  /** What the seals establish; null when checking them was not requested. */
  seals: SealReport | null;
  /** The first event that is, or may be, under a greater vocabulary than this program knows; null for none. */
  newerFrom: number | null;
  /** The restores from backups that the log declares. Each begins an epoch. */
  restores: readonly DeclaredRestore[];
  /** At most MAX_REPORTED_PROBLEMS; `problemCount` counts all. */
  problems: Problem[];
  problemCount: number;
}

/** The claims of the evidence about itself. They are compared at the end, since a file may state them last. */
export interface Expectations {
  workspaceId?: string;
  /** The agent whose chain this is; `null` states that it is the whole workspace. */
  agentId?: string | null;
  /** Whether events after the last one, and so erasures, are left out. */
  endsEarly?: boolean;
  /** The number of events, once for each statement of it. */
  eventCounts?: readonly number[];
  /** The hash of the last event; null when there are none. */
  head?: string | null;
}

/** Returns the claims that the events contradict. */
export function unmet(
  { workspaceId, agentId, eventCounts, head }: Expectations,
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
  }
  const wrongCount = eventCounts?.find((count) => count !== events);
  if (wrongCount !== undefined) add("export_count", `${events} events where ${wrongCount} are stated`);
  if (head !== undefined && head !== (last?.hash ?? null)) {
    add("head_mismatch", "the last event is not the one that is stated to be the last");
  }
  return found;
}

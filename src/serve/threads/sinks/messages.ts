/** Messages between the main thread and the thread that delivers to sinks. */

import type { SinkState } from "../../../follow/sinks/delivery.ts";
import type { SinkPlaces } from "../../../sink.ts";
import type { FromThread } from "../messages.ts";

/** The workspaces whose sinks are delivered to, and where to they may be. */
export interface SinkPlan {
  workspaceIds: readonly string[];
  places: SinkPlaces;
}

/** The state of a sink, as the thread reports it. */
export interface ReportedSink extends SinkState {
  workspaceId: string;
  isDisabled: boolean;
}

export type ToSinks =
  /** Replaces the previous plan. Deliveries to sinks that did not change continue. */
  | { kind: "plan"; plan: SinkPlan }
  /** The sinks of a workspace may have changed. */
  | { kind: "look"; workspaceId: string }
  /** Closes the connections to a workspace, and does not read it for a while. */
  | { kind: "forget"; workspaceId: string }
  | { kind: "close" };

export type FromSinks =
  | FromThread
  | { kind: "states"; states: readonly ReportedSink[] }
  /** These sinks are not delivered to any more: they were removed, or another node delivers to them. */
  | { kind: "ended"; sinkIds: readonly string[] }
  /** The receiver wants no more deliveries. */
  | { kind: "gone"; workspaceId: string; sinkId: string };

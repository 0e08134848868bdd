/** Messages between the main thread and the thread that delivers to sinks. */

import type { SinkConfig } from "../../../follow/sinks/config.ts";
import type { SinkState } from "../../../follow/sinks/delivery.ts";
import type { SinkPlaces } from "../../../sink.ts";
import type { FromThread } from "../messages.ts";

/** A sink and its position. */
export interface SinkRun {
  config: SinkConfig;
  /** Used only by a thread that does not deliver to the sink yet. */
  state: SinkState;
}

/** A sink to which nothing is delivered, since it is disabled or its secrets cannot be read. */
export interface IdleSink extends Pick<SinkConfig, "id" | "workspaceId" | "start"> {
  position: number | null;
}

/** All sinks to deliver to, and those of which only the backlog is measured. */
export interface SinkPlan {
  sinks: readonly SinkRun[];
  idle: readonly IdleSink[];
  places: SinkPlaces;
}

export type ToSinks =
  /** Replaces the previous plan. Deliveries to sinks that did not change continue. */
  | { kind: "plan"; plan: SinkPlan }
  /** Sends a record that shows whether the sink works. */
  | { kind: "test"; id: number; config: SinkConfig; places: SinkPlaces }
  /** Closes the connections to a workspace, and does not read it for a while. */
  | { kind: "forget"; workspaceId: string }
  | { kind: "close" };

export type FromSinks =
  | FromThread
  | { kind: "states"; states: readonly SinkState[] }
  /** The number of events behind an idle sink; null when its workspace cannot be read. */
  | { kind: "lag"; sinkId: string; lag: number | null }
  /** The receiver wants no more deliveries. */
  | { kind: "gone"; sinkId: string }
  /** `error`: why the test was not delivered; null when it was. */
  | { kind: "tested"; id: number; error: string | null };

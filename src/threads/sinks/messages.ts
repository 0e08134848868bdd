/** What the main thread and the thread that delivers to sinks say to each other. */
import type { SinkPlaces } from "../../sink.ts";
import type { SinkConfig } from "../../sinks/config.ts";
import type { SinkState } from "../../sinks/delivery.ts";
import type { FromThread } from "../messages.ts";

/** A sink, and how far it had come. */
export interface SinkRun {
  config: SinkConfig;
  /** For a thread that does not know the sink yet. */
  state: SinkState;
}

/** All that is delivered. */
export interface SinkPlan {
  sinks: readonly SinkRun[];
  places: SinkPlaces;
}

export type ToSinks =
  /** Replaces what was delivered before. Sinks that are the same go on. */
  | { kind: "plan"; plan: SinkPlan }
  /** Sends a record that shows whether the sink works. */
  | { kind: "test"; id: number; config: SinkConfig; places: SinkPlaces }
  /** Closes what is open of a workspace, and leaves it alone for a while. */
  | { kind: "forget"; workspaceId: string }
  | { kind: "close" };

export type FromSinks =
  | FromThread
  | { kind: "states"; states: readonly SinkState[] }
  /** The receiver wants no more deliveries. */
  | { kind: "gone"; sinkId: string }
  /** `error`: why the test was not delivered; null when it was. */
  | { kind: "tested"; id: number; error: string | null };

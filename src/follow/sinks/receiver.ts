/** The interface of receivers. */
import type { Clock } from "../../ids.ts";
import type { AllowedPlaces } from "./allowed.ts";
import type { Message } from "./batch.ts";

/** Delivers messages, one after another. */
export interface Receiver extends Disposable {
  /**
   * Delivers a message. Returns what the receiver has rejected for good, or null.
   * @throws {SinkFailed} when the message must be sent again
   */
  send(message: Message, signal: AbortSignal): Promise<string | null>;
  /** The connection of a receiver that does not acknowledge messages. */
  readonly connection?: ReceiverConnection;
}

/** A connection to a receiver that does not acknowledge messages. What it accepted may be lost when it ends. */
export interface ReceiverConnection {
  /** How many events are sent again over each new connection. */
  readonly repeats: number;
  /** False when the next message will open a new connection. */
  readonly isOpen: boolean;
  /** Whether the connection has been open for so long that the receiver counts as working. */
  readonly isProved: boolean;
  /** Reports, once for each connection, whether it ended soon after it had accepted something. */
  takeLoss(): boolean;
}

export interface ReceiverDeps {
  allowed: AllowedPlaces;
  /** The setting `sink_directory`. */
  directory: string | null;
  clock: Clock;
}

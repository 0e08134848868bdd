/** What every receiver does, and what it needs. */
import type { Clock } from "../ids.ts";
import type { AllowedPlaces } from "./allowed.ts";
import type { Message } from "./batch.ts";

/** Takes messages, one after another. */
export interface Receiver extends Disposable {
  /**
   * Delivers a message. Returns what the receiver did not accept of it and never will, or null.
   * @throws {SinkFailed} when it must be sent again
   */
  send(message: Message, signal: AbortSignal): Promise<string | null>;
  /** Of a receiver that acknowledges nothing. */
  readonly connection?: ReceiverConnection;
}

/** A connection to a receiver that acknowledges nothing: what it took may be lost when it ends. */
export interface ReceiverConnection {
  /** How many events are sent again over each new connection. */
  readonly repeats: number;
  /** Without an open connection, the next message opens a new one. */
  readonly isOpen: boolean;
  /** It has been open for a while, so the receiver takes what is sent. */
  readonly isProved: boolean;
  /** Reports, once for each, whether a connection ended soon after it had taken something. */
  takeLoss(): boolean;
}

/** What receivers need. */
export interface ReceiverDeps {
  allowed: AllowedPlaces;
  /** The setting `sink_directory`. */
  directory: string | null;
  clock: Clock;
}

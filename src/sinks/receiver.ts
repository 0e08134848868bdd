/** What every receiver does, and what it needs. */
import type { Clock } from "../ids.ts";
import type { AllowedPlaces } from "./allowed.ts";
import type { Message } from "./batch.ts";

/** Takes messages, one after another. */
export interface Receiver extends Disposable {
  /**
   * Delivers a message. Returns what the receiver did not accept of it and never will, or null.
   * @throws {SinkFailed} when it is to be sent again
   */
  send(message: Message, signal: AbortSignal): Promise<string | null>;
}

/** What receivers need. */
export interface ReceiverDeps {
  allowed: AllowedPlaces;
  clock: Clock;
}

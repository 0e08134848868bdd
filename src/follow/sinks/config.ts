/** The configuration of a sink for the thread that delivers. Plain data, since it crosses a thread boundary. */
import { LONGEST_RETRY_MS } from "../../follower.ts";
import type { SinkCredentials, SinkSettings, SinkStart, SinkType } from "../../sink.ts";
import type { SigningKey } from "./signature.ts";

/** The secrets of a sink. */
export interface SinkSecrets extends SinkCredentials {
  /** The keys that sign webhooks, the newest first; empty for other types. */
  signing: readonly SigningKey[];
}

/** A sink with its settings and secrets. */
export interface SinkConfig extends Omit<SinkSettings, "enabled">, SinkSecrets {
  id: string;
  workspaceId: string;
  type: SinkType;
  start: SinkStart;
  /** The position of the event that made the sink. */
  createdSeq: number;
}

/** A delivery failed. The message says why, without any secret. */
export class SinkFailed extends Error {
  override readonly name = "SinkFailed";
  /** How long to wait at the least before the next attempt, ms. */
  readonly retryAfterMs: number | null;

  constructor(
    message: string,
    /** How long the receiver asks to wait, ms; null when it does not ask. */
    asksForMs: number | null = null,
    /** Whether the receiver wants no more deliveries. */
    readonly isGone = false,
  ) {
    super(message);
    this.retryAfterMs = isGone ? LONGEST_RETRY_MS : asksForMs;
  }
}

/** What the thread that delivers is told of a sink. Plain data, since it crosses a thread boundary. */
import type { SinkCredentials, SinkSettings, SinkStart, SinkType } from "../sink.ts";
import type { SigningKey } from "./signature.ts";

/** The secrets of a sink. */
export interface SinkSecrets extends SinkCredentials {
  /** The keys that sign webhooks, the newest first; empty for other types. */
  signing: readonly SigningKey[];
}

/** A sink as it is delivered to. */
export interface SinkConfig extends Omit<SinkSettings, "enabled">, SinkSecrets {
  id: string;
  workspaceId: string;
  type: SinkType;
  start: SinkStart;
}

/** What the receiver refused or why it could not be reached. The message holds no secret. */
export class SinkFailed extends Error {
  override readonly name = "SinkFailed";

  constructor(
    message: string,
    /** How long the receiver asks to wait, ms; null when it does not say. */
    readonly retryAfterMs: number | null = null,
    /** The receiver wants no more deliveries. */
    readonly isGone = false,
  ) {
    super(message);
  }
}

/** Where seals go besides their file: a place that whoever has this machine cannot rewrite. */

/** A seal on its way. */
export interface AnchoredSeal {
  workspaceId: string;
  /** Events that it covers. */
  size: number;
  /** The signed note. */
  note: string;
}

export type AnchorKind = "command" | "webhook" | "witness";

/** One place. */
export interface AnchorSink {
  readonly kind: AnchorKind;
  /** What a workspace's users may know it by: a host, a witness's name; null for a program. */
  readonly place: string | null;
  /** For the log and the metrics; never a secret, such as the path or query of an address. */
  readonly name: string;
  /** Delivers a seal. @throws {AnchorFailed} when that did not work; it is tried again */
  deliver(seal: AnchoredSeal, signal: AbortSignal): Promise<void>;
}

/** Why a delivery failed, in words for the operator's log. */
export class AnchorFailed extends Error {
  override readonly name = "AnchorFailed";
}

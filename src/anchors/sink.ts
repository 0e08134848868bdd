/** Where seals go besides their file: a place that whoever has this machine cannot rewrite. */

/** A seal on its way. */
export interface AnchoredSeal {
  workspaceId: string;
  /** Events that it covers. */
  size: number;
  /** The signed note. */
  note: string;
}

/** One place. */
export interface AnchorSink {
  /** For the log and the metrics; never a secret, such as the path or query of an address. */
  readonly name: string;
  /** Delivers a seal. @throws {AnchorFailed} when that did not work; it is tried again */
  deliver(seal: AnchoredSeal, signal: AbortSignal): Promise<void>;
}

/** Why a delivery failed, in words for the operator's log. */
export class AnchorFailed extends Error {
  override readonly name = "AnchorFailed";
}

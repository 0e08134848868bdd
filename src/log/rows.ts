/** What the verifier is fed: events as they are stored. */

/** An event as it is stored, or as an export shows it. */
export interface StoredEvent {
  /** The canonical bytes, or their text. */
  canonical: string | Uint8Array;
  /** JCS text of the details; null once erased. */
  details: string | null;
  /** The 16-byte salt, or its hex; null once erased. */
  salt: string | Uint8Array | null;
  /** The hash that is stored beside the event, when one is. */
  hash?: string | Uint8Array | null;
  /** The row's own number, where it is stored and not derived from the canonical bytes. */
  seq?: number;
}

/** The canonical text of an event. It is ASCII, so any other byte shows up as a character out of form. */
export function canonicalText({ canonical }: StoredEvent): string {
  if (typeof canonical === "string") return canonical;
  return Buffer.from(canonical.buffer, canonical.byteOffset, canonical.byteLength).toString("latin1");
}

/** Lower-case hex of bytes, or what is hex already. */
export function hexOf(value: string | Uint8Array): string {
  return typeof value === "string" ? value : Buffer.from(value).toString("hex");
}

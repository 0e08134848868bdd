/** Events as they are stored. */

import type { AuditEventBody } from "./event.ts";

/** An event as stored or exported. */
export interface StoredEvent {
  /** What the canonical bytes say, if that is known. */
  body?: AuditEventBody | undefined;
  /** The canonical bytes, or their text. */
  canonical: string | Uint8Array;
  /** JCS text of the details; null once erased. */
  details: string | null;
  /** The 16-byte salt, or its hex; null once erased. */
  salt: string | Uint8Array | null;
  /** The hash stored beside the event, if there is one. */
  hash?: string | Uint8Array | null;
  /** The number of the row, if it is stored and not derived from the canonical bytes. */
  seq?: number;
}

/** Returns the canonical text of an event. Any byte that is not ASCII becomes a character that the format refuses. */
export function canonicalText({ canonical }: StoredEvent): string {
  if (typeof canonical === "string") return canonical;
  return Buffer.from(canonical.buffer, canonical.byteOffset, canonical.byteLength).toString("latin1");
}

/** Returns the lower-case hex of bytes, or text unchanged. */
export const hexOf = (value: string | Uint8Array): string =>
  typeof value === "string" ? value : Buffer.from(value).toString("hex");

/** What the verifier is fed: events as they are stored, and the stored things that events wrote. */

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

/** A data entry as stored: `metadata` is JSON text, `seq` the event that wrote it. */
export interface StoredEntry {
  kind: "entry";
  seq: number;
  agentId: string;
  key: string;
  metadata: string;
  value: string;
}

/** A config version as stored: `config` is JSON text, `seq` the event that made it. */
export interface StoredConfig {
  kind: "config";
  seq: number;
  agentId: string;
  version: string;
  config: string;
}

/** A checkpoint as stored: `metadata` is JSON text, `seq` the event that made it. */
export interface StoredCheckpoint {
  kind: "checkpoint";
  seq: number;
  agentId: string;
  checkpointId: string;
  asOfSeq: number;
  entryCount: number;
  label: string | null;
  metadata: string;
}

/** Something stored that an event must account for. */
export type StoredContent = StoredEntry | StoredConfig | StoredCheckpoint;

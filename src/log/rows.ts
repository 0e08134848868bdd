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

/** A version of a data entry as stored. */
export interface StoredEntry {
  kind: "entry";
  /** The event that wrote it. */
  seq: number;
  agentId: string | null;
  key: string;
  /** JSON text of an object. */
  metadata: string;
  /** JSON text of a string. */
  value: string;
  /** The time that is stored beside it, ms since the epoch. */
  updatedAt?: number;
  /** Whether it is the present content of its key. */
  live?: boolean;
}

/**
 * Another event that a stored version of an entry names: the one that first wrote its key, the one
 * that brought it back, the one that ended it.
 */
export interface StoredEntryMoment {
  kind: "entry_created" | "entry_restored" | "entry_ended";
  seq: number;
  agentId: string | null;
  key: string;
  /** The time that is stored beside it, ms since the epoch. */
  at?: number;
  /** The events of the same version that must stand before and after this one. */
  after?: number;
  before?: number;
}

/** A config version as stored; `seq` is the event that made it. */
export interface StoredConfig {
  kind: "config";
  seq: number;
  agentId: string | null;
  /** `v1`, `v2` … */
  version: string;
  /** JSON text of the config. */
  config: string;
  /** The version whose content this is, after a rollback or a restore. */
  rolledBackFrom?: string | null;
}

/** A checkpoint as stored; `seq` is the event that made it. */
export interface StoredCheckpoint {
  kind: "checkpoint";
  seq: number;
  agentId: string | null;
  checkpointId: string;
  asOfSeq: number;
  entryCount: number;
  configVersion?: string | null;
  label: string | null;
  /** JSON text of an object. */
  metadata: string;
}

/** Something stored that an event must account for. */
export type StoredContent = StoredEntry | StoredEntryMoment | StoredConfig | StoredCheckpoint;

/** The head of one chain as stored beside the log; `agentId` null is the workspace's own. */
export interface StoredHead {
  agentId: string | null;
  firstSeq: number;
  agentSeq: number;
  hash: string;
  /** How many live entries the agent is said to have. */
  liveEntries?: number;
}

/** One row of entry versions, and the seqs that it names. */
export interface EntryVersion {
  agentId: string | null;
  key: string;
  metadata: string;
  value: string;
  writtenSeq: number;
  createdSeq: number;
  liveFrom: number;
  liveTo: number | null;
  createdAt: number;
  updatedAt: number;
}

/** All that a row of entry versions claims, each to be checked at its own seq. Not sorted. */
export function entryClaims(row: EntryVersion): StoredContent[] {
  const { agentId, key, metadata, value, writtenSeq, createdSeq, liveFrom, liveTo } = row;
  const claims: StoredContent[] = [
    {
      kind: "entry",
      seq: writtenSeq,
      agentId,
      key,
      metadata,
      value,
      updatedAt: row.updatedAt,
      live: liveTo === null,
    },
    { kind: "entry_created", seq: createdSeq, agentId, key, at: row.createdAt, before: writtenSeq },
  ];
  if (liveFrom !== writtenSeq) {
    claims.push({ kind: "entry_restored", seq: liveFrom, agentId, key, after: writtenSeq });
  }
  if (liveTo !== null) claims.push({ kind: "entry_ended", seq: liveTo, agentId, key, after: liveFrom });
  return claims;
}

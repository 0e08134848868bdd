/**
 * Effects: how an operation changes the stored rows, as a value. The store applies an effect with its contents
 * (core/rows/apply.ts). This file reads an effect from a recorded event and its details: the verifier derives from it
 * which rows must be stored, and the search indexes derive what changed.
 */
import { momentOf } from "../details.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import type { EffectKind } from "../operation-facts.ts";
import { eventFacts } from "../operations.ts";
import type { AuditEventBody, AuditResult } from "./event.ts";

/** A version that was erased alone. */
export interface ErasedVersion {
  /** The position of its write, whose details are erased. */
  seq: number;
  /** The position of another event whose details name its key; null for none. */
  keyOf: number | null;
  /** When it would have ended by itself, ms; null for never. */
  expiresAtMs: number | null;
}

/**
 * What the details of an event state of each kind of effect: digests, never contents. `operations.ts` has the kind of
 * each operation.
 */
export interface EffectFacts {
  /**
   * A key gets new content. `digest`: the salted digest of JCS({key, metadata, value}), hex. `expiresAtMs`: when the entry
   * ends by itself; null for never.
   */
  put: { key: string; digest: string; expiresAtMs: number | null };
  /** A key's live entry ends. */
  end: { key: string };
  /** The live entries whose keys begin with a prefix end, except expired ones. */
  end_prefix: { prefix: string; count: number };
  /**
   * Expired versions of entries are removed, also from checkpoints, and the history before a position: `through`. Where no
   * history is dropped, that is the position that the event before it states, or 0.
   */
  expire: { count: number; through: number };
  /**
   * Versions of entries and details of events are removed for good. The event does not name the keys. `erased`: the
   * positions of these events, ascending. `version`: set when one version was erased, and the others of its key stay.
   */
  erase: {
    entries: number;
    versions: number;
    events: number;
    erased: readonly SeqRange[];
    version: ErasedVersion | null;
  };
  /** A config version takes effect. `digest`: the salted digest of JCS(config), hex. */
  add_config: ConfigFacts;
  add_checkpoint: { id: string; asOfSeq: number; entryCount: number; label: string | null; metadata: JsonObject };
  remove_checkpoint: { id: string };
  /** A checkpoint's entries come back, after a safety checkpoint is made at the position before the event. */
  restore: {
    checkpointId: string;
    safety: { id: string; entryCount: number };
    /** The config version that takes effect; null when the config does not change. */
    config: ConfigFacts | null;
    /** How many keys get their old content back, and how many keys end because the checkpoint does not have them. */
    restored: number;
    removed: number;
  };
  /** Versions are set aside, each named by the position of its write, ascending: no program sees them. */
  set_aside: { versions: readonly number[] };
  release: { versions: readonly number[] };
  suspend: { reason: string | null };
  resume: { reason: string | null };
  /** Events before a position lose their bodies, except those that something else depends on. */
  prune: { beforeSeq: number; events: number };
  /** The stored heads of workspaces are replaced (core/heads). The number of all of them, and their root, hex. */
  heads: { count: number; root: string };
  /**
   * `rowChanges` (row-effects.ts) says which rows. `account`: the one that is erased with its other rows; null for every other
   * change. `erased`: the positions of the events whose details go with it, ascending.
   */
  rows: { account: string | null; erased: readonly SeqRange[] };
}

/** Positions in the log, from the first to the last. */
export type SeqRange = readonly [from: number, to: number];

/** Whether a position is in one of the ranges. */
export const covers = (ranges: readonly SeqRange[], seq: number): boolean =>
  ranges.some(([from, to]) => from <= seq && seq <= to);

interface ConfigFacts {
  /** `v1`, `v2` … */
  version: string;
  digest: string;
  rolledBackFrom: string | null;
}

/** An effect as its event states it. */
export type RecordedEffect =
  | { [K in EffectKind]: { kind: K } & EffectFacts[K] }[EffectKind]
  /** The details are erased, or do not have the form of this kind of effect. */
  | { kind: "unknown"; of: EffectKind }
  | { kind: "none" };

/** Returns the kind of effect of an event; `none` for operations that were refused or found nothing. */
export function effectKind(operation: string, result: AuditResult): EffectKind | "none" {
  const kind = eventFacts(operation)?.effect ?? "none";
  return result === (kind === "put" ? "allowed" : "ok") ? kind : "none";
}

/** Returns the effect of a recorded event. `details` is null when they are erased or do not match the commitment. */
export function recordedEffect(
  { operation, result }: Pick<AuditEventBody, "operation" | "result">,
  details: JsonObject | null,
): RecordedEffect {
  const kind = effectKind(operation, result);
  if (kind === "none") return { kind };
  const facts = details === null ? null : FACTS[kind](details);
  return facts === null ? { kind: "unknown", of: kind } : ({ kind, ...facts } as RecordedEffect);
}

/** Reads the facts of each kind of effect; null when details do not have their form. */
const FACTS: { [K in EffectKind]: (details: JsonObject) => EffectFacts[K] | null } = {
  put: ({ key, value_digest: digest, expires_at }) => {
    const expiresAtMs = expires_at === undefined ? null : momentOf(expires_at);
    return isText(key) && isText(digest) && expiresAtMs !== undefined ? { key, digest, expiresAtMs } : null;
  },
  end: ({ key }) => (isText(key) ? { key } : null),
  end_prefix: ({ prefix, count }) => (isText(prefix) && isCount(count) ? { prefix, count } : null),
  expire: ({ count, through }) => (isCount(count) && isCount(through) ? { count, through } : null),
  erase: ({ entries, versions, events, erased, version }) =>
    isCount(entries) && isCount(versions) && isCount(events) && isRangesOf(erased, events)
      ? withVersion({ entries, versions, events, erased }, version)
      : null,
  add_config: ({ version, config_digest, rolled_back_from }) => configFacts(version, config_digest, rolled_back_from),
  add_checkpoint: ({ checkpoint_id: id, as_of_seq: asOfSeq, entry_count: entryCount, label, metadata }) =>
    isText(id) && isCount(asOfSeq) && isCount(entryCount) && isTextOrNull(label) && isJsonObject(metadata)
      ? { id, asOfSeq, entryCount, label, metadata }
      : null,
  remove_checkpoint: ({ checkpoint_id: id }) => (isText(id) ? { id } : null),
  restore: restoreFacts,
  set_aside: ({ versions }) => (isCounts(versions) ? { versions } : null),
  release: ({ versions }) => (isCounts(versions) ? { versions } : null),
  suspend: ({ reason }) => (isTextOrNull(reason) ? { reason } : null),
  resume: ({ reason }) => (isTextOrNull(reason) ? { reason } : null),
  prune: ({ before_seq: beforeSeq, events }) => (isCount(beforeSeq) && isCount(events) ? { beforeSeq, events } : null),
  heads: ({ count, root }) => (isCount(count) && isText(root) ? { count, root } : null),
  rows: ({ account_id: account, events, erased }) => {
    if (erased === undefined) return { account: null, erased: [] };
    return isText(account) && isCount(events) && isRangesOf(erased, events) ? { account, erased } : null;
  },
};

function restoreFacts(details: JsonObject): EffectFacts["restore"] | null {
  const { checkpoint_id: checkpointId, safety_checkpoint_id: id, safety_entry_count: entryCount } = details;
  const { entries_restored: restored, entries_removed: removed, config_version: version } = details;
  const config = version === undefined ? null : configFacts(version, details.config_digest, details.rolled_back_from);
  if (!isText(checkpointId) || !isText(id) || !isCount(entryCount)) return null;
  if (!isCount(restored) || !isCount(removed) || (version !== undefined && config === null)) return null;
  return { checkpointId, safety: { id, entryCount }, config, restored, removed };
}

type Member = JsonValue | undefined;

/** Whether a member lists ascending ranges of as many positions. */
function isRangesOf(ranges: Member, positions: number): ranges is (SeqRange & JsonValue[])[] {
  if (!Array.isArray(ranges)) return false;
  let [last, sum] = [-1, 0];
  for (const range of ranges) {
    if (!Array.isArray(range) || range.length !== 2) return false;
    const [from, to] = range;
    if (!isCount(from) || !isCount(to) || from <= last || to < from) return false;
    sum += to - from + 1;
    last = to;
  }
  return sum === positions;
}

function configFacts(version: Member, digest: Member, rolledBackFrom: Member = null): ConfigFacts | null {
  if (!isText(version) || !isText(digest) || !isTextOrNull(rolledBackFrom)) return null;
  return { version, digest, rolledBackFrom };
}

const isText = (value: Member): value is string => typeof value === "string";
const isTextOrNull = (value: Member): value is string | null => value === null || isText(value);
const isCounts = (value: Member): value is number[] => Array.isArray(value) && value.length > 0 && value.every(isCount);
const isCount = (value: Member): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

/** Returns what an erasure states, with the version that it is about; null when the two do not fit. */
function withVersion(
  facts: Omit<EffectFacts["erase"], "version">,
  version: JsonValue | undefined,
): EffectFacts["erase"] | null {
  if (version === undefined) return { ...facts, version: null };
  if (!isJsonObject(version)) return null;
  const { seq, key_of: keyOf, expires_at: expiresAt } = version;
  const expiresAtMs = expiresAt === null ? null : momentOf(expiresAt);
  const isOne = isCount(seq) && facts.entries === 0 && facts.events === 1 && facts.erased[0]?.[0] === seq;
  if (!isOne || (keyOf !== null && !isCount(keyOf)) || expiresAtMs === undefined) return null;
  return { ...facts, version: { seq, keyOf, expiresAtMs } };
}

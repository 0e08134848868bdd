/**
 * Effects: what an operation changes of the stored rows, as a value. The store applies an effect with its contents
 * (state/apply.ts); what a recorded event and its details say of the same effect is read here, for the verifier,
 * which derives from it which rows must be stored, and for the search indexes, which derive from it what changed.
 */
import type { JsonObject, JsonValue } from "../json.ts";
import type { EffectKind } from "../operation-facts.ts";
import { eventFacts } from "../operations.ts";
import type { AuditEventBody, AuditResult } from "./event.ts";

/** What the details of an event say of each kind of effect (`operations.ts` says which operation has which). Contents are not in them, only digests. */
export interface EffectFacts {
  /** A key has a new content. `digest`: hex SHA-256 of JCS({key, metadata, value}). */
  put: { key: string; digest: string };
  /** A key's present entry ends. */
  end: { key: string };
  /** The present entries whose keys begin with a prefix end, unless they are past their retention. */
  end_prefix: { prefix: string; count: number };
  /** Versions of entries that are past their retention are removed, also from checkpoints. */
  expire: { count: number };
  /** Versions of entries and details of events are removed for good. The event does not say of which keys. */
  erase: { entries: number; versions: number; events: number };
  /** A config version comes into force. `digest`: hex SHA-256 of JCS(config). */
  add_config: ConfigFacts;
  add_checkpoint: {
    id: string;
    asOfSeq: number;
    entryCount: number;
    label: string | null;
    metadata: JsonObject;
  };
  remove_checkpoint: { id: string };
  /** A checkpoint's entries come back, behind a safety checkpoint of the position before the event. */
  restore: {
    checkpointId: string;
    safety: { id: string; entryCount: number };
    /** The config version that comes into force; null when the config stays. */
    config: ConfigFacts | null;
    /** Keys whose content of then is the present one again, and keys that the checkpoint does not have. */
    restored: number;
    removed: number;
  };
  suspend: { reason: string | null };
  resume: { reason: string | null };
  /** Events before a position lose their bodies, but for those that something else depends on. */
  prune: { beforeSeq: number; events: number };
}

interface ConfigFacts {
  /** `v1`, `v2` … */
  version: string;
  digest: string;
  rolledBackFrom: string | null;
}

/** An effect as far as its event tells of it. */
export type RecordedEffect =
  | { [K in EffectKind]: { kind: K } & EffectFacts[K] }[EffectKind]
  /** The details are erased, or do not have the form that this kind of effect gives them. */
  | { kind: "unknown"; of: EffectKind }
  | { kind: "none" };

/** The kind of effect that an event has; `none` for operations that were refused or found nothing. */
export function effectKind(operation: string, result: AuditResult): EffectKind | "none" {
  const kind = eventFacts(operation)?.effect ?? "none";
  return result === (kind === "put" ? "allowed" : "ok") ? kind : "none";
}

/** The effect of a recorded event; `details` are null when they are erased or not genuine. */
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
  put: ({ key, value_digest: digest }) => (isText(key) && isText(digest) ? { key, digest } : null),
  end: ({ key }) => (isText(key) ? { key } : null),
  end_prefix: ({ prefix, count }) => (isText(prefix) && isCount(count) ? { prefix, count } : null),
  expire: ({ count }) => (isCount(count) ? { count } : null),
  erase: ({ entries, versions, events }) =>
    isCount(entries) && isCount(versions) && isCount(events) ? { entries, versions, events } : null,
  add_config: ({ version, config_digest, rolled_back_from }) =>
    configFacts(version, config_digest, rolled_back_from),
  add_checkpoint: ({ checkpoint_id: id, as_of_seq: asOfSeq, entry_count: entryCount, label, metadata }) =>
    isText(id) && isCount(asOfSeq) && isCount(entryCount) && isTextOrNull(label) && isObject(metadata)
      ? { id, asOfSeq, entryCount, label, metadata }
      : null,
  remove_checkpoint: ({ checkpoint_id: id }) => (isText(id) ? { id } : null),
  restore: restoreFacts,
  suspend: ({ reason }) => (isTextOrNull(reason) ? { reason } : null),
  resume: ({ reason }) => (isTextOrNull(reason) ? { reason } : null),
  prune: ({ before_seq: beforeSeq, events }) =>
    isCount(beforeSeq) && isCount(events) ? { beforeSeq, events } : null,
};

function restoreFacts(details: JsonObject): EffectFacts["restore"] | null {
  const { checkpoint_id: checkpointId, safety_checkpoint_id: id, safety_entry_count: entryCount } = details;
  const { entries_restored: restored, entries_removed: removed, config_version: version } = details;
  const config =
    version === undefined ? null : configFacts(version, details.config_digest, details.rolled_back_from);
  if (!isText(checkpointId) || !isText(id) || !isCount(entryCount)) return null;
  if (!isCount(restored) || !isCount(removed) || (version !== undefined && config === null)) return null;
  return { checkpointId, safety: { id, entryCount }, config, restored, removed };
}

type Member = JsonValue | undefined;

function configFacts(version: Member, digest: Member, rolledBackFrom: Member = null): ConfigFacts | null {
  if (!isText(version) || !isText(digest) || !isTextOrNull(rolledBackFrom)) return null;
  return { version, digest, rolledBackFrom };
}

const isText = (value: Member): value is string => typeof value === "string";
const isTextOrNull = (value: Member): value is string | null => value === null || isText(value);
const isCount = (value: Member): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
const isObject = (value: Member): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Stored data against the events that wrote it: an entry, a config version or a checkpoint is
 * genuine when the event it names is of the right kind, of the same agent, and its details carry
 * the same digest or numbers.
 */
import type { JsonObject, JsonValue } from "../json.ts";
import type { AuditEventBody } from "./event.ts";
import { sha256Hex } from "./hash.ts";
import { CanonicalJsonError, canonicalJson, canonicalString } from "./jcs.ts";
import type { ProblemCode } from "./problems.ts";
import type {
  StoredCheckpoint,
  StoredConfig,
  StoredContent,
  StoredEntry,
  StoredEntryMoment,
} from "./rows.ts";

/** What is wrong with one stored thing. */
export interface ContentProblem {
  code: ProblemCode;
  message: string;
}

/** Which operations can have written what; all of them with one of these results. */
const WRITERS: Record<StoredContent["kind"], readonly string[]> = {
  entry: ["data.write"],
  entry_created: ["data.write"],
  entry_restored: ["checkpoint.restore"],
  entry_ended: ["data.write", "data.delete", "data.delete_prefix", "checkpoint.restore"],
  config: ["config.update", "config.rollback", "checkpoint.restore"],
  checkpoint: ["checkpoint.create", "checkpoint.restore"],
};

/** Whether an operation with this result had an effect. */
export function tookEffect(event: AuditEventBody): boolean {
  return event.result === (event.operation === "data.write" ? "allowed" : "ok");
}

/**
 * Checks one stored thing against the event whose seq it names; null when it is genuine.
 *
 * @param details the event's details, already checked against their commitment; null when erased
 */
export function contentProblem(
  content: StoredContent,
  event: AuditEventBody,
  details: JsonObject | null,
): ContentProblem | null {
  const name = describe(content);
  if (
    content.agentId !== event.agent_id ||
    !WRITERS[content.kind].includes(event.operation) ||
    !tookEffect(event)
  ) {
    const message = `${name} names an event (${event.operation}) that had no part in it`;
    return { code: "content_orphan", message };
  }
  if (details === null) {
    return { code: "content_unprovable", message: `${name} cannot be proved: its event's details are gone` };
  }
  if (agrees(content, event, details)) return null;
  return { code: "content_mismatch", message: `${name} is not what its event says` };
}

/** Names a stored thing without repeating what a client put into it. */
export function describe(content: StoredContent): string {
  switch (content.kind) {
    case "entry":
      return "a stored entry";
    case "entry_created":
      return "the beginning of a stored entry";
    case "entry_restored":
      return "the return of a stored entry";
    case "entry_ended":
      return "the end of a stored entry";
    case "config":
      return `stored config ${/^v[0-9]{1,16}$/.test(content.version) ? content.version : "version"}`;
    case "checkpoint":
      return "a stored checkpoint";
  }
}

/** The texts of each kind. A damaged file may hold anything in their place. */
const TEXTS: Record<StoredContent["kind"], readonly string[]> = {
  entry: ["key", "metadata", "value"],
  entry_created: ["key"],
  entry_restored: ["key"],
  entry_ended: ["key"],
  config: ["version", "config"],
  checkpoint: ["checkpointId", "metadata"],
};

function agrees(content: StoredContent, event: AuditEventBody, details: JsonObject): boolean {
  const members = content as unknown as Record<string, unknown>;
  if (!TEXTS[content.kind].every((name) => typeof members[name] === "string")) return false;
  try {
    switch (content.kind) {
      case "entry":
        return entryAgrees(content, event, details);
      case "config":
        return configAgrees(content, details);
      case "checkpoint":
        return checkpointAgrees(content, event, details);
      default:
        return momentAgrees(content, event, details);
    }
  } catch (error) {
    // Stored text that is no JSON, or has no canonical form, is not what was written.
    if (error instanceof SyntaxError || error instanceof CanonicalJsonError) return false;
    throw error;
  }
}

function entryAgrees(entry: StoredEntry, event: AuditEventBody, details: JsonObject): boolean {
  const expected = details.value_digest;
  if (details.key !== entry.key || typeof expected !== "string") return false;
  if (entry.updatedAt !== undefined && entry.updatedAt !== Date.parse(event.timestamp)) return false;
  // Stored texts are canonical, as a rule; what is not is brought to canonical form first.
  return (
    digest(entry.key, entry.metadata, entry.value) === expected ||
    digest(entry.key, recanonical(entry.metadata), recanonical(entry.value)) === expected
  );
}

function digest(key: string, metadata: string, value: string): string {
  return sha256Hex(`{"key":${canonicalString(key)},"metadata":${metadata},"value":${value}}`);
}

function momentAgrees(moment: StoredEntryMoment, event: AuditEventBody, details: JsonObject): boolean {
  if (moment.after !== undefined && moment.seq <= moment.after) return false;
  if (moment.before !== undefined && moment.seq > moment.before) return false;
  if (moment.at !== undefined && moment.at !== Date.parse(event.timestamp)) return false;
  switch (event.operation) {
    case "checkpoint.restore":
      return true; // which keys a restore touched is in the states before and after it
    case "data.delete_prefix":
      return typeof details.prefix === "string" && moment.key.startsWith(details.prefix);
    default:
      return details.key === moment.key;
  }
}

function configAgrees(config: StoredConfig, details: JsonObject): boolean {
  const version = details.version ?? details.config_version;
  const expected = details.config_digest;
  if (version !== config.version || typeof expected !== "string") return false;
  if (config.rolledBackFrom !== undefined && config.rolledBackFrom !== (details.rolled_back_from ?? null)) {
    return false;
  }
  return sha256Hex(config.config) === expected || sha256Hex(recanonical(config.config)) === expected;
}

function checkpointAgrees(checkpoint: StoredCheckpoint, event: AuditEventBody, details: JsonObject): boolean {
  const { configVersion } = checkpoint;
  if (configVersion !== undefined && configVersion !== event.config_version) return false;
  // A restore makes its safety checkpoint, of the state right before it, without an event of its own.
  const expected: JsonObject =
    event.operation === "checkpoint.restore"
      ? {
          checkpoint_id: details.safety_checkpoint_id ?? null,
          as_of_seq: event.seq - 1,
          entry_count: details.safety_entry_count ?? null,
          label: null,
          metadata: {},
        }
      : details;
  return (
    expected.checkpoint_id === checkpoint.checkpointId &&
    expected.as_of_seq === checkpoint.asOfSeq &&
    expected.entry_count === checkpoint.entryCount &&
    (expected.label ?? null) === checkpoint.label &&
    canonicalJson((expected.metadata ?? {}) as JsonValue) === recanonical(checkpoint.metadata)
  );
}

function recanonical(text: string): string {
  return canonicalJson(JSON.parse(text) as JsonValue);
}

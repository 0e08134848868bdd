/**
 * Stored data against the events that wrote it: an entry, a config version or a checkpoint is
 * genuine when the event it names is of the right kind, of the same agent, and its details carry
 * the same digest or numbers.
 */
import type { JsonObject, JsonValue } from "../json.ts";
import type { AuditEventBody } from "./event.ts";
import { sha256Hex, valueDigestOfText } from "./hash.ts";
import { canonicalJson } from "./jcs.ts";
import type { ProblemCode } from "./problems.ts";
import type { StoredCheckpoint, StoredConfig, StoredContent, StoredEntry } from "./rows.ts";

/** What is wrong with one stored thing. */
export interface ContentProblem {
  code: ProblemCode;
  message: string;
}

/** Operations whose event may have made a config version. */
const CONFIG_WRITERS = new Set(["config.update", "config.rollback", "checkpoint.restore"]);

/** Whether an event of this operation must have left a config version behind. */
export function mustHaveConfig(event: AuditEventBody): boolean {
  return (
    event.result === "ok" && (event.operation === "config.update" || event.operation === "config.rollback")
  );
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
  if (content.agentId !== event.agent_id || !couldHaveWritten(event, content)) {
    return {
      code: "content_orphan",
      message: `${name} names an event (${event.operation}) that did not write it`,
    };
  }
  if (details === null) {
    return {
      code: "content_unprovable",
      message: `${name} cannot be proved: the details of its event are erased`,
    };
  }
  if (agrees(content, details)) return null;
  return { code: "content_mismatch", message: `${name} is not what its event says was written` };
}

/** Names a stored thing without repeating what a client put into it. */
export function describe(content: StoredContent): string {
  switch (content.kind) {
    case "entry":
      return "a stored entry";
    case "config":
      return `stored config ${/^v[0-9]+$/.test(content.version) ? content.version : "version"}`;
    case "checkpoint":
      return "a stored checkpoint";
  }
}

function couldHaveWritten(event: AuditEventBody, content: StoredContent): boolean {
  switch (content.kind) {
    case "entry":
      return event.operation === "data.write" && event.result === "allowed";
    case "config":
      return event.result === "ok" && CONFIG_WRITERS.has(event.operation);
    case "checkpoint":
      return (
        event.result === "ok" &&
        (event.operation === "checkpoint.create" || event.operation === "checkpoint.restore")
      );
  }
}

function agrees(content: StoredContent, details: JsonObject): boolean {
  try {
    switch (content.kind) {
      case "entry":
        return entryAgrees(content, details);
      case "config":
        return configAgrees(content, details);
      case "checkpoint":
        return checkpointAgrees(content, details);
    }
  } catch {
    return false; // stored text that is no JSON, or has no canonical form, is not what was written
  }
}

function entryAgrees(entry: StoredEntry, details: JsonObject): boolean {
  const expected = details.value_digest;
  if (details.key !== entry.key || typeof expected !== "string") return false;
  // Stored metadata is canonical text, as a rule; what is not is brought to canonical form first.
  if (valueDigestOfText(entry.key, entry.metadata, entry.value) === expected) return true;
  return valueDigestOfText(entry.key, recanonical(entry.metadata), entry.value) === expected;
}

function configAgrees(config: StoredConfig, details: JsonObject): boolean {
  const version = details.version ?? details.config_version;
  const expected = details.config_digest;
  if (version !== config.version || typeof expected !== "string") return false;
  return sha256Hex(config.config) === expected || sha256Hex(recanonical(config.config)) === expected;
}

function checkpointAgrees(checkpoint: StoredCheckpoint, details: JsonObject): boolean {
  // A restore makes its safety checkpoint without an event of its own; only its id is recorded.
  if (details.safety_checkpoint_id === checkpoint.checkpointId) return true;
  return (
    details.checkpoint_id === checkpoint.checkpointId &&
    details.as_of_seq === checkpoint.asOfSeq &&
    details.entry_count === checkpoint.entryCount &&
    (details.label ?? null) === checkpoint.label &&
    canonicalJson((details.metadata ?? {}) as JsonValue) === recanonical(checkpoint.metadata)
  );
}

function recanonical(text: string): string {
  return canonicalJson(JSON.parse(text) as JsonValue);
}

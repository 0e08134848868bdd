/** The events about a single key, which a replay follows from key to key. */
import type { JsonObject } from "../../../json.ts";
import { recordedEffect } from "../../../log/effects.ts";
import { type AuditEventBody, seesSetAside } from "../../../log/event.ts";
import { isOfPresent } from "../../../log/recall.ts";
import { eventFacts } from "../../../operations.ts";

/**
 * What an event says of a key: `writes` a content; `ends` the present entry; `finds` it; `misses` it, since there is
 * none.
 */
type KeyAct = "writes" | "ends" | "finds" | "misses";

export interface KeyEvent {
  act: KeyAct;
  agent_id: string | null;
  config_version: string | null;
  /** Whether its actor sees what is set aside. */
  sees: boolean;
  seq: number;
  timeMs: number;
  key: string;
  /** Of what was written: the digest of the content, hex, and when the entry ends by itself, ms; null for never. */
  digest: string;
  expiresAtMs: number | null;
  /** The position of the version that was found, if the event states it; null otherwise. */
  returned: number | null;
}

/** Whether an event found an entry that its operation needs, or found none. */
export const isAboutEntries = ({ operation, result }: Pick<AuditEventBody, "operation" | "result">): boolean =>
  eventFacts(operation)?.needs === "entry" && (result === "ok" || result === "not_found");

/** Returns what an event says of a key; null for other events. @param details null when erased or not genuine */
export function keyEventOf(event: AuditEventBody, details: JsonObject | null): KeyEvent | null {
  const { agent_id, config_version, seq, result, timestamp } = event;
  const effect = recordedEffect(event, details);
  const of = {
    agent_id,
    config_version,
    sees: seesSetAside(event.actor),
    seq,
    timeMs: Date.parse(timestamp),
    digest: "",
    expiresAtMs: null,
    returned: null,
  };
  if (effect.kind === "put") {
    const { key, digest, expiresAtMs } = effect;
    return { ...of, act: "writes", key, digest, expiresAtMs };
  }
  if (effect.kind === "end") return { ...of, act: "ends", key: effect.key };
  // What a batch did not find may be what its undone parts had ended.
  if (!isAboutEntries(event) || details === null || details.undone === true) return null;
  if (typeof details.key !== "string" || !isOfPresent(details)) return null;
  const [returned = null] = Array.isArray(details.returned) ? (details.returned as number[]) : [];
  return { ...of, act: result === "ok" ? "finds" : "misses", key: details.key, returned };
}

/** Returns the prefix under which an event found no entry; null for other events. */
export const missedPrefix = (event: AuditEventBody, details: JsonObject | null): string | null =>
  isAboutEntries(event) && event.result === "not_found" && typeof details?.prefix === "string" ? details.prefix : null;

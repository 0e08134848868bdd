/** Which of an agent's entries its newest events may have changed, for the search indexes that follow them. */
import type { JsonObject } from "../json.ts";
import { type RecordedEffect, recordedEffect } from "../log/effects.ts";
import type { AuditResult } from "../log/event.ts";
import type { EffectKind } from "../operation-facts.ts";
import { namesWithEffect } from "../operations.ts";
import type { Reader } from "../store/transaction.ts";

/** The entry of one key, entries that were only taken away, or any entries. */
export type ChangedEntries = { key: string } | "fewer" | "any";

/** One event that may have changed entries. */
export interface EntryChange {
  agentSeq: number;
  changed: ChangedEntries;
}

/** As SQL, the names of the operations whose effects change entries. */
const CHANGING = sqlNames("put", "end", "end_prefix", "expire", "erase", "restore");

/** As SQL, the names of the operations whose effects are of some kinds. */
export function sqlNames(...kinds: readonly EffectKind[]): string {
  return namesWithEffect(...kinds)
    .map((operation) => `'${operation}'`)
    .join(", ");
}

/** The entries that an effect on entries changes. */
function changedBy(effect: RecordedEffect): ChangedEntries {
  switch (effect.kind === "unknown" ? effect.of : effect.kind) {
    case "put":
    case "end":
      return "key" in effect ? { key: effect.key } : "any";
    case "end_prefix":
    case "expire":
      return "fewer";
    default:
      return "any";
  }
}

/** The agent's events in a range of `agent_seq` that changed entries, in order, at most `limit`. */
export async function changesAfter(
  reader: Reader,
  agentId: string | null,
  range: { after: number; through: number; limit: number },
): Promise<EntryChange[]> {
  const rows = await reader.all<[number, string, AuditResult, string | null]>(
    `SELECT agent_seq, operation, result, details FROM events
     WHERE agent_id = ? AND agent_seq > ? AND agent_seq <= ? AND result IN ('ok', 'allowed')
       AND operation IN (${CHANGING})
     ORDER BY agent_seq LIMIT ?`,
    [agentId, range.after, range.through, range.limit],
  );
  return rows.map(([agentSeq, operation, result, text]) => {
    const details = text === null ? null : (JSON.parse(text) as JsonObject);
    return { agentSeq, changed: changedBy(recordedEffect({ operation, result }, details)) };
  });
}

/** Whether none of an agent's events in a range was pruned: what it changed could not be followed then. */
export async function isWhole(
  reader: Reader,
  agentId: string | null,
  after: number,
  through: number,
): Promise<boolean> {
  const row = await reader.get<[number]>(
    "SELECT count(*) FROM events WHERE agent_id = ? AND agent_seq > ? AND agent_seq <= ?",
    [agentId, after, through],
  );
  return row?.[0] === through - after;
}

/** Finds the entries that an agent's newest events may have changed, for search indexes that follow the log. */
import type { JsonObject } from "../../json.ts";
import { type RecordedEffect, recordedEffect } from "../../log/effects.ts";
import type { AuditResult } from "../../log/event.ts";
import type { EffectKind } from "../../operation-facts.ts";
import { namesWithEffect } from "../../operations.ts";
import type { Reader } from "../../store/transaction.ts";
import { sqlTexts } from "../../store/values.ts";

/**
 * An event that may have changed entries. `changed`: the entry of one key; `fewer`, entries only removed; or any
 * entries.
 */
export interface EntryChange {
  agentSeq: number;
  changed: { key: string } | "fewer" | "any";
}

/** SQL: the names of the operations whose effects change entries. */
const CHANGING = sqlNames("put", "end", "end_prefix", "expire", "erase", "restore");

/** SQL: the names of the operations whose effects are of some kinds. */
export function sqlNames(...kinds: readonly EffectKind[]): string {
  return sqlTexts(namesWithEffect(...kinds));
}

/** Returns the entries that an effect changes. */
function changedBy(effect: RecordedEffect): EntryChange["changed"] {
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

const IN_RANGE = "FROM events WHERE agent_id = ? AND agent_seq > ? AND agent_seq <= ?";
const CHANGED = `result IN ('ok', 'allowed') AND operation IN (${CHANGING})`;

/** SQL: the number of events, and of those that changed entries. An index answers it. */
const COUNTS = `SELECT count(*), count(*) FILTER (WHERE ${CHANGED}) ${IN_RANGE}`;

const CHANGES = `SELECT agent_seq, operation, result, details ${IN_RANGE} AND ${CHANGED} ORDER BY agent_seq LIMIT ?`;

/** SQL: the position of the newest event that set versions aside or released them, of any agents; -1 without one. */
const NEWEST_PLACEMENT = `(SELECT coalesce(max(seq), -1) FROM events INDEXED BY events_of_quarantine
  WHERE operation IN (${sqlNames("set_aside", "release")}))`;

export const newestPlacement = async (reader: Reader): Promise<number> =>
  (await reader.value<number>(`SELECT ${NEWEST_PLACEMENT}`)) as number;

const SINCE = `SELECT seq, EXISTS (SELECT 1 FROM events WHERE agent_id = ? AND agent_seq > ? AND ${CHANGED})
  OR ${NEWEST_PLACEMENT} <> ? FROM head`;

/**
 * Returns the position of the newest event of the log; null when an event after the agent's newest one that is known may
 * have changed entries of the agent, or what is set aside has changed since a placement.
 */
export async function unchangedSince(
  reader: Reader,
  { agentId, headSeq }: { agentId: string | null; headSeq: number },
  placement: number,
): Promise<number | null> {
  const known = [agentId, headSeq, placement];
  const [seq, isChanged] = (await reader.get<[number, number]>(SINCE, known)) as [number, number];
  return isChanged === 1 ? null : seq;
}

/**
 * Returns the agent's events in a range of `agent_seq` that changed entries, in order, at most `limit`. Null when
 * events of the range were pruned, so that their changes are unknown.
 */
export async function changesAfter(
  reader: Reader,
  agentId: string | null,
  range: { after: number; through: number; limit: number },
): Promise<EntryChange[] | null> {
  const asked = [agentId, range.after, range.through];
  const [present, changed] = (await reader.get<[number, number]>(COUNTS, asked)) ?? [0, 0];
  if (present !== range.through - range.after) return null;
  if (changed === 0) return [];
  const rows = await reader.all<[number, string, AuditResult, string | null]>(CHANGES, [...asked, range.limit]);
  return rows.map(([agentSeq, operation, result, text]) => {
    const details = text === null ? null : (JSON.parse(text) as JsonObject);
    return { agentSeq, changed: changedBy(recordedEffect({ operation, result }, details)) };
  });
}

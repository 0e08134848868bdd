/** Which entries were past their retention at an event, as its agent's configs say. */
import type { JsonObject } from "../../../json.ts";
import type { AuditEventBody } from "../../../log/event.ts";
import { retentionCutoff } from "../../../state/configs.ts";

/** Days of retention by config version (`v1` …), of the versions that have it. */
export type Retention = ReadonlyMap<string, number>;

/** Entries written before this moment (ms) were expired under a config at a time; -1: none. */
export function cutoffAt(retention: Retention, configVersion: string | null, timeMs: number): number {
  const retentionDays = (configVersion === null ? undefined : retention.get(configVersion)) ?? null;
  return retentionCutoff({ blockPii: false, blockSecrets: false, retentionDays }, timeMs);
}

/** The same at a restore, which goes by the config before it and by the one after it. */
export function restoreCutoff(
  retention: Retention,
  event: AuditEventBody,
  details: JsonObject | null,
): number {
  if (retention.size === 0) return -1;
  const timeMs = Date.parse(event.timestamp);
  const after = details?.config_version;
  return Math.max(
    cutoffAt(retention, event.config_version, timeMs),
    cutoffAt(retention, typeof after === "string" ? after : null, timeMs),
  );
}

/** Whether a restore says that it brought back no entry and ended none. */
export function changedNothing(details: JsonObject): boolean {
  return details.entries_restored === 0 && details.entries_removed === 0;
}

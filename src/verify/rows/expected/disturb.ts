/** Events that are about many keys of an agent, or none: what they add to its {@link Timeline}. */
import type { JsonObject } from "../../../json.ts";
import type { AuditEventBody } from "../../../log/event.ts";
import { changedNothing, restoreCutoff } from "./retention.ts";
import type { Timeline } from "./timeline.ts";

/** Operations besides `data.write` that are followed. */
export const FOLLOWED: readonly string[] = [
  ...["data.delete", "data.delete_prefix", "data.expire"],
  ...["checkpoint.create", "checkpoint.restore", "checkpoint.delete"],
];

/** Takes such an event; `text` is its details, null where erased or not genuine. */
export function disturb(timeline: Timeline, event: AuditEventBody, text: string | null): void {
  const details = text === null ? {} : (JSON.parse(text) as JsonObject);
  const { checkpoint_id: checkpointId, safety_checkpoint_id: safetyId, prefix } = details;
  switch (event.operation) {
    case "data.expire":
      timeline.addSweep(event.seq);
      return;
    case "checkpoint.create":
      if (typeof checkpointId === "string") timeline.addCheckpoint(checkpointId, event.seq);
      return;
    case "checkpoint.delete":
      if (typeof checkpointId === "string") timeline.removeCheckpoint(checkpointId);
      return;
    case "checkpoint.restore":
      addRestore(event, timeline, details);
      if (typeof safetyId === "string") timeline.addCheckpoint(safetyId, event.seq - 1);
      return;
    default: {
      const cutoffMs = timeline.cutoff(event.config_version, Date.parse(event.timestamp));
      if (typeof prefix === "string") timeline.addPrefixDeletion(event.seq, prefix, cutoffMs);
      else timeline.unknown = true;
    }
  }
}

function addRestore(event: AuditEventBody, timeline: Timeline, details: JsonObject): void {
  if (changedNothing(details)) {
    // Yet it may have ended what was expired, which is in no count.
    if (timeline.retention.size > 0) timeline.addSweep(event.seq);
    return;
  }
  const cutoffMs = restoreCutoff(timeline.retention, event, details);
  const { checkpoint_id: id } = details;
  timeline.addRestore(event.seq, cutoffMs, typeof id === "string" ? id : null);
}

/** Reads the events of a workspace about the control database. The log itself is verified elsewhere. */
import type { JsonObject } from "../../json.ts";
import { type ControlTable, controlChanges, type RowChange } from "../../log/control-effects.ts";
import { type DeclaredRestore, declaredRestore } from "../../log/restores.ts";
import { LOG_RESTORE } from "../../log/seal.ts";
import { CONTROL_EVENT_NAMES } from "../../operations.ts";
import type { Reader } from "../../store/transaction.ts";
import { type EventColumns, eventColumns, readNamedEvent } from "../rows/events-named.ts";
import { readHead } from "../rows/head.ts";

/** An event about rows of the control database, or a declared restore. */
export interface ControlEvent {
  seq: number;
  agent_seq: number;
  id: string;
  operation: string;
  timestamp: string;
  actor: string;
  details: JsonObject | null;
  changes: readonly RowChange[];
  /** The restore that the event declares. */
  restore: DeclaredRestore | null;
}

/** The events in a workspace's log about the control database. */
export interface ControlLog {
  workspaceId: string;
  /** The last position that was read. */
  headSeq: number;
  events: readonly ControlEvent[];
}

const NAMES = [...CONTROL_EVENT_NAMES, LOG_RESTORE];

/** Reads the events in the order of the log. Returns null when the file does not name its workspace. */
export async function readControlLog(reader: Reader): Promise<ControlLog | null> {
  const head = await readHead(reader);
  if (head?.workspaceId == null || head.seq === null) return null;
  const rows = await reader.all<EventColumns>(
    `SELECT ${eventColumns("e")} FROM events e
     WHERE e.agent_id IS NULL AND e.operation IN (${NAMES.map(() => "?").join(", ")}) ORDER BY e.seq`,
    NAMES,
  );
  const events = rows.flatMap((row) => {
    const named = readNamedEvent(...row);
    if (named === null) return [];
    const { event, details } = named;
    const { seq, agent_seq, id, operation, timestamp, actor } = event;
    const restore = declaredRestore(event, details && JSON.stringify(details));
    const leftOut = restore?.control?.rowsLeftOut ?? [];
    const changes = [
      ...controlChanges(event, details),
      ...leftOut.map((row) => ({ table: row.table as ControlTable, id: row.id, kind: "remove" as const, columns: {} })),
    ];
    return [{ seq, agent_seq, id, operation, timestamp, actor, details, changes, restore }];
  });
  return { workspaceId: head.workspaceId, headSeq: head.seq, events };
}

/**
 * Replays the events of one workspace to derive the rows of the control database that belong to it.
 *
 * A row has one expected state, unless it is unknown which of its events the control database includes. Such events are
 * optional: each row may be in the state before or after them. Events are optional if they were recorded while a backup
 * was made, after its copy of the control database (in the backup), or while the control database was read.
 */
import type { ControlTable, RowChange, StatedColumns } from "../../log/control-effects.ts";
import type { RestoredControl } from "../../log/restores.ts";
import type { ControlEvent, ControlLog } from "./events.ts";

/** The required columns of a row; null when the row must not exist. */
export type RowState = StatedColumns | null;

/** A row that events mention. */
export interface ExpectedRow {
  table: ControlTable;
  id: string;
  workspaceId: string;
  /** The row must be in one of these states. */
  states: RowState[];
  /** The events that changed it, in their order. */
  events: { event: ControlEvent; columns: StatedColumns }[];
}

/** Which events the control database may not include. */
export interface Lag {
  /** When the backup was begun, RFC 3339; null when this is not a backup. */
  backupCreatedAt: string | null;
  /** The position after which events were recorded while the evidence was read. */
  afterSeq: number;
}

/** Returns the rows to which the events of a workspace lead, by table and id. */
export function expectedRows(log: ControlLog, lag: Lag): Map<string, ExpectedRow> {
  const optional = lagging(log, lag);
  const rows = new Map<string, ExpectedRow>();
  const rowOf = ({ table, id }: RowChange): ExpectedRow => {
    const name = rowName(table, id, log.workspaceId);
    const row = rows.get(name) ?? { table, id, workspaceId: log.workspaceId, states: [null], events: [] };
    rows.set(name, row);
    return row;
  };
  for (const event of log.events) {
    if (event.restore?.control != null) endOpenLinks(rows.values(), event.restore.control);
    const changes = event.changes
      .filter(({ kind }) => kind !== "name")
      .flatMap((change) => cleared(change, rows.values()) ?? [{ change, row: rowOf(change) }]);
    for (const { change, row } of changes) {
      const after = row.states.map((state) => changed(change, state));
      row.states = distinct(optional.has(event) ? [...row.states, ...after] : after);
      row.events.push({ event, columns: change.columns });
    }
  }
  return rows;
}

/** Returns the name of a row among those of all workspaces. */
export function rowName(table: ControlTable, id: string, workspaceId: string): string {
  return table === "members" ? `members ${workspaceId} ${id}` : `${table} ${id}`;
}

/** Returns the events that were recorded while a backup was made, which its copy of the control database may not include. */
export function besideBackup({ events }: ControlLog, backupCreatedAt: string): readonly ControlEvent[] {
  const first = events.findIndex(({ timestamp }) => timestamp >= backupCreatedAt);
  return first < 0 ? [] : events.slice(first);
}

/**
 * Returns the workspaces that the log of the installation names, with their events, except those that a backup may
 * lack.
 */
export function workspacesNamed(log: ControlLog, lag: Lag): { id: string; event: ControlEvent }[] {
  const without = lagging(log, lag);
  for (const [index, { restore }] of log.events.entries()) {
    // Workspaces that were created while the backup was made may be missing in it, and in a directory restored from it.
    const before = restore === null ? [] : log.events.slice(0, index);
    for (const event of before) if (event.timestamp >= (restore?.backupCreatedAt ?? "")) without.add(event);
  }
  return log.events
    .filter((event) => !without.has(event))
    .flatMap((event) => event.changes.filter(({ kind }) => kind === "name").map(({ id }) => ({ id, event })));
}

function lagging(log: ControlLog, { backupCreatedAt, afterSeq }: Lag): Set<ControlEvent> {
  const later = log.events.filter(({ seq }) => seq > afterSeq);
  return new Set(backupCreatedAt === null ? later : [...later, ...besideBackup(log, backupCreatedAt)]);
}

/**
 * Returns the changes of the single rows for a change that clears the rows of an account; null for any other change.
 */
function cleared({ table, id, kind }: RowChange, rows: Iterable<ExpectedRow>) {
  if (kind !== "clear") return null;
  return [...rows]
    .filter((row) => row.table === table && row.states.some((state) => state?.account_id === id))
    .map((row) => ({ change: { table, id: row.id, kind: "remove", columns: {} } as const, row }));
}

function changed({ kind, columns }: RowChange, state: RowState): RowState {
  if (kind === "remove") return null;
  return kind === "add" ? columns : { ...state, ...columns };
}

/** Applies a restore's revocation of the links that were not used. */
function endOpenLinks(rows: Iterable<ExpectedRow>, { linksRevokedAt }: RestoredControl): void {
  for (const row of rows) {
    if (row.table !== "links") continue;
    const ended = row.states.map((state) =>
      state !== null && state.used_at == null && state.revoked_at == null
        ? { ...state, revoked_at: linksRevokedAt }
        : state,
    );
    row.states = distinct(ended);
  }
}

function distinct(states: readonly RowState[]): RowState[] {
  return [...new Map(states.map((state) => [JSON.stringify(state), state])).values()];
}

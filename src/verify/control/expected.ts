/**
 * Replays the events of one workspace to derive the rows of the control database that belong to it.
 *
 * A row has one expected state, unless it is unknown which of its events the control database includes. Such events are
 * optional: each row may be in the state before or after them. Events are optional
 * - if they were recorded while a backup was made, after its copy of the control database (in the backup, and in a
 * directory
 *   that an older version restored from it);
 * - if they were recorded while the control database was read;
 * - if they contradict each other. Older versions recorded acts that were refused when several were requested at once.
 */
import type { ControlTable, RowChange, Stated, StatedColumns } from "../../log/control-effects.ts";
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
  for (;;) {
    const { rows, contradicting } = replay(log, optional);
    const found = contradicting.filter((event) => !optional.has(event));
    if (found.length === 0) return rows;
    for (const event of found) optional.add(event);
  }
}

/** Returns the name of a row among those of all workspaces. */
export function rowName(table: ControlTable, id: string, workspaceId: string): string {
  return table === "members" ? `members ${workspaceId} ${id}` : `${table} ${id}`;
}

/** The events that were recorded while a backup was made, which its copy of the control database may not include. */
interface Window {
  /** When the backup was begun, RFC 3339. Empty when the restore does not state it. */
  since: string;
  /** When a version restored the backup that did not reapply the log; null in the backup itself. */
  until: string | null;
  events: ControlEvent[];
}

/** Returns the windows of a log. `backupCreatedAt` is null when this is not a backup. */
export function windowsOf({ events }: ControlLog, backupCreatedAt: string | null): Window[] {
  const window = (since: string, until: string | null, before: readonly ControlEvent[]): Window => {
    const first = before.findIndex(({ timestamp }) => timestamp >= since);
    return { since, until, events: first < 0 ? [] : before.slice(first) };
  };
  const restored = events.flatMap(({ restore, timestamp }, index) =>
    restore?.control === null ? [window(restore.backupCreatedAt ?? "", timestamp, events.slice(0, index))] : [],
  );
  return backupCreatedAt === null ? restored : [...restored, window(backupCreatedAt, null, events)];
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
  return new Set([...later, ...windowsOf(log, backupCreatedAt).flatMap(({ events }) => events)]);
}

interface Replayed {
  rows: Map<string, ExpectedRow>;
  contradicting: ControlEvent[];
}

function replay(log: ControlLog, optional: ReadonlySet<ControlEvent>): Replayed {
  const rows = new Map<string, ExpectedRow>();
  const contradicting: ControlEvent[] = [];
  const rowOf = ({ table, id }: RowChange): ExpectedRow => {
    const name = rowName(table, id, log.workspaceId);
    const row = rows.get(name) ?? { table, id, workspaceId: log.workspaceId, states: [null], events: [] };
    rows.set(name, row);
    return row;
  };
  for (const event of log.events) {
    const { restore } = event;
    if (restore !== null) endOpenLinks(rows.values(), restore.control);
    const changes = event.changes
      .filter(({ kind }) => kind !== "name")
      .flatMap((change) => cleared(change, rows.values()) ?? [{ change, row: rowOf(change) }]);
    const owned =
      restore === null &&
      event.changes.some(({ table }) => table === "members") &&
      ownersAmong(rows.values()).length > 0;
    const unfit = changes.filter(({ change, row }) => !row.states.some((state) => fits(change, state)));
    for (const { row } of unfit) contradicting.push(event, ...row.events.slice(-1).map((last) => last.event));
    for (const { change, row } of changes) {
      const after = row.states.map((state) => changed(change, state));
      row.states = distinct(optional.has(event) ? [...row.states, ...after] : after);
      row.events.push({ event, columns: change.columns });
    }
    // A workspace keeps an owner.
    if (owned && ownersAmong(rows.values()).length === 0) {
      const owners = [...rows.values()].filter(({ events }) => events.some(({ columns }) => columns.role === "owner"));
      contradicting.push(event, ...owners.flatMap((row) => row.events.slice(-1).map((last) => last.event)));
    }
  }
  return { rows, contradicting };
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

function fits({ kind, unset = [] }: RowChange, state: RowState): boolean {
  if (kind === "add") return state === null;
  if (state === null) return kind === "put";
  return unset.every((column) => state[column] == null);
}

function changed({ kind, columns }: RowChange, state: RowState): RowState {
  if (kind === "remove") return null;
  return kind === "add" ? columns : { ...state, ...columns };
}

/**
 * Applies a restore's revocation of unused links. A restore by an older version did not state which links, and when.
 */
function endOpenLinks(rows: Iterable<ExpectedRow>, control: RestoredControl | null): void {
  for (const row of rows) {
    if (row.table !== "links") continue;
    const revoked = row.states.map((state) =>
      state !== null && state.used_at == null && state.revoked_at == null
        ? { ...state, revoked_at: control?.linksRevokedAt ?? (true as const) }
        : state,
    );
    row.states = distinct(control === null ? [...row.states, ...revoked] : revoked);
  }
}

const ownersAmong = (rows: Iterable<ExpectedRow>): ExpectedRow[] =>
  [...rows].filter(({ table, states }) => table === "members" && states.some((state) => state?.role === "owner"));

function distinct(states: readonly RowState[]): RowState[] {
  return [...new Map(states.map((state) => [JSON.stringify(state), state])).values()];
}

/** Reports whether a column has its stated content. A column that an older schema lacks counts as matching. */
export function holds(stated: Stated, stored: string | number | null | undefined): boolean {
  return stored === undefined || (stated === true ? stored !== null : stored === stated);
}

/**
 * Brings the restored control database to what the restored logs state. A backup copies the control database first, so
 * acts that were recorded until the logs were copied may be missing in it: without them a revoked key or a removed
 * member would come back. The rows are those that the verifier expects (`src/verify/control/expected.ts`).
 */
import { ROLES } from "../control/accounts/members.ts";
import type { ControlTable, Stated } from "../log/control-effects.ts";
import type { RestoredControl } from "../log/restores.ts";
import type { Connection } from "../store/connection.ts";
import type { SqlValue } from "../store/values.ts";
import type { ControlEvent, ControlLog } from "../verify/control/events.ts";
import { type ExpectedRow, expectedRows, type RowState } from "../verify/control/expected.ts";
import { differences, type StoredRow, storedRows } from "../verify/control/stored.ts";

/** A row that was not as the log of its workspace states. */
export interface ReappliedRow {
  workspaceId: string;
  table: ControlTable;
  id: string;
  change: "added" | "removed" | "changed";
  /** The columns that were changed. */
  columns: string[];
  /** The last event about the row. */
  event: Pick<ControlEvent, "seq" | "operation" | "timestamp">;
}

export interface Reapplied {
  rows: ReappliedRow[];
  /** For each workspace, the rows that could not be made: no event holds an account, or the digest of an old key. */
  leftOut: Map<string, RestoredControl["rowsLeftOut"]>;
}

/**
 * Reapplies the logs. Runs inside a transaction.
 * @param copiedAt when the backup began to be made, RFC 3339
 */
export function reapplyLogs(connection: Connection, logs: readonly ControlLog[], copiedAt: string): Reapplied {
  const stored = storedRows(connection);
  const reapplied: Reapplied = { rows: [], leftOut: new Map() };
  for (const log of logs) {
    const leftOut: RestoredControl["rowsLeftOut"] = [];
    for (const [name, row] of expectedRows(log, { backupCreatedAt: null, afterSeq: log.headSeq })) {
      const current = stored.get(name);
      const state = stateOf(row, current, copiedAt);
      const columns = differences(state, current);
      if (columns?.length === 0) continue;
      const { table, id, workspaceId } = row;
      if (!store(connection, row, state, columns)) {
        leftOut.push({ table, id });
        continue;
      }
      const change = state === null ? "removed" : columns === null ? "added" : "changed";
      const { seq, operation, timestamp } = (row.events.at(-1) as ExpectedRow["events"][number]).event;
      const event = { seq, operation, timestamp };
      reapplied.rows.push({ workspaceId, table, id, change, columns: columns ?? [], event });
    }
    reapplied.leftOut.set(log.workspaceId, leftOut);
  }
  return reapplied;
}

/**
 * Returns the state that a row must have. A log of an older version may allow several: then the stored one is kept if
 * the backup had seen the row's last event, and otherwise the row gets the one with the fewest rights.
 */
function stateOf({ states, events, table }: ExpectedRow, current: StoredRow | undefined, copiedAt: string): RowState {
  const agreeing = states.find((state) => differences(state, current)?.length === 0);
  const seen = events.every(({ event }) => event.timestamp < copiedAt);
  if (agreeing !== undefined && (seen || states.length === 1)) return agreeing;
  // Only members are ever removed.
  const possible = current === undefined || table === "members" ? states : states.filter((state) => state !== null);
  return possible.toSorted((a, b) => rightsOf(a) - rightsOf(b))[0] ?? null;
}

/** Orders the states of one row by how much they allow. */
function rightsOf(state: RowState): number {
  if (state === null) return 0;
  if (state.revoked_at != null || state.used_at != null) return 1;
  if (typeof state.expires_at === "number") return state.expires_at;
  return Number.MAX_SAFE_INTEGER - ROLES.indexOf(state.role as never);
}

const KEY_COLUMNS: Readonly<Record<ControlTable, readonly string[]>> = {
  workspaces: ["id"],
  api_keys: ["id"],
  members: ["workspace_id", "account_id"],
  links: ["id"],
};

/** Stores a row in a state. Returns false when the log does not hold enough to make it. `columns` is null for a new one. */
function store(connection: Connection, row: ExpectedRow, state: RowState, columns: readonly string[] | null): boolean {
  const { table, id, workspaceId, events } = row;
  const key = table === "members" ? [workspaceId, id] : [id];
  const where = `WHERE ${KEY_COLUMNS[table].map((column) => `${column} = ?`).join(" AND ")}`;
  if (state === null) return connection.run(`DELETE FROM ${table} ${where}`, key) === 1;
  const stated = (column: string): SqlValue => {
    const value = state[column] as Stated;
    if (value === true) return timeOf(events.findLast((said) => column in said.columns)?.event);
    return column === "digest" ? Uint8Array.fromHex(value as string) : value;
  };
  if (columns !== null) {
    const set = columns.map((column) => `${column} = ?`).join(", ");
    return connection.run(`UPDATE ${table} SET ${set} ${where}`, [...columns.map(stated), ...key]) === 1;
  }
  if (table === "members" && connection.get("SELECT 1 FROM accounts WHERE id = ?", [id]) === undefined) return false;
  if ((table === "api_keys" || table === "links") && typeof state.digest !== "string") return false;
  // When these rows were made, no event of the founding of a workspace says in its details.
  const now = timeOf(events[0]?.event);
  const first = { workspaces: { created_at: now }, members: { joined_at: now }, api_keys: {}, links: {} }[table];
  const own = Object.fromEntries(Object.keys(state).map((column) => [column, stated(column)]));
  const keyed = Object.fromEntries(KEY_COLUMNS[table].map((column, at) => [column, key[at] as string]));
  const values: Record<string, SqlValue> = { ...first, ...own, ...keyed };
  const names = Object.keys(values);
  const sql = `INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`;
  // The row of another key with this digest stays.
  return connection.run(`${sql} ON CONFLICT DO NOTHING`, Object.values(values)) === 1;
}

const timeOf = (event: ControlEvent | undefined): number => Date.parse(event?.timestamp ?? "");

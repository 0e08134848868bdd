/**
 * Corrects the restored control database by the restored logs. A backup copies the control database first, so it may
 * lack acts that were recorded until the logs were copied, and a revoked key or a removed member would come back. The
 * correct rows are those that the verifier expects (`src/verify/control/expected.ts`).
 */
import type { ControlTable, Stated } from "../log/control-effects.ts";
import type { RestoredControl } from "../log/restores.ts";
import type { Connection } from "../store/connection.ts";
import type { SqlValue } from "../store/values.ts";
import type { ControlEvent, ControlLog } from "../verify/control/events.ts";
import { type ExpectedRow, expectedRows, type RowState } from "../verify/control/expected.ts";
import { differences, finish, type PendingAct, storedRows } from "../verify/control/stored.ts";

/** A row that differed from what the log of its workspace states. */
export interface ReappliedRow {
  workspace_id: string;
  table: ControlTable;
  id: string;
  change: "added" | "removed" | "changed";
  /** The columns that were changed. */
  columns: string[];
  /** The last event about the row. */
  event: Pick<ControlEvent, "seq" | "operation" | "timestamp">;
}

/** A row to be corrected. `columns` are the different columns; null for a row that is missing or must be removed. */
interface PlannedRow {
  row: ExpectedRow;
  state: RowState;
  columns: string[] | null;
}

export interface ReapplyPlan {
  rows: PlannedRow[];
  /**
   * By workspace, the rows that cannot be made, since no event has the data of an account, or the settings of a sink.
   */
  leftOut: Map<string, RestoredControl["rowsLeftOut"]>;
}

/**
 * Compares the control database, with these pending acts finished, with what the logs state. Changes nothing.
 */
export function planReapplying(
  connection: Connection,
  logs: readonly ControlLog[],
  finished: readonly PendingAct[],
): ReapplyPlan {
  const stored = storedRows(connection);
  for (const act of finished) finish(stored, act);
  const accounts = new Set(connection.all<[string]>("SELECT id FROM accounts").flat());
  for (const [kind, input] of finished.flatMap(({ changes }) => changes)) {
    if (kind === "addAccount") accounts.add(input.id);
  }
  const plan: ReapplyPlan = { rows: [], leftOut: new Map() };
  for (const log of logs) {
    const leftOut: RestoredControl["rowsLeftOut"] = [];
    for (const [name, row] of expectedRows(log, { backupCreatedAt: null, afterSeq: log.headSeq })) {
      const current = stored.get(name);
      // No event is optional, since the logs are complete: a row has one state.
      const [state = null] = row.states;
      const columns = differences(state, current);
      if (columns?.length === 0) continue;
      if (state !== null && !canBring(row, state, columns, accounts)) {
        leftOut.push({ table: row.table, id: row.id });
        if (current !== undefined) plan.rows.push({ row, state: null, columns: null });
      } else plan.rows.push({ row, state, columns });
    }
    plan.leftOut.set(log.workspaceId, leftOut);
  }
  return plan;
}

/** Reports whether the log has all data to correct a row. It has only digests of some columns. */
function canBring(
  row: ExpectedRow,
  state: RowState,
  columns: readonly string[] | null,
  accounts: ReadonlySet<string>,
): boolean {
  return columns === null ? canMake(row, state, accounts) : !columns.some((column) => column.endsWith("_digest"));
}

/** Reports whether the log has all data for a new row. */
function canMake({ table, id }: ExpectedRow, state: RowState, accounts: ReadonlySet<string>): boolean {
  const { made } = TABLES[table];
  if (made === "account") return accounts.has(id);
  return made === "always" || (made === "digest" && typeof state?.digest === "string");
}

/** Carries out the plan; to be called inside a transaction. Returns the corrected rows. */
export function reapply(connection: Connection, { rows }: ReapplyPlan): ReappliedRow[] {
  return rows.map(({ row, state, columns }) => {
    store(connection, row, state, columns);
    const { table, id, workspaceId, events } = row;
    const change = state === null ? "removed" : columns === null ? "added" : "changed";
    const { seq, operation, timestamp } = (events.at(-1) as ExpectedRow["events"][number]).event;
    return {
      workspace_id: workspaceId,
      table,
      id,
      change,
      columns: columns ?? [],
      event: { seq, operation, timestamp },
    };
  });
}

interface TableFacts {
  /** The columns of the primary key. */
  key: readonly string[];
  /** When a missing row can be made again: always, if its account exists, if the log has its digest, or never. */
  made: "always" | "account" | "digest" | "never";
  /** The column with the time when a row was made, which the first events of a workspace do not state. */
  since?: string;
}

const TABLES: Readonly<Record<ControlTable, TableFacts>> = {
  workspaces: { key: ["id"], made: "always", since: "created_at" },
  api_keys: { key: ["id"], made: "digest" },
  members: { key: ["workspace_id", "account_id"], made: "account", since: "joined_at" },
  links: { key: ["id"], made: "digest" },
  passkeys: { key: ["id"], made: "never" },
};

/** Stores a row in a state. `columns` is null for a row that is missing or must be removed. */
function store(connection: Connection, row: ExpectedRow, state: RowState, columns: readonly string[] | null): void {
  const { table, id, workspaceId, events } = row;
  const { key: keyColumns, since } = TABLES[table];
  const key = keyColumns.map((column) => (column === "workspace_id" ? workspaceId : id));
  const where = `WHERE ${keyColumns.map((column) => `${column} = ?`).join(" AND ")}`;
  if (state === null) return void connection.run(`DELETE FROM ${table} ${where}`, key);
  const stated = (column: string): SqlValue => {
    const value = state[column] as Stated;
    return column === "digest" ? Uint8Array.fromHex(value as string) : value;
  };
  if (columns !== null) {
    const set = columns.map((column) => `${column} = ?`).join(", ");
    return void connection.run(`UPDATE ${table} SET ${set} ${where}`, [...columns.map(stated), ...key]);
  }
  const first = since === undefined ? {} : { [since]: timeOf(events[0]?.event) };
  const own = Object.fromEntries(Object.keys(state).map((column) => [column, stated(column)]));
  const keyed = Object.fromEntries(keyColumns.map((column, at) => [column, key[at] as string]));
  const values: Record<string, SqlValue> = { ...first, ...own, ...keyed };
  const names = Object.keys(values);
  connection.run(
    `INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`,
    Object.values(values),
  );
}

const timeOf = (event: ControlEvent | undefined): number => Date.parse(event?.timestamp ?? "");

/**
 * Reads the stored rows of the control database that events cover, and applies pending acts to them.
 */

import { orNull } from "../../failure.ts";
import { isJsonObject, type JsonValue } from "../../json.ts";
import { type ControlTable, columnsDigest, PASSKEY_DIGESTED } from "../../log/control-effects.ts";
import { CanonicalJsonError, canonicalJson } from "../../log/jcs.ts";
import { JsonTextError, parseStrictJson } from "../../log/json-scan.ts";
import { LINKS } from "../../ops/accounts/links.ts";
import { MEMBERS } from "../../ops/accounts/members.ts";
import { PASSKEYS } from "../../ops/accounts/passkey-records.ts";
import type { Change } from "../../ops/directory/changes.ts";
import { KEYS } from "../../ops/directory/keys.ts";
import { INSTALLATION_CREATOR, WORKSPACES } from "../../ops/directory/workspaces.ts";
import type { Connection } from "../../store/connection.ts";
import type { SqlValue } from "../../store/values.ts";
import { decodeText, integer, textBytes } from "../columns.ts";
import type { ControlEvent } from "./events.ts";
import { type RowState, rowName } from "./expected.ts";

/** Columns by name; bytes as hex. */
type Columns = Record<string, string | number | null>;

export interface StoredRow {
  table: ControlTable;
  id: string;
  workspaceId: string;
  columns: Columns;
}

/** The type of a column. */
type ColumnType = "text" | "integer" | "bytes";

/** The columns of each table that events cover, by their types. */
export const COVERED: Readonly<Record<ControlTable, Readonly<Record<string, ColumnType>>>> = {
  workspaces: { id: "text", name: "text", created_by: "text", second_factor_since: "integer" },
  api_keys: {
    id: "text",
    workspace_id: "text",
    digest: "bytes",
    label: "text",
    scope: "text",
    agents: "text",
    networks: "text",
    created_at: "integer",
    created_by: "text",
    expires_at: "integer",
    revoked_at: "integer",
    revoked_by: "text",
    replaced_by: "text",
  },
  members: { workspace_id: "text", account_id: "text", role: "text", joined_at: "integer" },
  links: {
    id: "text",
    kind: "text",
    digest: "bytes",
    workspace_id: "text",
    role: "text",
    account_id: "text",
    drops_totp: "integer",
    label: "text",
    created_at: "integer",
    created_by: "text",
    expires_at: "integer",
    used_at: "integer",
    used_by: "text",
    revoked_at: "integer",
  },
  passkeys: {
    id: "text",
    account_id: "text",
    rp_id: "text",
    created_at: "integer",
    ...(Object.fromEntries(PASSKEY_DIGESTED.map((column) => [column, "text"])) as Record<string, "text">),
  },
};

/** Columns of which events state only a digest, and the name of the digest. */
const DIGESTED: Partial<Record<ControlTable, readonly [name: string, columns: readonly string[]]>> = {
  passkeys: ["credential_digest", PASSKEY_DIGESTED],
};

/** A text that no column can contain. */
const NO_TEXT = "\u0000";

/** The rows of one workspace, and the rows with these ids in any workspace. */
interface RowsOfOne {
  workspaceId: string;
  ids: readonly string[];
}

/** Returns the rows of the covered tables, by name: all of them, or those of one workspace. */
export function storedRows(connection: Connection, only?: RowsOfOne): Map<string, StoredRow> {
  const rows = new Map<string, StoredRow>();
  const installation = installationOf(connection);
  for (const [table, covered] of Object.entries(COVERED) as [ControlTable, (typeof COVERED)[ControlTable]][]) {
    const types = Object.entries(covered);
    const read = types.map(([column, type]) =>
      type === "integer" ? integer(column) : type === "bytes" ? `CAST(${column} AS BLOB)` : textBytes(column),
    );
    const workspace = WORKSPACE_OF[table] ?? "workspace_id";
    const id = table === "members" ? "account_id" : "id";
    const [where, parameters] = only
      ? [
          `WHERE ${workspace} = ? OR ${id} IN (SELECT value FROM json_each(?))`,
          [only.workspaceId, JSON.stringify(only.ids)],
        ]
      : ["", []];
    for (const values of connection.all<SqlValue[]>(`SELECT ${read.join(", ")} FROM ${table} ${where}`, parameters)) {
      const columns = Object.fromEntries(
        types.map(([column, type], at) => [column, shown(values[at] as SqlValue, type)]),
      );
      add(rows, table, table === "passkeys" ? { ...columns, workspace_id: installation } : columns);
    }
  }
  return rows;
}

/** SQL: the workspace of a row, if it is not in `workspace_id`. Passkeys belong to the log of the installation. */
const INSTALLATION = `(SELECT id FROM workspaces WHERE created_by = '${INSTALLATION_CREATOR}')`;
const WORKSPACE_OF: Partial<Record<ControlTable, string>> = { workspaces: "id", passkeys: INSTALLATION };

const installationOf = (connection: Connection): string | null => {
  const [bytes = null] = connection.get<[Buffer | null]>(`SELECT ${textBytes(INSTALLATION)}`) ?? [];
  return bytes && decodeText(bytes);
};

function shown(value: SqlValue, type: ColumnType): string | number | null {
  if (value === null || typeof value === "string" || typeof value === "number") return value;
  const bytes = Buffer.from(value as Uint8Array);
  if (type === "bytes") return bytes.toString("hex");
  return decodeText(bytes) ?? NO_TEXT;
}

/** Adds a row. Returns false when it exists already. */
function add(rows: Map<string, StoredRow>, table: ControlTable, columns: Columns): boolean {
  const id = String(table === "members" ? columns.account_id : columns.id);
  const workspaceId = String(table === "workspaces" ? columns.id : columns.workspace_id);
  const name = rowName(table, id, workspaceId);
  if (rows.has(name)) return false;
  rows.set(name, { table, id, workspaceId, columns: withDigest(table, complete(columns)) });
  return true;
}

/** Replaces missing values by null, since a pending act may have been tampered with. */
const complete = (columns: Columns): Columns =>
  Object.fromEntries(Object.entries(columns).map(([column, value]) => [column, value ?? null]));

/** Adds the digest that events state for some columns. */
function withDigest(table: ControlTable, columns: Columns): Columns {
  const [name, digested] = DIGESTED[table] ?? [];
  if (name === undefined || digested === undefined) return columns;
  return { ...columns, [name]: columnsDigest(Object.fromEntries(digested.map((one) => [one, columns[one] ?? null]))) };
}

/**
 * Returns the columns in which a row differs from a state. Null when the row exists but must not, or the other way
 * round.
 */
export function differences(state: RowState, row: StoredRow | undefined): string[] | null {
  if (state === null || row === undefined) return state === null && row === undefined ? [] : null;
  return Object.keys(state).filter((column) => row.columns[column] !== state[column]);
}

/** An act that was decided but not finished. */
export interface PendingAct {
  workspaceId: string;
  event: { id: string; operation: string; actor: string; details: unknown };
  changes: readonly Change[];
}

/** Returns the pending acts, with null for one that is malformed. */
export function pendingActs(connection: Connection): (PendingAct | null)[] {
  const columns = ["workspace_id", "event", "changes"].map(textBytes).join(", ");
  return connection.all<(Buffer | null)[]>(`SELECT ${columns} FROM pending_acts`).map((row) => {
    const [workspaceId = "", event = "", changes = ""] = row.map((bytes) => decodeText(bytes) ?? "");
    return orNull(JsonTextError, () => {
      const [said, made] = [parseStrictJson(event), parseStrictJson(changes)];
      return isEvent(said) && isChanges(made) ? ({ workspaceId, event: said, changes: made } as never) : null;
    });
  });
}

const isEvent = (value: JsonValue): boolean => isJsonObject(value) && typeof value.id === "string";

const isChanges = (value: JsonValue): boolean =>
  Array.isArray(value) &&
  value.every((change) => {
    if (!Array.isArray(change) || change.length !== 2) return false;
    const [kind, input] = change;
    return typeof kind === "string" && Object.hasOwn(APPLY, kind) && isJsonObject(input);
  });

/** Reports whether a pending act states the event that recorded it. */
export function isActOf({ event }: PendingAct, recorded: ControlEvent): boolean {
  const { operation, actor, details } = event;
  if (operation !== recorded.operation || actor !== recorded.actor) return false;
  return orNull(CanonicalJsonError, () => canonicalJson(details as never)) === canonicalJson(recorded.details);
}

/**
 * Applies the changes of a pending act, as `src/ops/directory/changes.ts` does. Returns the previous state of the rows that
 * it changed or removed; null when it adds a row that exists, which the daemon refuses.
 */
export function finish(
  rows: Map<string, StoredRow>,
  { changes, workspaceId }: PendingAct,
): Map<string, StoredRow> | null {
  const before = new Map(rows);
  for (const [kind, input] of changes) {
    const apply = APPLY[kind] as (rows: Rows, input: Change[1], workspaceId: string) => unknown;
    if (apply(rows, input, workspaceId) === false) return null;
  }
  return new Map([...before].filter(([name, row]) => rows.get(name) !== row));
}

type Rows = Map<string, StoredRow>;

type Input<K extends Change[0]> = Extract<Change, readonly [K, unknown]>[1];

/** A change of rows that no event states, which are not compared. */
function uncovered(): void {}

const APPLY: { [K in Change[0]]: (rows: Rows, input: Input<K>, workspaceId: string) => unknown } = {
  addWorkspace: (rows, workspace) => add(rows, "workspaces", WORKSPACES.columns(workspace) as Columns),
  requireSecondFactor: (rows, { id, since }) => set(rows, "workspaces", id, { second_factor_since: since }),
  addKey: (rows, { digest, ...key }) =>
    add(rows, "api_keys", { ...(KEYS.columns(key) as Columns), digest, revoked_by: null }),
  replaceKey: (rows, { id, by, expiresAt }) => set(rows, "api_keys", id, { replaced_by: by, expires_at: expiresAt }),
  limitKey: (rows, { id, networks }) => set(rows, "api_keys", id, { networks: networks && JSON.stringify(networks) }),
  revokeKey: (rows, { id, at, by }) => set(rows, "api_keys", id, { revoked_at: at, revoked_by: by }),
  addAccount: uncovered,
  renameAccount: uncovered,
  setPassword: uncovered,
  beginTotp: uncovered,
  confirmTotp: uncovered,
  dropTotp: uncovered,
  setRecoveryCodes: uncovered,
  addPasskey: (rows, passkey, workspaceId) =>
    add(rows, "passkeys", { ...(PASSKEYS.columns(passkey) as Columns), workspace_id: workspaceId }),
  removePasskey: (rows, { id }) => void rows.delete(rowName("passkeys", id, "")),
  dropPasskeys: (rows, { id }) => {
    for (const [name, { table, columns }] of rows) {
      if (table === "passkeys" && columns.account_id === id) rows.delete(name);
    }
  },
  endSession: uncovered,
  endOtherSessions: uncovered,
  forgetDevices: uncovered,
  issueRole: uncovered,
  addIdentity: uncovered,
  dropIdentity: uncovered,
  chooseIssuerOnly: uncovered,
  endIssuerSessions: uncovered,
  addMember: (rows, member) => add(rows, "members", MEMBERS.columns(member) as Columns),
  setRole: (rows, { workspaceId, accountId, role }) => set(rows, "members", accountId, { role }, workspaceId),
  removeMember: (rows, { workspaceId, accountId }) => void rows.delete(rowName("members", accountId, workspaceId)),
  addLink: (rows, { digest, ...link }) =>
    add(rows, "links", { ...(LINKS.columns(link) as Columns), digest, used_at: null, used_by: null, revoked_at: null }),
  takeLink: (rows, { id, by, at }) => set(rows, "links", id, { used_at: at, used_by: by }),
  revokeInvitation: (rows, { id, at }) => set(rows, "links", id, { revoked_at: at }),
};

function set(rows: Rows, table: ControlTable, id: string, columns: Columns, workspaceId = ""): void {
  const name = rowName(table, id, workspaceId);
  const row = rows.get(name);
  if (row === undefined) return;
  rows.set(name, { ...row, columns: withDigest(table, { ...row.columns, ...complete(columns) }) });
}

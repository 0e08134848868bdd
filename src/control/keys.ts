/** API keys as the control database knows them. The key itself is nowhere: only its SHA-256. */
import type { Connection } from "../store/connection.ts";
import type { SqlValue } from "../store/values.ts";

export const SCOPES = ["full", "agent", "auditor"] as const;

/** What a key may do; see the API's documentation. */
export type KeyScope = (typeof SCOPES)[number];

export interface KeyRecord {
  id: string;
  workspaceId: string;
  label: string | null;
  scope: KeyScope;
  /** The agents that it is limited to; null is every agent. */
  agents: readonly string[] | null;
  createdAt: number;
  createdBy: string;
  expiresAt: number | null;
  lastUsedAt: number | null;
  revokedAt: number | null;
  /** The key that took its place, when it was rotated. */
  replacedBy: string | null;
}

const COLUMNS =
  "id, workspace_id, label, scope, agents, created_at, created_by, expires_at, last_used_at, revoked_at, replaced_by";

type KeyRow = readonly [
  id: string,
  workspaceId: string,
  label: string | null,
  scope: KeyScope,
  agents: string | null,
  createdAt: number,
  createdBy: string,
  expiresAt: number | null,
  lastUsedAt: number | null,
  revokedAt: number | null,
  replacedBy: string | null,
];

function fromRow(row: KeyRow): KeyRecord {
  const [id, workspaceId, label, scope, agents, createdAt, createdBy, expiresAt, ...rest] = row;
  const [lastUsedAt, revokedAt, replacedBy] = rest;
  return {
    id,
    workspaceId,
    label,
    scope,
    agents: agents === null ? null : JSON.parse(agents),
    createdAt,
    createdBy,
    expiresAt,
    lastUsedAt,
    revokedAt,
    replacedBy,
  };
}

/** Stores a new key by its digest. */
export function insertKey(connection: Connection, key: KeyRecord, digest: Uint8Array): void {
  const values: SqlValue[] = [
    key.id,
    key.workspaceId,
    key.label,
    key.scope,
    key.agents && JSON.stringify(key.agents),
    key.createdAt,
    key.createdBy,
    key.expiresAt,
    digest,
  ];
  connection.run(
    "INSERT INTO api_keys (id, workspace_id, label, scope, agents, created_at, created_by, expires_at, digest) " +
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    values,
  );
}

/** A key by its id, revoked or not. */
export function findKey(connection: Connection, id: string): KeyRecord | undefined {
  const row = connection.get<KeyRow>(`SELECT ${COLUMNS} FROM api_keys WHERE id = ?`, [id]);
  return row && fromRow(row);
}

/** A key by its digest, revoked or not. */
export function findKeyByDigest(connection: Connection, digest: Uint8Array): KeyRecord | undefined {
  const row = connection.get<KeyRow>(`SELECT ${COLUMNS} FROM api_keys WHERE digest = ?`, [digest]);
  return row && fromRow(row);
}

/** All keys of a workspace, oldest first, revoked ones included. */
export function listKeys(connection: Connection, workspaceId: string): KeyRecord[] {
  return connection
    .all<KeyRow>(`SELECT ${COLUMNS} FROM api_keys WHERE workspace_id = ? ORDER BY created_at, id`, [
      workspaceId,
    ])
    .map(fromRow);
}

/** Revokes a key that is in force; false when it already was revoked, or is not there. */
export function markRevoked(connection: Connection, id: string, at: number, by: string): boolean {
  const sql = "UPDATE api_keys SET revoked_at = ?, revoked_by = ? WHERE id = ? AND revoked_at IS NULL";
  return connection.run(sql, [at, by, id]) === 1;
}

/** Notes when a key was last used; an older time than the noted one changes nothing. */
export function markUsed(connection: Connection, id: string, at: number): void {
  connection.run(
    "UPDATE api_keys SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at < ?)",
    [at, id, at],
  );
}

/** Notes that another key takes the place of one, which ends at `expiresAt`; false when it is revoked. */
export function markReplaced(connection: Connection, id: string, by: string, expiresAt: number): boolean {
  const sql = "UPDATE api_keys SET replaced_by = ?, expires_at = ? WHERE id = ? AND revoked_at IS NULL";
  return connection.run(sql, [by, expiresAt, id]) === 1;
}

/** How many keys of a workspace can be used. */
export function countKeysInForce(connection: Connection, workspaceId: string, now: number): number {
  const sql =
    "SELECT count(*) FROM api_keys WHERE workspace_id = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)";
  return connection.get<[number]>(sql, [workspaceId, now])?.[0] ?? 0;
}

/** Whether a key can be used, and if not, why. */
export function keyState(key: KeyRecord, now: number): "in_force" | "expired" | "revoked" {
  if (key.revokedAt !== null) return "revoked";
  return key.expiresAt !== null && key.expiresAt <= now ? "expired" : "in_force";
}

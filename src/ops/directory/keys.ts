/** API keys in the control database. Only the SHA-256 of a key is stored. */
import { CLOCK_LEEWAY_MS } from "../../ids.ts";
import type { Scope } from "../../operation-facts.ts";
import type { Connection } from "../../store/connection.ts";
import { countOf, Table } from "./table.ts";

export { SCOPES } from "../../operation-facts.ts";

/** What a key may do; see the API's documentation. */
export type KeyScope = Scope;

export interface KeyRecord {
  id: string;
  workspaceId: string;
  label: string | null;
  scope: KeyScope;
  /** The agents that the key is limited to; null means every agent. */
  agents: readonly string[] | null;
  /** The addresses and networks that requests may come from; null means everywhere. */
  networks: readonly string[] | null;
  createdAt: number;
  createdBy: string;
  expiresAt: number | null;
  lastUsedAt: number | null;
  revokedAt: number | null;
  /** The key that replaced this one when it was rotated. */
  replacedBy: string | null;
}

export const KEYS = new Table<KeyRecord>("api_keys", {
  id: "id",
  workspaceId: "workspace_id",
  label: "label",
  scope: "scope",
  agents: { column: "agents", as: "json" },
  networks: { column: "networks", as: "json" },
  createdAt: "created_at",
  createdBy: "created_by",
  expiresAt: "expires_at",
  lastUsedAt: "last_used_at",
  revokedAt: "revoked_at",
  replacedBy: "replaced_by",
});

/** Finds a key by its id, revoked or not. */
export function findKey(connection: Connection, id: string): KeyRecord | undefined {
  return KEYS.find(connection, "WHERE id = ?", [id]);
}

/** Finds a key by its digest, revoked or not. */
export function findKeyByDigest(connection: Connection, digest: Uint8Array): KeyRecord | undefined {
  return KEYS.find(connection, "WHERE digest = ?", [digest]);
}

/** Returns all keys of a workspace, oldest first, including revoked ones. */
export function listKeys(connection: Connection, workspaceId: string): KeyRecord[] {
  return KEYS.list(connection, "WHERE workspace_id = ? ORDER BY created_at, id", [workspaceId]);
}

/** Stores when a key was last used, unless a later time is stored that has come. */
export function markUsed(connection: Connection, id: string, at: number): void {
  KEYS.update(
    connection,
    { last_used_at: at },
    "id = ? AND (last_used_at IS NULL OR last_used_at < ? OR last_used_at > ?)",
    [id, at, at + CLOCK_LEEWAY_MS],
  );
}

/** Returns the number of a workspace's keys that are valid now. */
export function countKeysInForce(connection: Connection, workspaceId: string, now: number): number {
  const sql =
    "SELECT count(*) FROM api_keys WHERE workspace_id = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)";
  return countOf(connection, sql, [workspaceId, now]);
}

/** Reports whether a key is valid now, or why it is not. */
export function keyState(key: KeyRecord, now: number): "in_force" | "expired" | "revoked" {
  if (key.revokedAt !== null) return "revoked";
  return key.expiresAt !== null && key.expiresAt <= now ? "expired" : "in_force";
}

/** Passkeys in the control database. */
import type { Connection } from "../../store/connection.ts";
import { changedOne, countOf, Table } from "../directory/table.ts";

export interface PasskeyRecord {
  id: string;
  accountId: string;
  name: string;
  /** The host name under which the passkey was made. It works only under this one. */
  rpId: string;
  /** The authenticator's id for it, base64url. */
  credentialId: string;
  /** COSE key (RFC 9052), base64url. */
  publicKey: string;
  /** The signature counter of the last signature; 0 when the authenticator has none. */
  counter: number;
  createdAt: number;
  lastUsedAt: number | null;
}

export const PASSKEYS = new Table<PasskeyRecord>("passkeys", {
  id: "id",
  accountId: "account_id",
  name: "name",
  rpId: "rp_id",
  credentialId: "credential_id",
  publicKey: "public_key",
  counter: "counter",
  createdAt: "created_at",
  lastUsedAt: "last_used_at",
});

/** Returns the passkeys of an account, the oldest first. */
export function listPasskeys(connection: Connection, accountId: string): PasskeyRecord[] {
  return PASSKEYS.list(connection, "WHERE account_id = ? ORDER BY created_at, id", [accountId]);
}

export function findPasskey(connection: Connection, credentialId: string): PasskeyRecord | undefined {
  return PASSKEYS.find(connection, "WHERE credential_id = ?", [credentialId]);
}

export function countPasskeys(connection: Connection, accountId: string): number {
  return countOf(connection, "SELECT count(*) FROM passkeys WHERE account_id = ?", [accountId]);
}

/** Stores the use of a passkey. Returns false when another use was stored meanwhile, or the passkey was removed. */
export function markPasskeyUsed(
  connection: Connection,
  { id, counter }: PasskeyRecord,
  now: { counter: number; at: number },
): boolean {
  const set = { counter: now.counter, last_used_at: now.at };
  return PASSKEYS.update(connection, set, "id = ? AND counter = ?", [id, counter]);
}

export const removePasskeyRow = (connection: Connection, accountId: string, id: string): boolean =>
  changedOne(connection, "DELETE FROM passkeys WHERE account_id = ? AND id = ?", [accountId, id]);

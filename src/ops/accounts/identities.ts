/** The identities of accounts at OpenID issuers, in the control database. */
import type { Connection } from "../../store/connection.ts";
import { Table } from "../directory/table.ts";

export interface IdentityRecord {
  issuer: string;
  subject: string;
  accountId: string;
  linkedAt: number;
}

export const IDENTITIES = new Table<IdentityRecord>("identities", {
  issuer: "issuer",
  subject: "subject",
  accountId: "account_id",
  linkedAt: "linked_at",
});

export function findIdentity(connection: Connection, issuer: string, subject: string): IdentityRecord | undefined {
  return IDENTITIES.find(connection, "WHERE issuer = ? AND subject = ?", [issuer, subject]);
}

/** Returns the identities of an account, the oldest first. An account has at most one of each issuer. */
export function listIdentities(connection: Connection, accountId: string): IdentityRecord[] {
  return IDENTITIES.list(connection, "WHERE account_id = ? ORDER BY linked_at, issuer", [accountId]);
}

/** Stores whether the issuer has used more than one factor. */
export function noteFactors(connection: Connection, { issuer, subject }: IdentityRecord, isMultiFactor: boolean): void {
  const set = { multi_factor: isMultiFactor ? 1 : 0 };
  IDENTITIES.update(connection, set, "issuer = ? AND subject = ?", [issuer, subject]);
}

/** Reports whether a member's role came from the issuer's groups. */
export const isIssued = (connection: Connection, workspaceId: string, accountId: string): boolean =>
  connection.get("SELECT 1 FROM issued_roles WHERE workspace_id = ? AND account_id = ?", [workspaceId, accountId]) !==
  undefined;

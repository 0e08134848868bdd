/**
 * One-time links: to make an account (`setup`), to join a workspace (`invitation`), to set a password
 * anew (`reset`). Whoever holds one can use it once, so they are handed over like a key.
 */
import type { Connection } from "../../store/connection.ts";
import type { SqlValue } from "../../store/values.ts";
import type { Role } from "./members.ts";

const DAY_MS = 86_400_000;
/** Life of a link that the command line or a start prints, and of an invitation unless asked otherwise. */
export const LINK_LIFETIME_DAYS = 7;
export const LINK_LIFETIME_MS = LINK_LIFETIME_DAYS * DAY_MS;
export const INVITATION_MAX_DAYS = 30;

export type LinkKind = "setup" | "invitation" | "reset";

export interface LinkRecord {
  id: string;
  kind: LinkKind;
  workspaceId: string | null;
  role: Role | null;
  /** Whose password a reset sets. */
  accountId: string | null;
  /** A reset ends the second factor, too. */
  dropsTotp: boolean;
  label: string | null;
  createdAt: number;
  createdBy: string;
  expiresAt: number;
}

type LinkRow = readonly [
  id: string,
  kind: LinkKind,
  workspaceId: string | null,
  role: Role | null,
  accountId: string | null,
  dropsTotp: number,
  label: string | null,
  createdAt: number,
  createdBy: string,
  expiresAt: number,
];

const COLUMNS =
  "id, kind, workspace_id, role, account_id, drops_totp, label, created_at, created_by, expires_at";
const USABLE = "used_at IS NULL AND revoked_at IS NULL AND expires_at > ?";

function fromRow(row: LinkRow): LinkRecord {
  const [id, kind, workspaceId, role, accountId, dropsTotp, label, createdAt, createdBy, expiresAt] = row;
  return {
    id,
    kind,
    workspaceId,
    role,
    accountId,
    dropsTotp: dropsTotp === 1,
    label,
    createdAt,
    createdBy,
    expiresAt,
  };
}

export function insertLink(connection: Connection, link: LinkRecord, digest: Uint8Array): void {
  const values: SqlValue[] = [
    link.id,
    link.kind,
    link.workspaceId,
    link.role,
    link.accountId,
    link.dropsTotp ? 1 : 0,
    link.label,
    link.createdAt,
    link.createdBy,
    link.expiresAt,
    digest,
  ];
  connection.run(`INSERT INTO links (${COLUMNS}, digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, values);
}

/** A link that can be used now, by its digest. */
export function findUsableLink(
  connection: Connection,
  digest: Uint8Array,
  now: number,
): LinkRecord | undefined {
  const row = connection.get<LinkRow>(`SELECT ${COLUMNS} FROM links WHERE digest = ? AND ${USABLE}`, [
    digest,
    now,
  ]);
  return row && fromRow(row);
}

/** The invitations of a workspace that can still be used, newest first. */
export function listInvitations(connection: Connection, workspaceId: string, now: number): LinkRecord[] {
  return connection
    .all<LinkRow>(
      `SELECT ${COLUMNS} FROM links WHERE workspace_id = ? AND ${USABLE} ORDER BY created_at DESC, id DESC`,
      [workspaceId, now],
    )
    .map(fromRow);
}

/** Uses a link up; false when somebody was faster, or it is over. */
export function takeLink(connection: Connection, id: string, by: string, now: number): boolean {
  return (
    connection.run(`UPDATE links SET used_at = ?, used_by = ? WHERE id = ? AND ${USABLE}`, [
      now,
      by,
      id,
      now,
    ]) === 1
  );
}

/** Ends an invitation of a workspace; false when there is none that could be used. */
export function revokeInvitation(
  connection: Connection,
  workspaceId: string,
  id: string,
  now: number,
): boolean {
  return (
    connection.run(`UPDATE links SET revoked_at = ? WHERE workspace_id = ? AND id = ? AND ${USABLE}`, [
      now,
      workspaceId,
      id,
      now,
    ]) === 1
  );
}

/** Ends the links for the first account that starts of the daemon printed. */
export function revokeStartLinks(connection: Connection, by: string, now: number): void {
  connection.run(`UPDATE links SET revoked_at = ? WHERE kind = 'setup' AND created_by = ? AND ${USABLE}`, [
    now,
    by,
    now,
  ]);
}

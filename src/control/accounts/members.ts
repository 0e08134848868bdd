/** Who belongs to which workspace, and as what. */
import type { Connection } from "../../store/connection.ts";
import type { KeyScope } from "../keys.ts";

export const ROLES = ["owner", "member", "auditor"] as const;

/** What a member may do; see docs/accounts.md. */
export type Role = (typeof ROLES)[number];

/** What a role may do on `/v1`, in the words of API keys. */
export const scopeOfRole = (role: Role): KeyScope => (role === "auditor" ? "auditor" : "full");

export interface MemberRecord {
  accountId: string;
  email: string;
  name: string;
  role: Role;
  joinedAt: number;
}

/** A workspace as one of its members sees it. */
export interface Membership {
  id: string;
  name: string;
  role: Role;
  createdAt: number;
}

type MemberRow = readonly [accountId: string, email: string, name: string, role: Role, joinedAt: number];

const MEMBERS =
  "SELECT a.id, a.email, a.name, m.role, m.joined_at FROM members m JOIN accounts a ON a.id = m.account_id";

function memberOf([accountId, email, name, role, joinedAt]: MemberRow): MemberRecord {
  return { accountId, email, name, role, joinedAt };
}

/** The members of a workspace, in the order in which they joined. */
export function listMembers(connection: Connection, workspaceId: string): MemberRecord[] {
  return connection
    .all<MemberRow>(`${MEMBERS} WHERE m.workspace_id = ? ORDER BY m.joined_at, a.id`, [workspaceId])
    .map(memberOf);
}

export function findMember(
  connection: Connection,
  workspaceId: string,
  accountId: string,
): MemberRecord | undefined {
  const row = connection.get<MemberRow>(`${MEMBERS} WHERE m.workspace_id = ? AND m.account_id = ?`, [
    workspaceId,
    accountId,
  ]);
  return row && memberOf(row);
}

type MembershipRow = readonly [id: string, name: string, role: Role, createdAt: number];

/** The workspaces of an account, in the order in which it joined them. */
export function listMemberships(connection: Connection, accountId: string): Membership[] {
  return connection
    .all<MembershipRow>(
      "SELECT w.id, w.name, m.role, w.created_at FROM members m JOIN workspaces w ON w.id = m.workspace_id " +
        "WHERE m.account_id = ? ORDER BY m.joined_at, w.id",
      [accountId],
    )
    .map(([id, name, role, createdAt]) => ({ id, name, role, createdAt }));
}

/** Adds a member; false when they are one already. */
export function insertMember(
  connection: Connection,
  member: { workspaceId: string; accountId: string; role: Role; joinedAt: number },
): boolean {
  return (
    connection.run(
      "INSERT INTO members (workspace_id, account_id, role, joined_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
      [member.workspaceId, member.accountId, member.role, member.joinedAt],
    ) === 1
  );
}

export function setRole(connection: Connection, workspaceId: string, accountId: string, role: Role): void {
  connection.run("UPDATE members SET role = ? WHERE workspace_id = ? AND account_id = ?", [
    role,
    workspaceId,
    accountId,
  ]);
}

export function deleteMember(connection: Connection, workspaceId: string, accountId: string): void {
  connection.run("DELETE FROM members WHERE workspace_id = ? AND account_id = ?", [workspaceId, accountId]);
}

/** Whether a workspace has an owner besides this account. */
export function hasOtherOwner(connection: Connection, workspaceId: string, accountId: string): boolean {
  return (
    connection.get("SELECT 1 FROM members WHERE workspace_id = ? AND role = 'owner' AND account_id <> ?", [
      workspaceId,
      accountId,
    ]) !== undefined
  );
}

/** How many workspaces an account owns. */
export function countOwned(connection: Connection, accountId: string): number {
  return (
    connection.get<[number]>("SELECT count(*) FROM members WHERE account_id = ? AND role = 'owner'", [
      accountId,
    ])?.[0] ?? 0
  );
}

export function countMembers(connection: Connection, workspaceId: string): number {
  return (
    connection.get<[number]>("SELECT count(*) FROM members WHERE workspace_id = ?", [workspaceId])?.[0] ?? 0
  );
}

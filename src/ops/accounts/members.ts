/** The members of workspaces and their roles. */
import type { IssuedRole } from "../../oidc/group-roles.ts";
import { Problem, secondFactorMissing } from "../../problem.ts";
import type { Connection } from "../../store/connection.ts";
import type { ControlDatabase } from "../directory/database.ts";
import type { KeyScope } from "../directory/keys.ts";
import { countOf, Table } from "../directory/table.ts";
import { OF_INSTALLATION } from "../directory/workspaces.ts";
import { NO_PASSWORD } from "./accounts.ts";

export const ROLES = ["owner", "member", "auditor"] as const satisfies readonly IssuedRole[];

/** What a member may do; see docs/accounts.md. */
export type Role = (typeof ROLES)[number];

/** Returns the scope of an API key that has the same rights on `/v1` as a role. */
export const scopeOfRole = (role: Role): KeyScope => (role === "auditor" ? "auditor" : "full");

export interface MemberRecord {
  accountId: string;
  email: string;
  name: string;
  role: Role;
  joinedAt: number;
}

/** A workspace, with the role of one of its members. */
export interface Membership {
  id: string;
  name: string;
  role: Role;
  createdAt: number;
  /** Whether its members need a second factor. */
  requiresSecondFactor: boolean;
  /** Whether the member cannot use it for lack of a second factor. */
  locked: boolean;
}

type MemberRow = readonly [accountId: string, email: string, name: string, role: Role, joinedAt: number];

/** Returns the members of a workspace in the order in which they joined. */
export function listMembers(connection: Connection, workspaceId: string): MemberRecord[] {
  const sql = `SELECT a.id, a.email, a.name, m.role, m.joined_at FROM members m JOIN accounts a ON a.id = m.account_id
    WHERE m.workspace_id = ? ORDER BY m.joined_at, a.id`;
  return connection
    .all<MemberRow>(sql, [workspaceId])
    .map(([accountId, email, name, role, joinedAt]) => ({ accountId, email, name, role, joinedAt }));
}

export function findMember(connection: Connection, workspaceId: string, accountId: string): MemberRecord | undefined {
  return listMembers(connection, workspaceId).find((member) => member.accountId === accountId);
}

/** The membership of a workspace that an account has just created. */
export const FOUNDER = { role: "owner", requiresSecondFactor: false, locked: false } as const;

/**
 * SQL: the condition that an account has a second factor. For an account without a password, the issuer must have
 * stated at the last sign-in that it used more than one factor. A password alone is never enough.
 */
const HAS_SECOND_FACTOR = `(a.totp_since IS NOT NULL OR EXISTS (SELECT 1 FROM passkeys p WHERE p.account_id = a.id) OR a.password = '${NO_PASSWORD}' AND EXISTS
  (SELECT 1 FROM identities i WHERE i.account_id = a.id AND i.multi_factor = 1))`;

type MembershipRow = readonly [
  ...[id: string, name: string, role: Role, createdAt: number],
  requiresSecondFactor: number,
  hasSecondFactor: number,
];

/** Returns the workspaces of an account in the order in which it joined them, without the log of the installation. */
export function listMemberships(connection: Connection, accountId: string): Membership[] {
  return connection
    .all<MembershipRow>(
      `SELECT w.id, w.name, m.role, w.created_at, w.second_factor_since IS NOT NULL, ${HAS_SECOND_FACTOR}
       FROM members m JOIN workspaces w ON w.id = m.workspace_id JOIN accounts a ON a.id = m.account_id
       WHERE m.account_id = ? AND NOT w.${OF_INSTALLATION} ORDER BY m.joined_at, w.id`,
      [accountId],
    )
    .map(([id, name, role, createdAt, requires, has]) => {
      const requiresSecondFactor = requires === 1;
      return { id, name, role, createdAt, requiresSecondFactor, locked: requiresSecondFactor && has === 0 };
    });
}

/** Returns the membership of an account in a workspace, which may be locked. @throws {Problem} `workspace_not_found` */
export function findMembership({ control }: { control: ControlDatabase }, accountId: string, workspaceId: string) {
  const found = listMemberships(control.connection, accountId).find(({ id }) => id === workspaceId);
  if (found === undefined) {
    throw new Problem(
      "workspace_not_found",
      "You are not a member of such a workspace. GET /account/workspaces lists your workspaces.",
    );
  }
  return found;
}

/**
 * Returns the membership of an account in a workspace that it can use.
 * @throws {Problem} `workspace_not_found`, `second_factor_missing`
 */
export function requireMembership(parts: { control: ControlDatabase }, accountId: string, workspaceId: string) {
  const found = findMembership(parts, accountId, workspaceId);
  if (found.locked) throw secondFactorMissing();
  return found;
}

/**
 * Like {@link requireMembership}, for owners only.
 * @throws {Problem} `workspace_not_found`, `second_factor_missing`, `forbidden`
 */
export function requireOwner(parts: { control: ControlDatabase }, accountId: string, workspaceId: string): Membership {
  const membership = requireMembership(parts, accountId, workspaceId);
  if (membership.role === "owner") return membership;
  throw new Problem("forbidden", "Only an owner of the workspace may do this. Ask an owner.");
}

export interface NewMember {
  workspaceId: string;
  accountId: string;
  role: Role;
  joinedAt: number;
}

export const MEMBERS = new Table<NewMember>("members", {
  workspaceId: "workspace_id",
  accountId: "account_id",
  role: "role",
  joinedAt: "joined_at",
});

/** Reports whether a workspace has an owner besides this account. */
export function hasOtherOwner(connection: Connection, workspaceId: string, accountId: string): boolean {
  const sql = "SELECT 1 FROM members WHERE workspace_id = ? AND role = 'owner' AND account_id <> ?";
  return connection.get(sql, [workspaceId, accountId]) !== undefined;
}

/** Returns how many workspaces an account owns. */
export function countOwned(connection: Connection, accountId: string): number {
  const sql = "SELECT count(*) FROM members WHERE account_id = ? AND role = 'owner'";
  return countOf(connection, sql, [accountId]);
}

export function countMembers(connection: Connection, workspaceId: string): number {
  return countOf(connection, "SELECT count(*) FROM members WHERE workspace_id = ?", [workspaceId]);
}

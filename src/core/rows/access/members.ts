/** The members of a workspace, and the invitations to it, as its file has them: the rows that events state. */
import type { Role } from "../../../operation-facts.ts";
import type { Reader } from "../../../store/transaction.ts";

/** Times are ms since the Unix epoch. */
export interface StoredMember {
  accountId: string;
  role: Role;
  /** The issuer whose groups gave the role; null when a person or the operator did. */
  issuer: string | null;
  joinedAt: number;
}

const MEMBER = `SELECT m.account_id, m.role, m.issuer, j.timestamp FROM members m
  JOIN events j ON j.seq = m.joined_seq`;

type MemberRow = [accountId: string, role: Role, issuer: string | null, joinedAt: string];

const memberOf = ([accountId, role, issuer, joinedAt]: MemberRow): StoredMember => ({
  ...{ accountId, role, issuer, joinedAt: Date.parse(joinedAt) },
});

/** Returns the members in the order in which they joined. */
export async function listMembers(reader: Reader): Promise<StoredMember[]> {
  return (await reader.all<MemberRow>(`${MEMBER} ORDER BY m.joined_seq`)).map(memberOf);
}

export async function findMember(reader: Reader, accountId: string): Promise<StoredMember | undefined> {
  const row = await reader.get<MemberRow>(`${MEMBER} WHERE m.account_id = ?`, [accountId]);
  return row && memberOf(row);
}

/** Reports whether there is an owner besides this account. */
export async function hasOtherOwner(reader: Reader, accountId: string): Promise<boolean> {
  const sql = "SELECT 1 FROM members WHERE role = 'owner' AND account_id <> ?";
  return (await reader.get(sql, [accountId])) !== undefined;
}

/** Returns since when members need a second factor, ms since the Unix epoch; null when they need none. */
export async function secondFactorSince(reader: Reader): Promise<number | null> {
  return (await reader.value<number | null>("SELECT second_factor_since FROM workspace")) ?? null;
}

/** An invitation that can be used: it was neither used nor withdrawn, and has not expired. */
export interface OpenInvitation {
  id: string;
  role: Role;
  label: string | null;
  createdAt: number;
  createdBy: string;
  expiresAt: number;
}

const INVITATION = `SELECT i.id, i.role, i.label, c.timestamp, c.actor, i.expires_at
  FROM invitations i JOIN events c ON c.seq = i.created_seq WHERE i.ended_seq IS NULL AND i.expires_at > ?`;

type InvitationRow = [
  ...[id: string, role: Role, label: string | null],
  ...[createdAt: string, createdBy: string, expiresAt: number],
];

const invitationOf = ([id, role, label, createdAt, createdBy, expiresAt]: InvitationRow): OpenInvitation => ({
  ...{ id, role, label, createdAt: Date.parse(createdAt), createdBy, expiresAt },
});

/** Returns the open invitations, newest first. */
export async function listOpenInvitations(reader: Reader, nowMs: number): Promise<OpenInvitation[]> {
  const rows = await reader.all<InvitationRow>(`${INVITATION} ORDER BY i.created_seq DESC`, [nowMs]);
  return rows.map(invitationOf);
}

/** Finds an open invitation by the SHA-256 of its token, hex. */
export async function findOpenInvitation(
  reader: Reader,
  digest: string,
  nowMs: number,
): Promise<OpenInvitation | undefined> {
  const row = await reader.get<InvitationRow>(`${INVITATION} AND i.digest = ?`, [nowMs, digest]);
  return row && invitationOf(row);
}

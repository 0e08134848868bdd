/** Sessions as the control database knows them. The cookie itself is nowhere: only its SHA-256. */
import type { Connection } from "../../store/connection.ts";

const HOUR_MS = 3_600_000;
/** A session that is not used for so long ends. */
export const SESSION_IDLE_MS = 12 * HOUR_MS;
/** However it is used, a session ends so long after it began. */
export const SESSION_LIFETIME_MS = 7 * 24 * HOUR_MS;
/** Sessions of one account; beginning one more ends the one unused for longest. */
const MAX_SESSIONS = 50;

export interface SessionRecord {
  id: string;
  accountId: string;
  createdAt: number;
  lastSeenAt: number;
  expiresAt: number;
  address: string;
  userAgent: string;
}

type SessionRow = readonly [
  id: string,
  accountId: string,
  createdAt: number,
  lastSeenAt: number,
  expiresAt: number,
  address: string,
  userAgent: string,
];

const COLUMNS = "id, account_id, created_at, last_seen_at, expires_at, address, user_agent";

function fromRow(row: SessionRow): SessionRecord {
  const [id, accountId, createdAt, lastSeenAt, expiresAt, address, userAgent] = row;
  return { id, accountId, createdAt, lastSeenAt, expiresAt, address, userAgent };
}

/** When a session ends if it is not used again. */
export const sessionEnd = (session: SessionRecord): number =>
  Math.min(session.expiresAt, session.lastSeenAt + SESSION_IDLE_MS);

/** Stores a new session by its digest, and ends those of the account that are over or too many. */
export function insertSession(connection: Connection, session: SessionRecord, digest: Uint8Array): void {
  const { id, accountId, createdAt, lastSeenAt, expiresAt, address, userAgent } = session;
  connection.run(
    "DELETE FROM sessions WHERE account_id = ? AND (expires_at <= ? OR last_seen_at <= ? OR id NOT IN " +
      "(SELECT id FROM sessions WHERE account_id = ? ORDER BY last_seen_at DESC LIMIT ?))",
    [accountId, createdAt, createdAt - SESSION_IDLE_MS, accountId, MAX_SESSIONS - 1],
  );
  connection.run(`INSERT INTO sessions (${COLUMNS}, digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, [
    id,
    accountId,
    createdAt,
    lastSeenAt,
    expiresAt,
    address,
    userAgent,
    digest,
  ]);
}

export function findSessionByDigest(connection: Connection, digest: Uint8Array): SessionRecord | undefined {
  const row = connection.get<SessionRow>(`SELECT ${COLUMNS} FROM sessions WHERE digest = ?`, [digest]);
  return row && fromRow(row);
}

/** An account's sessions that are not over, the most recently used first. */
export function listSessions(connection: Connection, accountId: string, now: number): SessionRecord[] {
  return connection
    .all<SessionRow>(
      `SELECT ${COLUMNS} FROM sessions WHERE account_id = ? AND expires_at > ? AND last_seen_at > ? ` +
        "ORDER BY last_seen_at DESC, id DESC",
      [accountId, now, now - SESSION_IDLE_MS],
    )
    .map(fromRow);
}

/** Ends one session of an account; false when there is none of that id. */
export function deleteSession(connection: Connection, accountId: string, id: string): boolean {
  return connection.run("DELETE FROM sessions WHERE account_id = ? AND id = ?", [accountId, id]) === 1;
}

/** Ends all sessions of an account but one (null: really all); answers how many. */
export function deleteOtherSessions(connection: Connection, accountId: string, keep: string | null): number {
  return connection.run("DELETE FROM sessions WHERE account_id = ? AND id IS NOT ?", [accountId, keep]);
}

/** Notes when a session was last used; an older time than the noted one changes nothing. */
export function markSeen(connection: Connection, id: string, at: number): void {
  connection.run("UPDATE sessions SET last_seen_at = ? WHERE id = ? AND last_seen_at < ?", [at, id, at]);
}

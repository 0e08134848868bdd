/** Sessions in the control database. Only the SHA-256 of a session's cookie is stored. */
import { CLOCK_LEEWAY_MS } from "../../ids.ts";
import type { Connection } from "../../store/connection.ts";
import { Table } from "../directory/table.ts";

const HOUR_MS = 3_600_000;
/** A session ends when it is not used for this long, ms. */
const SESSION_IDLE_MS = 12 * HOUR_MS;
/** A session ends this long after it began, even when it is used, ms. */
export const SESSION_LIFETIME_MS = 7 * 24 * HOUR_MS;
/** The lifetime of a session from an issuer, ms. The person's groups are read again at the next sign-in. */
export const ISSUER_SESSION_LIFETIME_MS = 8 * HOUR_MS;
/** The most sessions of one account. Another one ends the session that was unused for longest. */
const MAX_SESSIONS = 50;

export interface SessionRecord {
  id: string;
  accountId: string;
  createdAt: number;
  lastSeenAt: number;
  expiresAt: number;
  address: string;
  userAgent: string;
  /** The session at the issuer; empty when the issuer named none, null for a session without an issuer. */
  issuerSession: string | null;
}

const SESSIONS = new Table<SessionRecord>("sessions", {
  id: "id",
  accountId: "account_id",
  createdAt: "created_at",
  lastSeenAt: "last_seen_at",
  expiresAt: "expires_at",
  address: "address",
  userAgent: "user_agent",
  issuerSession: "issuer_session",
});

/** Returns when a session ends if it is not used again. */
export const sessionEnd = (session: SessionRecord): number =>
  Math.min(session.expiresAt, session.lastSeenAt + SESSION_IDLE_MS);

/** Stores a new session by its digest, and deletes the account's sessions that have ended or exceed the limit. */
export function insertSession(connection: Connection, session: SessionRecord, digest: Uint8Array): void {
  const { accountId, createdAt } = session;
  connection.run(
    "DELETE FROM sessions WHERE account_id = ? AND (expires_at <= ? OR last_seen_at <= ? OR id NOT IN " +
      "(SELECT id FROM sessions WHERE account_id = ? ORDER BY last_seen_at DESC LIMIT ?))",
    [accountId, createdAt, createdAt - SESSION_IDLE_MS, accountId, MAX_SESSIONS - 1],
  );
  SESSIONS.insert(connection, session, { digest });
}

export function findSessionByDigest(connection: Connection, digest: Uint8Array): SessionRecord | undefined {
  return SESSIONS.find(connection, "WHERE digest = ?", [digest]);
}

/** Returns an account's sessions that have not ended, the most recently used first. */
export function listSessions(connection: Connection, accountId: string, now: number): SessionRecord[] {
  return SESSIONS.list(
    connection,
    "WHERE account_id = ? AND expires_at > ? AND last_seen_at > ? ORDER BY last_seen_at DESC, id DESC",
    [accountId, now, now - SESSION_IDLE_MS],
  );
}

/** Stores when a session was last used, unless a later time is stored that has come. */
export function markSeen(connection: Connection, id: string, at: number): void {
  SESSIONS.update(connection, { last_seen_at: at }, "id = ? AND (last_seen_at < ? OR last_seen_at > ?)", [
    id,
    at,
    at + CLOCK_LEEWAY_MS,
  ]);
}

/** Ends all sessions of all accounts. Returns how many it ended. */
export const deleteAllSessions = (connection: Connection): number => connection.change("DELETE FROM sessions");

/** Sessions as the file of the installation has them: the rows that events state, and when each session was last used. */
import { showTime } from "../../../ids.ts";
import type { WhichSessions } from "../../../operation-facts.ts";
import type { Reader } from "../../../store/transaction.ts";
import type { SqlValue } from "../../../store/values.ts";
import type { AuthorisedBy } from "../../writer/contract.ts";

const HOUR_MS = 3_600_000;
/** A session ends when it is not used for this long, ms. */
const SESSION_IDLE_MS = 12 * HOUR_MS;

/** Times are ms since the Unix epoch. */
export interface StoredSession {
  id: string;
  accountId: string;
  createdAt: number;
  lastSeenAt: number;
  expiresAt: number;
  /** The second factor with which it began; null without one. */
  secondFactor: AuthorisedBy["second_factor"];
  address: string;
  userAgent: string;
  /** The session at the issuer; empty when the issuer named none, null for a session without an issuer. */
  issuerSession: string | null;
}

/** Returns when a session ends if it is not used again. */
export const sessionEnd = (session: Pick<StoredSession, "expiresAt" | "lastSeenAt">): number =>
  Math.min(session.expiresAt, session.lastSeenAt + SESSION_IDLE_MS);

/** Returns what the events of a session state of it. */
export const authorisedBy = ({ id, createdAt, secondFactor }: StoredSession): AuthorisedBy => ({
  session_id: id,
  second_factor: secondFactor,
  second_factor_at: secondFactor && showTime(createdAt),
});

const SESSION = `SELECT s.id, s.account_id, c.timestamp, u.last_seen_at, s.expires_at, s.second_factor, s.address, s.user_agent,
  s.issuer_session FROM sessions s JOIN events c ON c.seq = s.created_seq LEFT JOIN session_use u ON u.id = s.id`;

type SessionRow = [
  ...[id: string, accountId: string, createdAt: string, lastSeenAt: number | null, expiresAt: number],
  ...[secondFactor: StoredSession["secondFactor"], address: string, userAgent: string, issuerSession: string | null],
];

function sessionOf(row: SessionRow): StoredSession {
  const [id, accountId, createdAt, lastSeenAt, expiresAt, secondFactor, address, userAgent, issuerSession] = row;
  const begunAt = Date.parse(createdAt);
  return {
    ...{ id, accountId, createdAt: begunAt, lastSeenAt: lastSeenAt ?? begunAt, expiresAt },
    ...{ secondFactor, address, userAgent, issuerSession },
  };
}

const some = async (reader: Reader, rest: string, values: readonly SqlValue[]): Promise<StoredSession[]> =>
  (await reader.all<SessionRow>(`${SESSION} ${rest}`, values)).map(sessionOf);

/** Finds a session by the SHA-256 of its cookie, hex. It may have expired. */
export async function findSession(reader: Reader, digest: string): Promise<StoredSession | undefined> {
  const row = await reader.get<SessionRow>(`${SESSION} WHERE s.digest = ?`, [digest]);
  return row && sessionOf(row);
}

/** Returns the sessions of an account, also expired ones, the most recently used first. */
export async function listStoredSessions(reader: Reader, accountId: string): Promise<StoredSession[]> {
  const found = await some(reader, "WHERE s.account_id = ?", [accountId]);
  return found.sort((a, b) => b.lastSeenAt - a.lastSeenAt || (a.id < b.id ? 1 : -1));
}

/** As {@link listStoredSessions}, without those that have ended by themselves. */
export const listSessions = async (reader: Reader, accountId: string, nowMs: number): Promise<StoredSession[]> =>
  (await listStoredSessions(reader, accountId)).filter((session) => sessionEnd(session) > nowMs);

/** Returns the ids of sessions of an account, also expired ones, the most recently used first. */
export async function sessionIds(reader: Reader, accountId: string, which: WhichSessions): Promise<string[]> {
  const sessions = await listStoredSessions(reader, accountId);
  return sessions.filter((session) => isAmong(session, which)).map(({ id }) => id);
}

function isAmong({ id, issuerSession }: StoredSession, which: WhichSessions): boolean {
  if ("id" in which) return id === which.id;
  if ("allBut" in which) return id !== which.allBut;
  return issuerSession !== null && (which.session === null || issuerSession === which.session);
}

/** Returns the accounts with sessions that began with a session at an issuer. */
export const accountsOfIssuerSession = async (reader: Reader, session: string): Promise<string[]> =>
  (await reader.all<[string]>("SELECT DISTINCT account_id FROM sessions WHERE issuer_session = ?", [session])).flat();

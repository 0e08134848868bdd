/** Beginning a session, with the two secrets that the browser gets. */
import type { Connection } from "../../store/connection.ts";
import { digestOf, isSecret, makeSecret } from "../secret.ts";
import { isKnownDevice, rememberDevice } from "./accounts.ts";
import type { AccountParts, Origin } from "./parts.ts";
import { insertSession, SESSION_LIFETIME_MS, type SessionRecord } from "./sessions.ts";

/** Characters of a user agent that are kept. */
const USER_AGENT_LENGTH = 256;

/** A session that has just begun; the only time that its secrets are seen. */
export interface BegunSession {
  session: SessionRecord;
  /** For the session's cookie. */
  token: string;
  /** For the device's cookie. */
  device: string;
}

/** Begins a session of an account. Part of a change of the control database. */
export function beginSession(
  connection: Connection,
  { clock, ids, random }: AccountParts,
  account: { id: string; email: string },
  origin: Origin,
): BegunSession {
  const now = clock();
  const { text: token, digest } = makeSecret(random);
  const session: SessionRecord = {
    id: ids.next("ses"),
    accountId: account.id,
    createdAt: now,
    lastSeenAt: now,
    expiresAt: now + SESSION_LIFETIME_MS,
    address: origin.address,
    userAgent: printable(origin.userAgent),
  };
  insertSession(connection, session, digest);
  const known = knownDevice(connection, account.email, origin.device);
  const device = known ?? makeSecret(random).text;
  rememberDevice(connection, account.id, digestOf(device), now);
  return { session, token, device };
}

/** The device's secret when it belongs to this account, else null. */
export function knownDevice(connection: Connection, email: string, device: string | null): string | null {
  if (device === null || !isSecret(device)) return null;
  return isKnownDevice(connection, email, digestOf(device)) ? device : null;
}

function printable(text: string): string {
  return text
    .replace(/\p{Cc}/gu, "")
    .slice(0, USER_AGENT_LENGTH)
    .toWellFormed();
}

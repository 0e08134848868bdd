/**
 * Begins sessions, and finds a session by its cookie, on the main thread and without waiting. Like API keys, known
 * sessions are cached until the control database changes.
 */

import type { Principal } from "../../core/writer/contract.ts";
import type { Connection } from "../../store/connection.ts";
import type { ControlDatabase } from "../directory/database.ts";
import { type KeeperOptions, RecordCache } from "../directory/record-cache.ts";
import { digestName, digestOf, isSecret, makeSecret } from "../directory/secret.ts";
import { isKnownDevice, rememberDevice } from "./accounts.ts";
import { listMemberships, scopeOfRole } from "./members.ts";
import { findOperator } from "./operators.ts";
import type { AccountParts, Origin } from "./parts.ts";
import {
  findSessionByDigest,
  ISSUER_SESSION_LIFETIME_MS,
  insertSession,
  markSeen,
  SESSION_LIFETIME_MS,
  type SessionRecord,
  sessionEnd,
} from "./sessions.ts";

/** The most sessions to cache. */
const MAX_KNOWN_SESSIONS = 10_000;

/** A valid session and the workspaces that its account belongs to. */
export interface SignedIn {
  session: SessionRecord;
  accountId: string;
  /** The principals by workspace id; for an operator, including the one for the log of the installation. */
  principals: ReadonlyMap<string, Principal>;
  /** The ids of workspaces that the account cannot use, because they require a second factor. */
  locked: ReadonlySet<string>;
  /** An operator's principal for the log of the installation; null for others. */
  installation: Principal | null;
}

/** What an operator may do in the log of the installation. */
const OPERATOR = { scope: "auditor", agents: null, installation: true, person: true } as const;

export class SessionKeeper extends RecordCache<SignedIn> {
  constructor(
    control: ControlDatabase,
    private readonly options: KeeperOptions,
  ) {
    super(control, { most: MAX_KNOWN_SESSIONS, writeUse: markSeen, onError: options.onError });
  }

  /**
   * Returns the session of a token; null when it is unknown or has ended. With `use` the call counts as a use of the
   * session, which extends it. A mere check must not extend a session.
   */
  find(token: string, { use } = { use: true }): SignedIn | null {
    if (!isSecret(token)) return null;
    const digest = digestOf(token);
    const name = digestName(digest);
    const known = this.get(name) ?? this.#lookUp(name, digest);
    if (known === undefined) return null;
    const { session } = known;
    const now = this.options.clock();
    session.lastSeenAt = Math.max(session.lastSeenAt, this.unwrittenUse(session.id));
    if (now >= sessionEnd(session)) return null;
    if (!use) return known;
    this.used(session.id, now);
    session.lastSeenAt = now;
    return known;
  }

  #lookUp(name: string, digest: Uint8Array): SignedIn | undefined {
    const { connection } = this.control;
    const session = findSessionByDigest(connection, digest);
    if (session === undefined) return undefined;
    const { accountId } = session;
    const { usable = [], locked = [] } = Object.groupBy(listMemberships(connection, accountId), (membership) =>
      membership.locked ? "locked" : "usable",
    );
    const principals = new Map(
      usable.map(({ id, role }): [string, Principal] => [
        id,
        Object.freeze({ actor: accountId, workspaceId: id, scope: scopeOfRole(role), agents: null, person: true }),
      ]),
    );
    const operator = findOperator(connection, accountId);
    const installation: Principal | null =
      operator && Object.freeze({ ...OPERATOR, actor: accountId, workspaceId: operator.id });
    if (installation !== null) principals.set(installation.workspaceId, installation);
    const lockedIds = new Set(locked.map(({ id }) => id));
    return this.keep(name, { session, accountId, principals, locked: lockedIds, installation });
  }
}

/** How many characters of a user agent are stored. */
const USER_AGENT_LENGTH = 256;

/** A new session. Its secrets are available only now. */
export interface BegunSession {
  session: SessionRecord;
  /** The value of the session's cookie. */
  token: string;
  /** The value of the device's cookie. */
  device: string;
}

/**
 * Begins a session of an account; to be called in a transaction of the control database.
 * @param issuerSession the session at the issuer; null for a sign-in without an issuer
 */
export function beginSession(
  connection: Connection,
  { clock, ids, random }: AccountParts,
  account: { id: string; email: string },
  origin: Origin,
  { issuerSession = null }: { issuerSession?: string | null } = {},
): BegunSession {
  const now = clock();
  const { text: token, digest } = makeSecret(random);
  const session: SessionRecord = {
    id: ids.next("ses"),
    accountId: account.id,
    createdAt: now,
    lastSeenAt: now,
    expiresAt: now + (issuerSession === null ? SESSION_LIFETIME_MS : ISSUER_SESSION_LIFETIME_MS),
    address: origin.address,
    userAgent: printable(origin.userAgent),
    issuerSession,
  };
  insertSession(connection, session, digest);
  const known = knownDevice(connection, account.email, origin.device);
  const device = known ?? makeSecret(random).text;
  rememberDevice(connection, account.id, digestOf(device), now);
  return { session, token, device };
}

/** Returns the device's secret if it belongs to this account, else null. */
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

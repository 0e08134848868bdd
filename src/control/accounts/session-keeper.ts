/**
 * From a session's cookie to who is signed in, on the main thread, without waiting: like the keys, known
 * sessions are held in memory until the control database changes.
 */
import type { Clock } from "../../ids.ts";
import type { Principal } from "../../workspace/contract.ts";
import type { ControlDatabase } from "../database.ts";
import { RecordCache } from "../record-cache.ts";
import { digestName, digestOf, isSecret } from "../secret.ts";
import { listMemberships, scopeOfRole } from "./members.ts";
import { findSessionByDigest, markSeen, type SessionRecord, sessionEnd } from "./sessions.ts";

/** Sessions that are held in memory; past it the map starts anew. */
const MAX_KNOWN_SESSIONS = 10_000;

/** A session in force and the workspaces that it may choose among. */
export interface SignedIn {
  session: SessionRecord;
  accountId: string;
  /** By workspace: who asks when that one is chosen. */
  principals: ReadonlyMap<string, Principal>;
}

export interface SessionKeeperOptions {
  clock: Clock;
  /** What to do when a background write or look fails; it is tried again at the next interval. */
  onError: (error: unknown) => void;
}

export class SessionKeeper implements Disposable {
  readonly #control: ControlDatabase;
  readonly #clock: Clock;
  readonly #cache: RecordCache<SignedIn>;

  constructor(control: ControlDatabase, { clock, onError }: SessionKeeperOptions) {
    this.#control = control;
    this.#clock = clock;
    this.#cache = new RecordCache(control, { most: MAX_KNOWN_SESSIONS, writeUse: markSeen, onError });
  }

  /**
   * Whose session this is, or null when it is unknown, ended or over. Using it keeps it from idling out,
   * looking at it does not.
   */
  find(token: string, { use } = { use: true }): SignedIn | null {
    if (!isSecret(token)) return null;
    const digest = digestOf(token);
    const name = digestName(digest);
    const known = this.#cache.get(name) ?? this.#lookUp(name, digest);
    if (known === undefined) return null;
    const { session } = known;
    const now = this.#clock();
    session.lastSeenAt = Math.max(session.lastSeenAt, this.#cache.unwrittenUse(session.id));
    if (now >= sessionEnd(session)) return null;
    if (!use) return known;
    this.#cache.used(session.id, now);
    session.lastSeenAt = now;
    return known;
  }

  [Symbol.dispose](): void {
    this.#cache[Symbol.dispose]();
  }

  #lookUp(name: string, digest: Uint8Array): SignedIn | undefined {
    const { connection } = this.#control;
    const session = findSessionByDigest(connection, digest);
    if (session === undefined) return undefined;
    const { accountId } = session;
    const principals = new Map(
      listMemberships(connection, accountId).map(({ id, role }): [string, Principal] => [
        id,
        Object.freeze({ actor: accountId, workspaceId: id, scope: scopeOfRole(role), agents: null }),
      ]),
    );
    return this.#cache.keep(name, { session, accountId, principals });
  }
}

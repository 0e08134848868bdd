/**
 * From a session's cookie to who is signed in, on the main thread, without waiting: like the keys, known
 * sessions are held in memory until the control database changes.
 */
import type { Clock } from "../ids.ts";
import type { Principal } from "../workspace/contract.ts";
import type { ControlDatabase } from "./database.ts";
import { listMemberships, scopeOfRole } from "./members.ts";
import { digestName, digestOf, isSecret } from "./secret.ts";
import { findSessionByDigest, markSeen, type SessionRecord, sessionEnd } from "./sessions.ts";

/** Sessions that are held in memory; past it the map starts anew. */
const MAX_KNOWN_SESSIONS = 10_000;
/** How often the database itself is asked whether another process changed it. */
const BACKSTOP_INTERVAL_MS = 1_000;
/** How often the times of last use are written. */
const LAST_SEEN_INTERVAL_MS = 30_000;

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
  readonly #onError: (error: unknown) => void;
  readonly #known = new Map<string, SignedIn>();
  readonly #seen = new Map<string, number>();
  readonly #timers: NodeJS.Timeout[];
  #generation: number;
  #dataVersion: number;

  constructor(control: ControlDatabase, { clock, onError }: SessionKeeperOptions) {
    this.#control = control;
    this.#clock = clock;
    this.#onError = onError;
    this.#generation = control.generation.current;
    this.#dataVersion = this.#readDataVersion();
    this.#timers = [
      this.#every(BACKSTOP_INTERVAL_MS, () => this.checkDatabase()),
      this.#every(LAST_SEEN_INTERVAL_MS, () => this.writeLastSeen()),
    ];
  }

  /**
   * Whose session this is, or null when it is unknown, ended or over. Using it keeps it from idling out,
   * looking at it does not.
   */
  find(token: string, { use } = { use: true }): SignedIn | null {
    if (!isSecret(token)) return null;
    const { generation } = this.#control;
    if (generation.current !== this.#generation) {
      // Read before the database is: a change in between shows as yet another generation.
      this.#generation = generation.current;
      this.#known.clear();
    }
    const digest = digestOf(token);
    const name = digestName(digest);
    const known = this.#known.get(name) ?? this.#lookUp(name, digest);
    if (known === undefined) return null;
    const { session } = known;
    const now = this.#clock();
    session.lastSeenAt = Math.max(session.lastSeenAt, this.#seen.get(session.id) ?? 0);
    if (now >= sessionEnd(session)) return null;
    if (!use) return known;
    this.#seen.set(session.id, now);
    session.lastSeenAt = now;
    return known;
  }

  /** Forgets all sessions when another process changed the database since the last look. */
  checkDatabase(): void {
    const version = this.#readDataVersion();
    if (version === this.#dataVersion) return;
    this.#dataVersion = version;
    this.#known.clear();
  }

  /** Writes the times of last use that are not written yet, in one transaction. */
  writeLastSeen(): void {
    if (this.#seen.size === 0) return;
    const { connection } = this.#control;
    connection.exec("BEGIN IMMEDIATE");
    try {
      for (const [id, at] of this.#seen) markSeen(connection, id, at);
      connection.exec("COMMIT");
    } catch (error) {
      if (connection.inTransaction) connection.exec("ROLLBACK");
      throw error;
    }
    this.#seen.clear();
  }

  [Symbol.dispose](): void {
    for (const timer of this.#timers) clearInterval(timer);
    try {
      this.writeLastSeen();
    } catch (error) {
      this.#onError(error);
    }
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
    const known = { session, accountId, principals };
    if (this.#known.size >= MAX_KNOWN_SESSIONS) this.#known.clear();
    this.#known.set(name, known);
    return known;
  }

  #readDataVersion(): number {
    return this.#control.connection.get<[number]>("PRAGMA data_version")?.[0] ?? 0;
  }

  #every(ms: number, work: () => void): NodeJS.Timeout {
    const timer = setInterval(() => {
      try {
        work();
      } catch (error) {
        this.#onError(error);
      }
    }, ms);
    return timer.unref();
  }
}

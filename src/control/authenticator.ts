/**
 * From an API key to who is asking, on the main thread, without waiting.
 *
 * A key that was seen before costs a hash and a look into a map. The map is emptied whenever the shared
 * generation moves, which is how a revocation by another process takes effect at once; should a process
 * be killed between its commit and that signal, `PRAGMA data_version` shows the change within a second.
 */
import type { Clock } from "../ids.ts";
import type { Principal } from "../workspace/contract.ts";
import { apiKeyDigest, isWellFormedApiKey } from "./api-key.ts";
import type { ControlDatabase } from "./database.ts";
import { findKeyByDigest, type KeyRecord, markUsed } from "./keys.ts";

/** Keys that are held in memory; past it the map starts anew. */
const MAX_KNOWN_KEYS = 100_000;
/** How often the database itself is asked whether another process changed it. */
const BACKSTOP_INTERVAL_MS = 1_000;
/** How often the times of last use are written. */
const LAST_USE_INTERVAL_MS = 30_000;

interface Known {
  principal: Principal;
  expiresAt: number;
}

export interface AuthenticatorOptions {
  clock: Clock;
  /** What to do when a background write or look fails; it is tried again at the next interval. */
  onError: (error: unknown) => void;
}

export class Authenticator implements Disposable {
  readonly #control: ControlDatabase;
  readonly #clock: Clock;
  readonly #onError: (error: unknown) => void;
  readonly #known = new Map<string, Known>();
  readonly #lastUse = new Map<string, number>();
  readonly #timers: NodeJS.Timeout[];
  #generation: number;
  #dataVersion: number;

  constructor(control: ControlDatabase, { clock, onError }: AuthenticatorOptions) {
    this.#control = control;
    this.#clock = clock;
    this.#onError = onError;
    this.#generation = control.generation.current;
    this.#dataVersion = this.#readDataVersion();
    this.#timers = [
      this.#every(BACKSTOP_INTERVAL_MS, () => this.checkDatabase()),
      this.#every(LAST_USE_INTERVAL_MS, () => this.writeLastUse()),
    ];
  }

  /**
   * Who holds this key, or null when it is malformed, unknown, revoked or expired. The same key gives the
   * same object until keys change.
   */
  authenticate(apiKey: string): Principal | null {
    if (!isWellFormedApiKey(apiKey)) return null;
    const generation = this.#control.generation.current;
    if (generation !== this.#generation) {
      // Read before the database is: a change in between shows as yet another generation.
      this.#generation = generation;
      this.#known.clear();
    }
    const now = this.#clock();
    const digest = apiKeyDigest(apiKey);
    const name = Buffer.from(digest.buffer, digest.byteOffset, digest.length).toString("latin1");
    const known = this.#known.get(name) ?? this.#lookUp(name, digest);
    if (known === undefined || now >= known.expiresAt) return null;
    this.#lastUse.set(known.principal.actor, now);
    return known.principal;
  }

  /** Forgets all keys when another process changed the database since the last look. */
  checkDatabase(): void {
    const version = this.#readDataVersion();
    if (version === this.#dataVersion) return;
    this.#dataVersion = version;
    this.#known.clear();
  }

  /** Writes the times of last use that are not written yet, in one transaction. */
  writeLastUse(): void {
    if (this.#lastUse.size === 0) return;
    const used = [...this.#lastUse];
    const { connection } = this.#control;
    connection.exec("BEGIN IMMEDIATE");
    try {
      for (const [id, at] of used) markUsed(connection, id, at);
      connection.exec("COMMIT");
    } catch (error) {
      if (connection.inTransaction) connection.exec("ROLLBACK");
      throw error;
    }
    for (const [id, at] of used) if (this.#lastUse.get(id) === at) this.#lastUse.delete(id);
  }

  [Symbol.dispose](): void {
    for (const timer of this.#timers) clearInterval(timer);
    try {
      this.writeLastUse();
    } catch (error) {
      this.#onError(error);
    }
  }

  #lookUp(name: string, digest: Uint8Array): Known | undefined {
    const record = findKeyByDigest(this.#control.connection, digest);
    if (record === undefined || record.revokedAt !== null) return undefined;
    const known = { principal: principalOf(record), expiresAt: record.expiresAt ?? Number.POSITIVE_INFINITY };
    if (this.#known.size >= MAX_KNOWN_KEYS) this.#known.clear();
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
    // Neither keeps a process alive that is otherwise done.
    return timer.unref();
  }
}

function principalOf(record: KeyRecord): Principal {
  const { id, workspaceId, scope, agents } = record;
  return Object.freeze({ actor: id, workspaceId, scope, agents });
}

/** Authenticates API keys on the main thread, without waiting. A known key costs one hash and one map lookup. */
import type { Clock } from "../ids.ts";
import type { Principal } from "../workspace/contract.ts";
import { isWellFormedApiKey, KEY_LENGTH } from "./api-key.ts";
import type { ControlDatabase } from "./database.ts";
import { findKeyByDigest, type KeyRecord, markUsed } from "./keys.ts";
import { RecordCache } from "./record-cache.ts";
import { digestName, digestOf } from "./secret.ts";

/** The most keys to hold in memory. */
const MAX_KNOWN_KEYS = 100_000;

interface Known {
  principal: Principal;
  expiresAt: number;
}

export interface AuthenticatorOptions {
  clock: Clock;
  /** Called when a background read or write fails. It is retried at the next interval. */
  onError: (error: unknown) => void;
}

export class Authenticator implements Disposable {
  readonly #control: ControlDatabase;
  readonly #clock: Clock;
  readonly #cache: RecordCache<Known>;

  constructor(control: ControlDatabase, { clock, onError }: AuthenticatorOptions) {
    this.#control = control;
    this.#clock = clock;
    this.#cache = new RecordCache(control, { most: MAX_KNOWN_KEYS, writeUse: markUsed, onError });
  }

  /**
   * Returns the principal of a key, or null when the key is malformed, unknown, revoked or expired. Returns the same
   * object for the same key until keys change.
   */
  authenticate(apiKey: string): Principal | null {
    if (apiKey.length !== KEY_LENGTH) return null;
    const digest = digestOf(apiKey);
    const name = digestName(digest);
    const known = this.#cache.get(name) ?? (isWellFormedApiKey(apiKey) ? this.#lookUp(name, digest) : undefined);
    const now = this.#clock();
    if (known === undefined || now >= known.expiresAt) return null;
    this.#cache.used(known.principal.actor, now);
    return known.principal;
  }

  /** Clears the cache if another process changed the database since the last call. */
  checkDatabase(): void {
    this.#cache.checkDatabase();
  }

  /** Writes the pending times of last use in one transaction. */
  writeLastUse(): void {
    this.#cache.writeLastUse();
  }

  [Symbol.dispose](): void {
    this.#cache[Symbol.dispose]();
  }

  #lookUp(name: string, digest: Uint8Array): Known | undefined {
    const record = findKeyByDigest(this.#control.connection, digest);
    if (record === undefined || record.revokedAt !== null) return undefined;
    const expiresAt = record.expiresAt ?? Number.POSITIVE_INFINITY;
    return this.#cache.keep(name, { principal: principalOf(record), expiresAt });
  }
}

function principalOf(record: KeyRecord): Principal {
  const { id, workspaceId, scope, agents } = record;
  return Object.freeze({ actor: id, workspaceId, scope, agents });
}

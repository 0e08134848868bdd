/**
 * From an API key to who is asking, on the main thread, without waiting: a key that was seen before costs
 * a hash and a look into a map.
 */
import type { Clock } from "../ids.ts";
import type { Principal } from "../workspace/contract.ts";
import { apiKeyDigest, isWellFormedApiKey, KEY_LENGTH } from "./api-key.ts";
import type { ControlDatabase } from "./database.ts";
import { findKeyByDigest, type KeyRecord, markUsed } from "./keys.ts";
import { RecordCache } from "./record-cache.ts";
import { digestName } from "./secret.ts";

/** Keys that are held in memory; past it the map starts anew. */
const MAX_KNOWN_KEYS = 100_000;

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
  readonly #cache: RecordCache<Known>;

  constructor(control: ControlDatabase, { clock, onError }: AuthenticatorOptions) {
    this.#control = control;
    this.#clock = clock;
    this.#cache = new RecordCache(control, { most: MAX_KNOWN_KEYS, writeUse: markUsed, onError });
  }

  /**
   * Who holds this key, or null when it is malformed, unknown, revoked or expired. The same key gives the
   * same object until keys change.
   */
  authenticate(apiKey: string): Principal | null {
    if (apiKey.length !== KEY_LENGTH) return null;
    const digest = apiKeyDigest(apiKey);
    const name = digestName(digest);
    const known =
      this.#cache.get(name) ?? (isWellFormedApiKey(apiKey) ? this.#lookUp(name, digest) : undefined);
    const now = this.#clock();
    if (known === undefined || now >= known.expiresAt) return null;
    this.#cache.used(known.principal.actor, now);
    return known.principal;
  }

  /** Forgets all keys when another process changed the database since the last look. */
  checkDatabase(): void {
    this.#cache.checkDatabase();
  }

  /** Writes the times of last use that are not written yet, in one transaction. */
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

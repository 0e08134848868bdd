/** Authenticates API keys on the main thread, without waiting. A known key costs one hash and one map lookup. */

import type { Principal } from "../../core/writer/contract.ts";
import { Networks } from "../../networks.ts";
import { workspaceOfKey } from "./api-key.ts";
import type { ControlDatabase } from "./database.ts";
import { findKeyByDigest, markUsed } from "./keys.ts";
import { type KeeperOptions, RecordCache } from "./record-cache.ts";
import { digestName, digestOf } from "./secret.ts";

/** The most keys to cache. */
const MAX_KNOWN_KEYS = 100_000;

interface Known {
  principal: Principal;
  expiresAt: number;
}

export class Authenticator extends RecordCache<Known> {
  /** The networks of principals whose keys are limited to networks. */
  readonly #networks = new WeakMap<Principal, Networks>();

  constructor(
    control: ControlDatabase,
    private readonly options: KeeperOptions,
  ) {
    super(control, { most: MAX_KNOWN_KEYS, writeUse: markUsed, onError: options.onError });
  }

  /**
   * Returns the principal of a key, or null when the key is malformed, unknown, revoked or expired. Returns the same
   * object for the same key until keys change.
   */
  authenticate(apiKey: string): Principal | null {
    if (workspaceOfKey(apiKey) === null) return null;
    const digest = digestOf(apiKey);
    const name = digestName(digest);
    const known = this.get(name) ?? this.#lookUp(name, digest);
    const now = this.options.clock();
    if (known === undefined || now >= known.expiresAt) return null;
    this.used(known.principal.actor, now);
    return known.principal;
  }

  /**
   * Reports whether requests of a principal may come from an address.
   * @param address returns the address; called only when the key is limited to networks
   */
  allowsFrom(principal: Principal, address: () => string): boolean {
    const networks = this.#networks.get(principal);
    return networks === undefined || networks.includes(address());
  }

  #lookUp(name: string, digest: Uint8Array): Known | undefined {
    const record = findKeyByDigest(this.control.connection, digest);
    if (record === undefined || record.revokedAt !== null) return undefined;
    const expiresAt = record.expiresAt ?? Number.POSITIVE_INFINITY;
    const { id, workspaceId, scope, agents, networks } = record;
    const principal = Object.freeze({ actor: id, workspaceId, scope, agents });
    if (networks !== null) this.#networks.set(principal, new Networks(networks));
    return this.keep(name, { principal, expiresAt });
  }
}

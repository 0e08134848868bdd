/**
 * Authenticates API keys on the main thread. A known key costs one hash and one map lookup; any other key is looked up
 * in the workspace that it names.
 */

import type { Principal } from "../../core/writer/contract.ts";
import { Networks } from "../../networks.ts";
import { workspaceOfKey } from "./api-key.ts";
import type { ControlDatabase } from "./database.ts";
import { type KeyRecord, markUsed } from "./keys.ts";
import { type KeeperOptions, RecordCache } from "./record-cache.ts";
import { digestName, digestOf } from "./secret.ts";
import { isWorkspace } from "./workspaces.ts";

/** The most keys to cache. */
const MAX_KNOWN_KEYS = 100_000;

interface CachedKey {
  digest: Uint8Array;
  principal: Principal;
  expiresAt: number;
  /** Null when requests may come from everywhere. */
  networks: Networks | null;
}

interface AuthenticatorOptions extends KeeperOptions {
  /** Finds a key of a workspace by its digest, revoked or not. @throws {Problem} when the workspace cannot be read */
  lookUp(workspaceId: string, digest: Uint8Array): Promise<KeyRecord | undefined>;
}

export class Authenticator extends RecordCache<CachedKey> {
  readonly #ofPrincipals = new WeakMap<Principal, CachedKey>();

  constructor(
    control: ControlDatabase,
    private readonly options: AuthenticatorOptions,
  ) {
    super(control, { most: MAX_KNOWN_KEYS, writeUse: markUsed, onError: options.onError });
  }

  /**
   * Returns the principal of a key, or null when the key is malformed, unknown, revoked or expired. Returns the same
   * object for the same key until keys change. A key of a workspace that does not exist is not looked up.
   */
  authenticate(apiKey: string): Principal | null | Promise<Principal | null> {
    const workspaceId = workspaceOfKey(apiKey);
    if (workspaceId === null) return null;
    const digest = digestOf(apiKey);
    const known = this.get(digestName(digest));
    return known === undefined ? this.#lookUp(workspaceId, digest) : this.#inForce(known);
  }

  /** Looks a key up again. Returns its principal as it is now, null when the key has ended. */
  async renew(principal: Principal): Promise<Principal | null> {
    const known = this.#ofPrincipals.get(principal);
    return known === undefined ? null : await this.#lookUp(principal.workspaceId, known.digest);
  }

  /**
   * Reports whether requests of a principal may come from an address.
   * @param address returns the address; called only when the key is limited to networks
   */
  allowsFrom(principal: Principal, address: () => string): boolean {
    const networks = this.#ofPrincipals.get(principal)?.networks ?? null;
    return networks === null || networks.includes(address());
  }

  #inForce({ principal, expiresAt }: CachedKey): Principal | null {
    const now = this.options.clock();
    if (now >= expiresAt) return null;
    this.used(principal.actor, now);
    return principal;
  }

  async #lookUp(workspaceId: string, digest: Uint8Array): Promise<Principal | null> {
    if (!isWorkspace(this.control.connection, workspaceId)) return null;
    const record = await this.options.lookUp(workspaceId, digest);
    if (record === undefined || record.revokedAt !== null) return null;
    const { id, scope, agents, networks, expiresAt } = record;
    const principal = Object.freeze({ actor: id, workspaceId, scope, agents });
    const known: CachedKey = {
      digest,
      principal,
      expiresAt: expiresAt ?? Number.POSITIVE_INFINITY,
      networks: networks && new Networks(networks),
    };
    this.#ofPrincipals.set(principal, known);
    return this.#inForce(this.keep(digestName(digest), known));
  }
}

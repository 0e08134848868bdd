/**
 * Authenticates API keys on the main thread. A known key costs one hash and one map lookup; any other key is looked up
 * in the file of the workspace that it names. The workspace's thread checks the key again in the transaction of each
 * operation, so the cache may be late, and only for what is not recorded.
 */

import type { StoredKey } from "../../core/rows/access/keys.ts";
import type { LastUse } from "../../core/rows/access/notes.ts";
import type { Principal } from "../../core/writer/contract.ts";
import { Networks } from "../../networks.ts";
import type { Installation } from "./installation.ts";
import { type KeeperOptions, RecordCache } from "./record-cache.ts";
import { digestOf } from "./secret.ts";
import { workspaceOfSecret } from "./workspace-secret.ts";
import { isWorkspace } from "./workspaces.ts";

/** The most keys to cache. */
const MAX_KNOWN_KEYS = 100_000;

interface CachedKey {
  digest: string;
  /** The workspace and the key, under which its uses are collected. */
  use: string;
  principal: Principal;
  expiresAt: number;
  /** Null when requests may come from everywhere. */
  networks: Networks | null;
}

interface AuthenticatorOptions extends KeeperOptions {
  /** Finds a key of a workspace by its digest, ended or not. @throws {Problem} when the workspace cannot be read */
  find(workspaceId: string, digest: string): Promise<StoredKey | null>;
  /** Stores when keys of a workspace were last used. */
  storeUse(workspaceId: string, uses: readonly LastUse[]): Promise<void>;
}

export class Authenticator extends RecordCache<CachedKey> {
  readonly #ofPrincipals = new WeakMap<Principal, CachedKey>();

  constructor(
    installation: Installation,
    private readonly options: AuthenticatorOptions,
  ) {
    super(installation, {
      most: MAX_KNOWN_KEYS,
      ofInstallation: false,
      writeUses: (uses) => this.#writeUses(uses),
      onError: options.onError,
    });
  }

  /**
   * Returns the principal of a key, or null when the key is malformed, unknown, revoked or expired. Returns the same
   * object for the same key until keys change. A key of a workspace that does not exist is not looked up.
   */
  authenticate(apiKey: string): Principal | null | Promise<Principal | null> {
    const workspaceId = workspaceOfSecret("gov_", apiKey);
    if (workspaceId === null) return null;
    const digest = digestOf(apiKey).toHex();
    const known = this.get(digest);
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

  /** Forgets the keys of a workspace, which may have changed. */
  forget(workspaceId: string): void {
    this.forgetThose(({ principal }) => principal.workspaceId === workspaceId);
  }

  #inForce({ principal, expiresAt, use }: CachedKey): Principal | null {
    const now = this.options.clock();
    if (now >= expiresAt) return null;
    this.used(use, now);
    return principal;
  }

  async #lookUp(workspaceId: string, digest: string): Promise<Principal | null> {
    if (!isWorkspace(this.installation.connection, workspaceId)) return null;
    const { changes } = this;
    const key = await this.options.find(workspaceId, digest);
    if (key === null || key.revokedAt !== null) return null;
    const { id, scope, agents, networks, expiresAt } = key;
    const principal = Object.freeze({ actor: id, workspaceId, scope, agents, ...(networks && { networks }) });
    const known: CachedKey = {
      digest,
      use: `${workspaceId} ${id}`,
      principal,
      expiresAt: expiresAt ?? Number.POSITIVE_INFINITY,
      networks: networks && new Networks(networks),
    };
    this.#ofPrincipals.set(principal, known);
    // What was read before a change is used once, and not kept.
    if (changes === this.changes) this.keep(digest, known);
    return this.#inForce(known);
  }

  async #writeUses(uses: ReadonlyMap<string, number>): Promise<void> {
    const byWorkspace = new Map<string, LastUse[]>();
    for (const [use, at] of uses) {
      const [workspaceId, id] = use.split(" ") as [string, string];
      const own = byWorkspace.get(workspaceId) ?? [];
      own.push({ id, at });
      byWorkspace.set(workspaceId, own);
    }
    await Promise.all(Array.from(byWorkspace, ([workspaceId, own]) => this.options.storeUse(workspaceId, own)));
  }
}

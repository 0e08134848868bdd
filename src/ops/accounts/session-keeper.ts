/**
 * Finds a session by its cookie, on the main thread and without waiting. Like API keys, known sessions are cached until the
 * file of the installation changes.
 */
import type { LastUse } from "../../core/rows/access/notes.ts";
import { findSession, type StoredSession, sessionEnd } from "../../core/rows/access/sessions.ts";
import { after, type MaybePromise } from "../../store/transaction.ts";
import type { Installation } from "../directory/installation.ts";
import { type KeeperOptions, RecordCache } from "../directory/record-cache.ts";
import { digestOf, isSecret } from "../directory/secret.ts";

/** The most sessions to cache. */
const MAX_KNOWN_SESSIONS = 10_000;

/** A valid session. */
export interface SignedIn {
  session: StoredSession;
  accountId: string;
}

interface SessionOptions extends KeeperOptions {
  /** Stores when sessions were last used. */
  storeUse(uses: readonly LastUse[]): Promise<void>;
}

export class SessionKeeper extends RecordCache<SignedIn> {
  constructor(
    installation: Installation,
    private readonly options: SessionOptions,
  ) {
    const writeUses = (uses: ReadonlyMap<string, number>) =>
      options.storeUse([...uses].map(([id, at]) => ({ id, at })));
    super(installation, { most: MAX_KNOWN_SESSIONS, ofInstallation: true, writeUses, onError: options.onError });
  }

  /**
   * Returns the session of a token; null when it is unknown or has ended. With `use` the call counts as a use of the
   * session, which extends it. A mere check must not extend a session.
   */
  find(token: string, { use } = { use: true }): MaybePromise<SignedIn | null> {
    if (!isSecret(token)) return null;
    const digest = digestOf(token).toHex();
    const known = this.get(digest) ?? this.#lookUp(digest);
    return after(known, (found) => (found === undefined ? null : this.#valid(found, use)));
  }

  #valid(known: SignedIn, use: boolean): SignedIn | null {
    const { session } = known;
    const now = this.options.clock();
    session.lastSeenAt = Math.max(session.lastSeenAt, this.unwrittenUse(session.id));
    if (now >= sessionEnd(session)) return null;
    if (!use) return known;
    this.used(session.id, now);
    session.lastSeenAt = now;
    return known;
  }

  async #lookUp(digest: string): Promise<SignedIn | undefined> {
    const { changes } = this;
    const session = await findSession(this.installation.connection, digest);
    if (session === undefined) return undefined;
    const found = { session, accountId: session.accountId };
    return changes === this.changes ? this.keep(digest, found) : found;
  }
}

/** Encrypts the secrets of authenticators. Codes are computed from them, so they cannot be stored as digests. */
import type { DataDirectory } from "../../core/datadir/layout.ts";
import { KeyUnusable, SecretKey } from "../../core/datadir/secret-key.ts";
import { orNull } from "../../failure.ts";
import { Problem } from "../../problem.ts";
import type { Connection } from "../../store/connection.ts";
import { ACCOUNTS, type AccountRecord } from "./accounts.ts";

/** The condition on accounts whose second factor is in force. */
const CONFIRMED = "WHERE totp_secret IS NOT NULL AND totp_since IS NOT NULL";

type WithSecret = AccountRecord & { totpSecret: string };

export class FactorKey {
  readonly #key: SecretKey;

  constructor({ factorKey }: DataDirectory) {
    this.#key = new SecretKey(factorKey);
  }

  /**
   * Encrypts the secret of an account. The first call creates the key's file.
   * @throws {Problem} `unavailable` when the file is missing although secrets of other accounts exist
   */
  encrypt(connection: Connection, accountId: string, secret: string): string {
    // A new key would hide that the old one is missing, until it is too late to restore it.
    if (!this.#key.exists && this.unreadable(connection) === 0) this.#key.create();
    return usable(() => this.#key.encrypt(accountId, secret));
  }

  /** Returns the secret that is stored for an account. @throws {Problem} `unavailable` when the key is another one */
  decrypt(accountId: string, stored: string): string {
    return usable(() => this.#key.decrypt(accountId, stored));
  }

  /** Returns how many second factors in force are encrypted with another key than the present one. */
  unreadable(connection: Connection): number {
    const stored = ACCOUNTS.list(connection, CONFIRMED) as WithSecret[];
    const isReadable = ({ id, totpSecret }: WithSecret) =>
      orNull(KeyUnusable, () => this.#key.decrypt(id, totpSecret)) !== null;
    return stored.filter((account) => !isReadable(account)).length;
  }
}

/** @throws {Problem} `unavailable` when the key cannot be used */
function usable(work: () => string): string {
  try {
    return work();
  } catch (error) {
    throw error instanceof KeyUnusable ? new Problem("unavailable", KEY_UNUSABLE) : error;
  }
}

const KEY_UNUSABLE =
  "The server's key for second factors is missing or not the right one, so codes of authenticators cannot be checked. " +
  "A recovery code is accepted. The operator can restore keys/second-factor.key from a backup.";

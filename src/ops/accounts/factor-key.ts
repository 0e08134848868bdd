/** Encrypts the secrets of authenticators. Codes are computed from them, so they cannot be stored as digests. */
import type { DataDirectory } from "../../core/datadir/layout.ts";
import { KeyUnusable, SecretKey } from "../../core/datadir/secret-key.ts";
import { hasTotp, listAccounts } from "../../core/rows/access/accounts.ts";
import { orNull } from "../../failure.ts";
import { Problem } from "../../problem.ts";
import type { Reader } from "../../store/transaction.ts";

export class FactorKey {
  readonly #key: SecretKey;

  constructor({ factorKey }: DataDirectory) {
    this.#key = new SecretKey(factorKey);
  }

  /**
   * Encrypts the secret of an account. The first call creates the key's file.
   * @throws {Problem} `unavailable` when the file is missing although secrets of other accounts exist
   */
  async encrypt(reader: Reader, accountId: string, secret: string): Promise<string> {
    // A new key would hide that the old one is missing, until it is too late to restore it.
    if (!this.#key.exists && (await this.unreadable(reader)) === 0) this.#key.create();
    return usable(() => this.#key.encrypt(accountId, secret));
  }

  /** Returns the secret that is stored for an account. @throws {Problem} `unavailable` when the key is another one */
  decrypt(accountId: string, stored: string): string {
    return usable(() => this.#key.decrypt(accountId, stored));
  }

  /** Returns how many second factors in force are encrypted with another key than the present one. */
  async unreadable(reader: Reader): Promise<number> {
    const isReadable = (id: string, secret: string) =>
      orNull(KeyUnusable, () => this.#key.decrypt(id, secret)) !== null;
    return (await listAccounts(reader)).filter(
      (one) => hasTotp(one) && one.totpSecret !== null && !isReadable(one.id, one.totpSecret),
    ).length;
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

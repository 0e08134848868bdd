/**
 * Encrypts the secrets of authenticators. Codes are computed from them, so they cannot be stored as digests. They are
 * encrypted with a key outside the database: a copy of `control.db` alone gives no second factor. The cipher is
 * AES-256-GCM (NIST SP 800-38D) with a random nonce of 96 bits, and the account's id as associated data, so that a row
 * cannot take the secret of another account.
 */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import type { DataDirectory } from "../../datadir/layout.ts";
import { createPrivateFile } from "../../datadir/private-files.ts";
import { systemCode } from "../../failure.ts";
import { Problem } from "../../problem.ts";
import type { Connection } from "../../store/connection.ts";
import type { ControlDatabase } from "../database.ts";
import { ACCOUNTS, type AccountRecord } from "./accounts.ts";

const CIPHER = "aes-256-gcm";
/** Before the base64 of nonce, ciphertext and tag. Base32, the form of a secret that is not encrypted, has no colon. */
const PREFIX = `${CIPHER}:`;
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

const KEY_FILE = /^([0-9a-f]{64})\n?$/;

/** The condition on accounts whose second factor is in force. */
const CONFIRMED = "WHERE totp_secret IS NOT NULL AND totp_since IS NOT NULL";

type WithSecret = AccountRecord & { totpSecret: string };

export class FactorKey {
  readonly #path: string;

  constructor({ factorKey }: DataDirectory) {
    this.#path = factorKey;
  }

  /**
   * Encrypts the secret of an account. The first call creates the key's file.
   * @throws {Problem} `unavailable` when the key is lost that other accounts need
   */
  encrypt(connection: Connection, accountId: string, secret: string): string {
    // With a new key, nobody would notice that the old one is missing until it is too late to restore it.
    if (!existsSync(this.#path) && this.unreadable(connection) === 0) {
      createPrivateFile(this.#path, `${randomBytes(KEY_BYTES).toString("hex")}\n`);
    }
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#read(), nonce).setAAD(Buffer.from(accountId));
    const text = Buffer.concat([nonce, cipher.update(secret, "latin1"), cipher.final(), cipher.getAuthTag()]);
    return PREFIX + text.toString("base64");
  }

  /** Returns the secret that is stored for an account. @throws {Problem} `unavailable` when the key does not fit */
  decrypt(accountId: string, stored: string): string {
    const text = Buffer.from(stored.slice(PREFIX.length), "base64");
    if (!isEncrypted(stored) || text.length <= NONCE_BYTES + TAG_BYTES) throw keyUnusable();
    const cipher = createDecipheriv(CIPHER, this.#read(), text.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
    cipher.setAAD(Buffer.from(accountId)).setAuthTag(text.subarray(-TAG_BYTES));
    const secret = cipher.update(text.subarray(NONCE_BYTES, -TAG_BYTES), undefined, "latin1");
    try {
      return secret + cipher.final("latin1");
    } catch {
      // The tag is wrong, which is all that the error says.
      throw keyUnusable();
    }
  }

  /** Returns how many second factors in force are encrypted with another key than the present one. */
  unreadable(connection: Connection): number {
    const stored = ACCOUNTS.list(connection, CONFIRMED) as WithSecret[];
    return stored.filter(({ id, totpSecret }) => isEncrypted(totpSecret) && !this.#decrypts(id, totpSecret)).length;
  }

  #decrypts(accountId: string, stored: string): boolean {
    try {
      this.decrypt(accountId, stored);
      return true;
    } catch (error) {
      if (error instanceof Problem) return false;
      throw error;
    }
  }

  /** @throws {Problem} `unavailable` when there is no key */
  #read(): Buffer {
    let text: string;
    try {
      text = readFileSync(this.#path, "latin1");
    } catch (error) {
      if (systemCode(error) === "ENOENT") throw keyUnusable();
      throw error;
    }
    const hex = KEY_FILE.exec(text)?.[1];
    if (hex === undefined) throw keyUnusable();
    return Buffer.from(hex, "hex");
  }
}

const isEncrypted = (stored: string): boolean => stored.startsWith(PREFIX);

const keyUnusable = () =>
  new Problem(
    "unavailable",
    "The server's key for second factors is missing or not the right one, so codes of authenticators cannot be checked. " +
      "A recovery code is accepted. The operator can restore keys/second-factor.key from a backup.",
  );

/** Encrypts the secrets that an earlier version stored as they are. Returns how many. */
export function encryptStoredSecrets(control: ControlDatabase, key: FactorKey): number {
  const stored = ACCOUNTS.list(control.connection, "WHERE totp_secret IS NOT NULL") as WithSecret[];
  const plain = stored.filter(({ totpSecret }) => !isEncrypted(totpSecret));
  if (plain.length === 0) return 0;
  control.change((connection) => {
    for (const { id, totpSecret } of plain) {
      ACCOUNTS.update(connection, { totp_secret: key.encrypt(connection, id, totpSecret) }, "id = ?", [id]);
    }
  });
  return plain.length;
}

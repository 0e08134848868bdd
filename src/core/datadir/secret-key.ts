/**
 * Encrypts secrets in a database with a key in another file, so that a copy of the database alone does not
 * reveal them. The cipher is AES-256-GCM (NIST SP 800-38D) with a random nonce of 96 bits. The associated data is the
 * id of the row, so that a secret cannot be moved to another row.
 */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { systemCode } from "../../failure.ts";
import { createPrivateFile } from "./private-files.ts";

const CIPHER = "aes-256-gcm";
/** The prefix of a stored secret. The base64 of nonce, ciphertext and tag follows it. */
const PREFIX = `${CIPHER}:`;
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

const KEY_FILE = /^([0-9a-f]{64})\n?$/;

/** The key is missing, or is not the key with which a secret was encrypted. */
export class KeyUnusable extends Error {
  override readonly name = "KeyUnusable";
}

export class SecretKey {
  /** @param path of the key's file */
  constructor(
    private readonly path: string,
    /** The key itself, if it is not in a file. */
    private readonly key: Uint8Array | null = null,
  ) {}

  get exists(): boolean {
    return existsSync(this.path);
  }

  /** Creates the key's file. */
  create(): void {
    createPrivateFile(this.path, `${randomBytes(KEY_BYTES).toString("hex")}\n`);
  }

  /** Encrypts a secret of the row with this id. @throws {KeyUnusable} */
  encrypt(id: string, secret: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#read(), nonce).setAAD(Buffer.from(id));
    const text = Buffer.concat([nonce, cipher.update(secret, "utf8"), cipher.final(), cipher.getAuthTag()]);
    return PREFIX + text.toString("base64");
  }

  /** Returns the secret that is stored in a row. @throws {KeyUnusable} */
  decrypt(id: string, stored: string): string {
    const text = Buffer.from(stored.slice(PREFIX.length), "base64");
    if (!stored.startsWith(PREFIX) || text.length <= NONCE_BYTES + TAG_BYTES) throw new KeyUnusable();
    const cipher = createDecipheriv(CIPHER, this.#read(), text.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
    cipher.setAAD(Buffer.from(id)).setAuthTag(text.subarray(-TAG_BYTES));
    const secret = cipher.update(text.subarray(NONCE_BYTES, -TAG_BYTES));
    try {
      return Buffer.concat([secret, cipher.final()]).toString("utf8");
    } catch {
      // The error says only that the tag is wrong.
      throw new KeyUnusable();
    }
  }

  #read(): Uint8Array {
    if (this.key !== null) return this.key;
    let text: string;
    try {
      text = readFileSync(this.path, "latin1");
    } catch (error) {
      if (systemCode(error) === "ENOENT") throw new KeyUnusable();
      throw error;
    }
    const hex = KEY_FILE.exec(text)?.[1];
    if (hex === undefined) throw new KeyUnusable();
    return Buffer.from(hex, "hex");
  }
}

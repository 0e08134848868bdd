/**
 * Encryption of database files by libSQL: AES-256 in CBC mode, page by page, including log and journal (SQLite3
 * Multiple Ciphers, cipher `aes256cbc`; its key is the hex text of governd's key).
 *
 * A file must never be opened with a wrong key, nor an encrypted file without one: SQLite would decrypt the write-ahead
 * log with the wrong key, write the result into the file, and delete the log. So the key is checked first, on a
 * connection that cannot write and ignores the log.
 */
import { readSync, statSync } from "node:fs";
import { inspect } from "node:util";
import Database from "libsql";
import { systemCode } from "../failure.ts";
import { damageOf } from "./damage.ts";
import { withFile } from "./sync.ts";

/** The length of a key, bytes. */
export const ENCRYPTION_KEY_BYTES = 32;

const MASK = "[encryption key]";

/** The key of encrypted databases. Printing a key, or converting it to JSON, shows a mask. */
export class EncryptionKey {
  readonly #hex: string;

  private constructor(hex: string) {
    this.#hex = hex;
  }

  /** @throws {RangeError} unless the key has 32 bytes */
  static ofBytes(bytes: Uint8Array): EncryptionKey {
    if (bytes.length !== ENCRYPTION_KEY_BYTES) throw new RangeError("an encryption key has 32 bytes");
    return new EncryptionKey(Buffer.from(bytes).toString("hex"));
  }

  /** Makes a key from the text of {@link reveal}, which passes it to other threads. */
  static ofText(hex: string): EncryptionKey {
    return EncryptionKey.ofBytes(Buffer.from(hex, "hex"));
  }

  /** Returns the key itself, 64 hexadecimal digits, for the database or another thread. */
  reveal(): string {
    return this.#hex;
  }

  toString(): string {
    return MASK;
  }

  toJSON(): string {
    return MASK;
  }

  [inspect.custom](): string {
    return MASK;
  }
}

/** The kind of a file, judged by its first bytes. */
type DatabaseKind = "absent" | "empty" | "plain" | "encrypted" | "foreign";

/** The first bytes of every plain database (https://www.sqlite.org/fileformat.html, 1.3). */
const PLAIN_MAGIC = Buffer.from("SQLite format 3\u0000", "latin1");
const HEADER_BYTES = 24;
/** The payload fractions in the header are constant, and not encrypted. */
const PAYLOAD_FRACTIONS_AT = 21;
const PAYLOAD_FRACTIONS = Buffer.from([64, 32, 32]);

/**
 * Returns the kind of a file from its first bytes. The process must not have a connection to the file, since closing a
 * descriptor of a file releases all locks of the process on it (POSIX).
 * @throws the system's error when the file cannot be read
 */
export function databaseKind(path: string): DatabaseKind {
  const head = Buffer.alloc(HEADER_BYTES);
  try {
    const length = withFile(path, "r", (file) => readSync(file, head, 0, HEADER_BYTES, 0));
    if (length === 0) return "empty";
  } catch (error) {
    if (systemCode(error) === "ENOENT") return "absent";
    throw error;
  }
  if (head.subarray(0, PLAIN_MAGIC.length).equals(PLAIN_MAGIC)) return "plain";
  return head.subarray(PAYLOAD_FRACTIONS_AT).equals(PAYLOAD_FRACTIONS) ? "encrypted" : "foreign";
}

/** The messages for a key that does not match a file. */
const MISMATCHES = {
  key_missing:
    "is encrypted, and no key was given, or its beginning is damaged: name the file with its key by encryption_key_file (--encryption-key-file)",
  key_wrong:
    "does not open with this key: it was encrypted with another one, or its beginning is damaged. Give the key that it was made with",
  not_encrypted: "is not encrypted, and an encryption key was given: encrypt it with `governd rekey`, or give no key",
} as const;

/** The key does not match the file. Nothing was changed. */
export class EncryptionMismatch extends Error {
  override readonly name = "EncryptionMismatch";
  /** SQLite's code for this error. */
  readonly code = "SQLITE_NOTADB";

  /** The message without the path. */
  readonly advice: string;

  constructor(
    readonly path: string,
    readonly reason: keyof typeof MISMATCHES,
  ) {
    super(`${path} ${MISMATCHES[reason]}.`);
    this.advice = `it ${MISMATCHES[reason]}`;
  }
}

/**
 * Checks that a file can be opened with this key, or without a key. Changes nothing. SQLite itself reads the file:
 * closing another descriptor would release the locks of this process (POSIX).
 * @throws {EncryptionMismatch} when the key does not match
 */
export function checkEncryption(path: string, key: EncryptionKey | null): void {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0 || opensWith(path, key)) return;
  if (key === null) throw new EncryptionMismatch(path, "key_missing");
  throw new EncryptionMismatch(path, opensWith(path, null) ? "not_encrypted" : "key_wrong");
}

/** Reports whether the first page can be read with this key, or without a key. */
export function opensWith(path: string, key: EncryptionKey | null): boolean {
  let driver: InstanceType<typeof Database>;
  try {
    driver = new Database(fileUri(path, "immutable=1"), driverOptions(key));
  } catch {
    return true; // the caller opens the file next and reports why it cannot
  }
  try {
    driver.exec("PRAGMA schema_version");
    return true;
  } catch (error) {
    const damage = damageOf(error);
    if (damage === "not_a_database") return false;
    // The page was read, but the file is shorter than its header says: another process is writing it, or it is
    // truncated, which opening will show.
    if (damage === "corrupt") return true;
    throw error;
  } finally {
    driver.close();
  }
}

/** Returns the URI of a file, with `?`, `#` and `%` escaped. The driver opens files read-only only by URI. */
export function fileUri(path: string, query: string): string {
  const escaped = path.replaceAll("%", "%25").replaceAll("?", "%3f").replaceAll("#", "%23");
  return `file:${escaped}?${query}`;
}

/** Returns the driver's options for a key, which are missing in the driver's types. */
export function driverOptions(key: EncryptionKey | null): object {
  return key === null ? {} : { encryptionKey: key.reveal(), encryptionCipher: "aes256cbc" };
}

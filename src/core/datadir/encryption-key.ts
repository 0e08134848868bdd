/** Reads the file that the setting `encryption_key_file` names: 32 random bytes, raw, in hex or in base64. */
import { fstatSync, readFileSync } from "node:fs";
import { cannotRead, Failure } from "../../failure.ts";
import { ENCRYPTION_KEY_BYTES, EncryptionKey } from "../../store/encryption.ts";
import { withFile } from "../../store/sync.ts";

/** A longer file is not a key file. */
const MAX_FILE_BYTES = 4096;
const HEX = /^[0-9a-fA-F]{64}$/;
/** 32 bytes are 43 digits with optional padding. base64url is accepted too. */
const BASE64 = /^[A-Za-z0-9+/_-]{43}=?$/;

/**
 * Reads the key. Returns null for a null path.
 * @throws {Failure} `encryption_key` when the file cannot be read or holds no key. Its content is never quoted.
 */
export function readEncryptionKey(path: string | null): EncryptionKey | null {
  if (path === null) return null;
  const bytes = keyBytes(readKeyFile(path));
  if (bytes !== null) return EncryptionKey.ofBytes(bytes);
  throw new Failure(
    "encryption_key",
    `${path} holds no encryption key. It must be 32 random bytes, raw, as 64 hexadecimal digits or in base64. ` +
      "Create one with: openssl rand -hex 32",
  );
}

function readKeyFile(path: string): Buffer {
  try {
    return withFile(path, "r", (file) =>
      fstatSync(file).size > MAX_FILE_BYTES ? Buffer.alloc(0) : readFileSync(file),
    );
  } catch (error) {
    throw cannotRead("encryption_key", `the encryption key ${path}`, error);
  }
}

function keyBytes(content: Buffer): Buffer | null {
  const text = content.toString("latin1").trim();
  if (HEX.test(text)) return Buffer.from(text, "hex");
  if (BASE64.test(text)) return wholeKey(Buffer.from(text, "base64"));
  // 32 printable characters are a password, not random bytes.
  if (/^[\x20-\x7e\s]*$/.test(text)) return null;
  return wholeKey(content);
}

const wholeKey = (bytes: Buffer): Buffer | null => (bytes.length === ENCRYPTION_KEY_BYTES ? bytes : null);

/** The hashes of format `governd.audit/1` (docs/audit-format.md), all SHA-256 and all shown as lower-case hex. */
import { SHA256 } from "bun";
import type { RandomPool } from "../ids.ts";
import { canonicalString } from "./jcs.ts";

/** `previous_hash` of the first event of a chain. */
export const ZERO_HASH = "0".repeat(64);

/** The length of the salt of a digest, bytes. */
export const SALT_BYTES = 16;

/** Returns the lower-case hex SHA-256 of a text (as UTF-8) or of bytes. */
export const sha256Hex = (input: string | Uint8Array): string => SHA256.hash(input, "hex");

// Small inputs are assembled here before hashing, which is much faster than joining strings.
const SCRATCH_BYTES = 16 * 1024;
const scratch = Buffer.alloc(SCRATCH_BYTES);
/** UTF-8 takes at most this many bytes for one UTF-16 code unit. */
const MAX_BYTES_PER_UNIT = 3;

/**
 * The hash of an event: SHA-256(0x00 ‖ canonical bytes), which is RFC 6962's leaf hash (2.1).
 * A string stands for its UTF-8 bytes; canonical events are ASCII.
 */
export function eventHash(canonical: string | Uint8Array): string {
  scratch[0] = 0;
  return hashAfter(1, canonical);
}

/**
 * The digest of content, hex: SHA-256(salt ‖ text). Nobody can try contents without the salt, which is stored beside the
 * content. `text` is canonical JSON. The salt may be hex.
 * @throws RangeError when the salt is not {@link SALT_BYTES} bytes, or not lower-case hex
 */
export function saltedDigest(salt: Uint8Array | string, text: string): string {
  if (typeof salt === "string") {
    if (!SALT_HEX.test(salt)) throw new RangeError("a salt is lower-case hex");
    scratch.write(salt, 0, SALT_BYTES, "hex");
  } else {
    if (salt.length !== SALT_BYTES) throw new RangeError(`a salt has ${SALT_BYTES} bytes`);
    scratch.set(salt, 0);
  }
  return hashAfter(SALT_BYTES, text);
}

/** Returns a new salt, hex. */
export const newSalt = (random: RandomPool): string => random.take(SALT_BYTES).toHex();

/** Reports whether this is a salt that {@link saltedDigest} accepts. */
export const isSalt = (salt: Uint8Array | string): boolean =>
  typeof salt === "string" ? SALT_HEX.test(salt) : salt.length === SALT_BYTES;

/** A salt in hex, as a pattern. */
export const SALT_FORM = `[0-9a-f]{${2 * SALT_BYTES}}`;
const SALT_HEX = new RegExp(`^${SALT_FORM}$`);

/** SHA-256 over the first `prefix` bytes of the scratch buffer and what follows. */
function hashAfter(prefix: number, rest: string | Uint8Array): string {
  if (prefix + rest.length * MAX_BYTES_PER_UNIT > SCRATCH_BYTES) {
    return new SHA256().update(scratch.subarray(0, prefix)).update(rest).digest("hex");
  }
  let length = rest.length;
  if (typeof rest === "string") length = scratch.write(rest, prefix);
  else scratch.set(rest, prefix);
  return SHA256.hash(scratch.subarray(0, prefix + length), "hex");
}

/**
 * `value_digest` of an allowed data.write: the digest of JCS({key, metadata, value}). `metadata` and `value` are canonical
 * JSON texts.
 * @throws CanonicalJsonError when the key holds a lone surrogate; RangeError as {@link saltedDigest}
 */
export const valueDigest = (salt: string, key: string, metadata: string, value: string): string =>
  saltedDigest(salt, `{"key":${canonicalString(key)},"metadata":${metadata},"value":${value}}`);

/**
 * The hashes of format `governd.audit/1`, all SHA-256 and all shown as lower-case hex.
 * See event.ts for where each one stands.
 */
import { SHA256 } from "bun";
import type { JsonObject } from "../json.ts";
import { canonicalJson, canonicalString } from "./jcs.ts";

/** `previous_hash` of the first event of a chain. */
export const ZERO_HASH = "0".repeat(64);

/** The length of the salt that blinds the details' commitment, bytes. */
export const SALT_BYTES = 16;

/** Lower-case hex SHA-256 of a text (as UTF-8) or of bytes. */
export function sha256Hex(input: string | Uint8Array): string {
  return SHA256.hash(input, "hex");
}

/**
 * The hash of an event: SHA-256(0x00 ‖ canonical bytes), which is RFC 6962's leaf hash (2.1).
 * A string stands for its UTF-8 bytes; canonical events are ASCII.
 */
export function eventHash(canonical: string | Uint8Array): string {
  if (typeof canonical === "string") return SHA256.hash(`\0${canonical}`, "hex");
  const prefixed = new Uint8Array(canonical.length + 1);
  prefixed.set(canonical, 1);
  return SHA256.hash(prefixed, "hex");
}

/** `details_commitment`: SHA-256(salt ‖ JCS(details)). The salt is {@link SALT_BYTES} bytes. */
export function detailsCommitment(salt: Uint8Array, details: JsonObject): string {
  return commitmentOfText(salt, canonicalJson(details));
}

/** {@link detailsCommitment} over details that are canonical JSON text already. */
export function commitmentOfText(salt: Uint8Array, canonicalDetails: string): string {
  if (salt.length !== SALT_BYTES) throw new RangeError(`a salt has ${SALT_BYTES} bytes`);
  return new SHA256().update(salt).update(canonicalDetails).digest("hex");
}

/** `value_digest` of an allowed data.write: SHA-256 of JCS({key, metadata, value}). */
export function valueDigest(key: string, metadata: JsonObject, value: string): string {
  return valueDigestOfText(key, canonicalJson(metadata), value);
}

/** {@link valueDigest} with metadata that is canonical JSON text already. */
export function valueDigestOfText(key: string, canonicalMetadata: string, value: string): string {
  return sha256Hex(
    `{"key":${canonicalString(key)},"metadata":${canonicalMetadata},"value":${canonicalString(value)}}`,
  );
}

/** `config_digest` of config.update and config.rollback: SHA-256 of JCS(config). */
export function configDigest(config: JsonObject): string {
  return sha256Hex(canonicalJson(config));
}

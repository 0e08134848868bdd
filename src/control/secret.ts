/**
 * Random secrets that people or browsers hold: sessions, one-time links, devices, recovery codes. Only
 * their SHA-256 is stored; they are long and random, so a slow hash would add nothing.
 */
import type { RandomPool } from "../ids.ts";

const SECRET_BYTES = 32;
const LINK_PREFIX = "gvl_";
const SECRET = /^[A-Za-z0-9_-]{43}$/;

/** Groups and characters of a recovery code: 80 bits in Crockford's base32. */
const CODE_GROUPS = 4;
const CODE_GROUP_LENGTH = 4;
const CODE_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

/** A secret for a cookie, and what is stored of it. */
export interface Secret {
  text: string;
  digest: Uint8Array;
}

export function digestOf(text: string): Uint8Array {
  return Bun.SHA256.hash(text) as Uint8Array;
}

/** A digest as a key of a map. */
export function digestName(digest: Uint8Array): string {
  return digest.toHex();
}

export function makeSecret(random: RandomPool): Secret {
  const text = Buffer.from(random.take(SECRET_BYTES)).toString("base64url");
  return { text, digest: digestOf(text) };
}

/** Whether a text can be one of {@link makeSecret}'s. */
export const isSecret = (text: string): boolean => SECRET.test(text);

/** The secret of a link: `gvl_` before it lets scanners and people tell what it is. */
export function makeLinkToken(random: RandomPool): Secret {
  const text = LINK_PREFIX + makeSecret(random).text;
  return { text, digest: digestOf(text) };
}

/** A recovery code: `xxxx-xxxx-xxxx-xxxx`. */
export function makeRecoveryCode(random: RandomPool): string {
  const groups = Array.from({ length: CODE_GROUPS }, () =>
    Array.from(random.take(CODE_GROUP_LENGTH), (byte) => CODE_ALPHABET[byte & 31]).join(""),
  );
  return groups.join("-");
}

/**
 * What is stored of a recovery code, however it was typed: dashes, spaces and case do not count, and
 * look-alikes mean what they look like (Crockford's base32). Null for what is no recovery code.
 */
export function recoveryCodeDigest(typed: string): Uint8Array | null {
  const text = typed.toLowerCase().replace(/[\s-]/g, "").replace(/[il]/g, "1").replaceAll("o", "0");
  const isCode =
    text.length === CODE_GROUPS * CODE_GROUP_LENGTH && [...text].every((c) => CODE_ALPHABET.includes(c));
  return isCode ? digestOf(text) : null;
}

/**
 * Random secrets: sessions, one-time links, devices, recovery codes. Only their SHA-256 is stored. They are long and
 * random, so a slow hash would not make them safer. The same holds for API keys.
 */
import { ID_ALPHABET, type RandomPool } from "../../ids.ts";

const SECRET_BYTES = 32;
const LINK_PREFIX = "gvl_";
const SECRET = /^[A-Za-z0-9_-]{43}$/;

/** The groups of a recovery code, and the characters of a group: 80 bits in Crockford's base32. */
const CODE_GROUPS = 4;
const CODE_GROUP_LENGTH = 4;

/** A secret for a cookie, and the digest that is stored. */
interface Secret {
  text: string;
  digest: Uint8Array;
}

/** Returns the SHA-256 of a secret or an API key: the form in which it is stored. */
export const digestOf = (text: string): Uint8Array => Bun.SHA256.hash(text) as Uint8Array;

export function makeSecret(random: RandomPool): Secret {
  const text = Buffer.from(random.take(SECRET_BYTES)).toString("base64url");
  return { text, digest: digestOf(text) };
}

/** Reports whether a text has the form of a {@link makeSecret} secret. */
export const isSecret = (text: string): boolean => SECRET.test(text);

/** Returns the secret of a link. The prefix `gvl_` lets scanners and people recognize it. */
export function makeLinkToken(random: RandomPool): Secret {
  const text = LINK_PREFIX + makeSecret(random).text;
  return { text, digest: digestOf(text) };
}

/** Returns a recovery code: `xxxx-xxxx-xxxx-xxxx`. */
export function makeRecoveryCode(random: RandomPool): string {
  const groups = Array.from({ length: CODE_GROUPS }, () =>
    Array.from(random.take(CODE_GROUP_LENGTH), (byte) => ID_ALPHABET[byte & 31]).join(""),
  );
  return groups.join("-");
}

/**
 * Returns the stored digest of a recovery code, or null when the text is not one. Dashes, spaces and case are ignored,
 * and look-alike characters are accepted (Crockford's base32).
 */
export function recoveryCodeDigest(typed: string): Uint8Array | null {
  const text = typed.toLowerCase().replace(/[\s-]/g, "").replace(/[il]/g, "1").replaceAll("o", "0");
  const isCode = text.length === CODE_GROUPS * CODE_GROUP_LENGTH && [...text].every((c) => ID_ALPHABET.includes(c));
  return isCode ? digestOf(text) : null;
}

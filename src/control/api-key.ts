/**
 * The form of an API key: `gov_<random>_<checksum>`.
 *
 * `random` is 32 characters of base62 (190 bits), `checksum` is the CRC-32 (ISO-HDLC, as in zlib) of
 * those 32 characters in base62, most significant digit first, padded with `0` to 6. The prefix and the
 * checksum let a secret scanner tell a key from chance, and let the daemon refuse a mistyped one without
 * looking anything up. Base62 is `0-9A-Za-z` in that order.
 */
import type { RandomPool } from "../ids.ts";

const PREFIX = "gov_";
const RANDOM_LENGTH = 32;
const CHECKSUM_LENGTH = 6;
const RANDOM_END = PREFIX.length + RANDOM_LENGTH;
/** Every key has this many characters. */
export const KEY_LENGTH = RANDOM_END + 1 + CHECKSUM_LENGTH;
const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const KEY = /^gov_[0-9A-Za-z]{32}_[0-9A-Za-z]{6}$/;
/** The largest multiple of 62 in a byte: bytes from here on would favour some characters. */
const UNBIASED_BYTES = 248;

function checksum(random: string): string {
  let rest = Bun.hash.crc32(random);
  let text = "";
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    text = ALPHABET[rest % 62] + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}

/** A new key, from randomness fit for secrets. */
export function generateApiKey(random: RandomPool): string {
  let text = "";
  while (text.length < RANDOM_LENGTH) {
    for (const byte of random.take(RANDOM_LENGTH)) {
      if (byte < UNBIASED_BYTES && text.length < RANDOM_LENGTH) text += ALPHABET[byte % 62];
    }
  }
  return `${PREFIX}${text}_${checksum(text)}`;
}

/** True when the text has the form of a key and its checksum is right; says nothing about whether it exists. */
export function isWellFormedApiKey(text: string): boolean {
  return (
    text.length === KEY_LENGTH &&
    KEY.test(text) &&
    checksum(text.slice(PREFIX.length, RANDOM_END)) === text.slice(RANDOM_END + 1)
  );
}

/** SHA-256 of a key: what is stored of it. A key has 190 random bits, so a slow hash would add nothing. */
export function apiKeyDigest(key: string): Uint8Array {
  return Bun.SHA256.hash(key) as Uint8Array;
}

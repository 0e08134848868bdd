/**
 * The format of an API key: `gov_<random>_<checksum>`.
 *
 * `random` is 32 characters of base62 (190 bits), `checksum` is the CRC-32 (ISO-HDLC, as in zlib) of
 * those 32 characters in base62, most significant digit first, padded with `0` to 6. The prefix and the
 * checksum let a secret scanner recognize a key, and let the daemon refuse a mistyped one without a
 * lookup. Base62 is `0-9A-Za-z` in that order.
 */
import type { RandomPool } from "../../ids.ts";

const PREFIX = "gov_";
const RANDOM_LENGTH = 32;
const CHECKSUM_LENGTH = 6;
const RANDOM_END = PREFIX.length + RANDOM_LENGTH;
/** The length of every key in characters. */
export const KEY_LENGTH = RANDOM_END + 1 + CHECKSUM_LENGTH;
const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const KEY = /^gov_[0-9A-Za-z]{32}_[0-9A-Za-z]{6}$/;
/**
 * The largest multiple of 62 that fits in a byte. Larger bytes are skipped, since they would favour some characters.
 */
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

/** Returns a new key. `random` must be fit for secrets. */
export function generateApiKey(random: RandomPool): string {
  let text = "";
  while (text.length < RANDOM_LENGTH) {
    for (const byte of random.take(RANDOM_LENGTH)) {
      if (byte < UNBIASED_BYTES && text.length < RANDOM_LENGTH) text += ALPHABET[byte % 62];
    }
  }
  return `${PREFIX}${text}_${checksum(text)}`;
}

/** Reports whether the text has the format of a key and a correct checksum. The key may still not exist. */
export function isWellFormedApiKey(text: string): boolean {
  return (
    text.length === KEY_LENGTH &&
    KEY.test(text) &&
    checksum(text.slice(PREFIX.length, RANDOM_END)) === text.slice(RANDOM_END + 1)
  );
}

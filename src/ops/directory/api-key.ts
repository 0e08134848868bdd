/**
 * The form of an API key: `gov_<workspace>_<secret>_<checksum>`, in the alphabet of ids.
 *
 * `workspace` is the id of the key's workspace without `ws_`, so that a key is looked up in the workspace's own file.
 * `secret` is 32 random characters (160 bits). `checksum` is the CRC-32 (ISO-HDLC, as in zlib) of everything before it,
 * 7 digits, most significant first. The prefix and the checksum let a secret scanner recognize a key, and let the
 * daemon refuse a mistyped one without a look-up.
 */
import { ID_ALPHABET, isId, type RandomPool } from "../../ids.ts";

const PREFIX = "gov_";
const WORKSPACE_END = PREFIX.length + 26;
const SECRET_LENGTH = 32;
const CHECKSUM_LENGTH = 7;
const CHECKSUM_START = WORKSPACE_END + 1 + SECRET_LENGTH + 1;
const KEY_LENGTH = CHECKSUM_START + CHECKSUM_LENGTH;
const SECRET = /^_[0-9a-hjkmnp-tv-z]{32}_$/;

function checksum(text: string): string {
  const crc = Bun.hash.crc32(text);
  return Array.from({ length: CHECKSUM_LENGTH }, (_, digit) =>
    ID_ALPHABET.charAt((crc >>> (5 * (CHECKSUM_LENGTH - 1 - digit))) & 31),
  ).join("");
}

/** Returns a new key of a workspace. `random` must be fit for secrets. */
export function generateApiKey(workspaceId: string, random: RandomPool): string {
  const secret = Array.from(random.take(SECRET_LENGTH), (byte) => ID_ALPHABET[byte & 31]).join("");
  const text = `${PREFIX}${workspaceId.slice("ws_".length)}_${secret}_`;
  return text + checksum(text);
}

/**
 * Returns the id of the workspace that a key names; null when the text does not have the form of a key, or its checksum
 * is wrong. The key and the workspace may still not exist.
 */
export function workspaceOfKey(text: string): string | null {
  if (text.length !== KEY_LENGTH || !text.startsWith(PREFIX)) return null;
  const workspaceId = `ws_${text.slice(PREFIX.length, WORKSPACE_END)}`;
  if (!isId("ws", workspaceId) || !SECRET.test(text.slice(WORKSPACE_END, CHECKSUM_START))) return null;
  return checksum(text.slice(0, CHECKSUM_START)) === text.slice(CHECKSUM_START) ? workspaceId : null;
}

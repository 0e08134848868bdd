/**
 * The form of API keys and of the tokens of invitations: `<prefix><workspace>_<secret>_<checksum>`, in the alphabet of ids.
 *
 * `workspace` is the id of the workspace without `ws_`, so that the row is looked up in the workspace's own file. `secret`
 * is 32 random characters (160 bits). `checksum` is the CRC-32 (ISO-HDLC, as in zlib) of everything before it, 7 digits,
 * most significant first. The prefix and the checksum let a secret scanner recognize it, and let the daemon refuse a
 * mistyped one without a look-up.
 */
import { ID_ALPHABET, isId, type RandomPool } from "../../ids.ts";

/** Of API keys, and of the tokens of invitations. */
type Prefix = "gov_" | "inv_";

const PREFIX_LENGTH = 4;
const WORKSPACE_END = PREFIX_LENGTH + 26;
const SECRET_LENGTH = 32;
const CHECKSUM_LENGTH = 7;
const CHECKSUM_START = WORKSPACE_END + 1 + SECRET_LENGTH + 1;
const LENGTH = CHECKSUM_START + CHECKSUM_LENGTH;
const SECRET = /^_[0-9a-hjkmnp-tv-z]{32}_$/;

function checksum(text: string): string {
  const crc = Bun.hash.crc32(text);
  return Array.from({ length: CHECKSUM_LENGTH }, (_, digit) =>
    ID_ALPHABET.charAt((crc >>> (5 * (CHECKSUM_LENGTH - 1 - digit))) & 31),
  ).join("");
}

/** Returns a new secret of a workspace. `random` must be fit for secrets. */
export function makeWorkspaceSecret(prefix: Prefix, workspaceId: string, random: RandomPool): string {
  const secret = Array.from(random.take(SECRET_LENGTH), (byte) => ID_ALPHABET[byte & 31]).join("");
  const text = `${prefix}${workspaceId.slice("ws_".length)}_${secret}_`;
  return text + checksum(text);
}

/**
 * Returns the id of the workspace that a secret names; null when the text does not have the form, or its checksum is
 * wrong. The secret and the workspace may still not exist.
 */
export function workspaceOfSecret(prefix: Prefix, text: string): string | null {
  if (text.length !== LENGTH || !text.startsWith(prefix)) return null;
  const workspaceId = `ws_${text.slice(PREFIX_LENGTH, WORKSPACE_END)}`;
  if (!isId("ws", workspaceId) || !SECRET.test(text.slice(WORKSPACE_END, CHECKSUM_START))) return null;
  return checksum(text.slice(0, CHECKSUM_START)) === text.slice(CHECKSUM_START) ? workspaceId : null;
}

/** Cryptocurrency addresses, verified by their checksums where they have one. */

import { createHash } from "node:crypto";
import { type Hit, hitOf, spend } from "../check.ts";
import { hasDigit, isAlphanumeric, matchEnd } from "../text/ascii.ts";
import { skipGlue } from "./number.ts";

const ETHEREUM = /0x[0-9a-fA-F]{40}(?![0-9A-Za-z])/y;
const BASE58 = /[13LMDXA9tT][1-9A-HJ-NP-Za-km-z]{25,35}(?![0-9A-Za-z])/y;
const BECH32 = /(?:bc|tb|ltc|addr|stake|cosmos|osmo|bnb|terra|celestia)1[02-9ac-hj-np-z]{8,110}(?![0-9A-Za-z])/iy;
/** How addresses of the networks in {@link BECH32} begin. */
export const BECH32_PREFIXES: readonly string[] = [
  "bc1",
  "tb1",
  "ltc1",
  "addr1",
  "stake1",
  "cosmos1",
  "osmo1",
  "bnb1",
  "terra1",
  "celestia1",
];
const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const ADDRESS_BYTES = 25;
const WALLET_WORD = /wallet|address|\bbtc\b|\beth\b|bitcoin|ethereum|crypto/i;

/**
 * The check for addresses of a form: `isAddress` decides about what the sticky pattern finds at the start of an anchor.
 */
const wallet =
  (pattern: RegExp, isAddress: (written: string, before: string) => boolean) =>
  (text: string, at: number): Hit | null => {
    if (isAlphanumeric(text.charCodeAt(at - 1))) return null;
    const end = matchEnd(pattern, text, at);
    if (end < 0 || !isAddress(text.slice(at, end), text.slice(Math.max(0, at - 40), at))) return null;
    return hitOf("crypto_wallet", at, end);
  };

/**
 * An Ethereum-style address whose `0x` is at `at`. The null address and similar ones are constants, unless the text
 * calls them a wallet.
 */
export const ethereumAddress = wallet(
  ETHEREUM,
  (written, before) => !/^0x0{20,}|^0x([0-9a-f])\1{39}$/i.test(written) || WALLET_WORD.test(before),
);

/** A Bitcoin, Litecoin or Dogecoin address (Base58Check) that begins at `at`. */
export const base58Address = wallet(BASE58, isBase58Check);

export const MONERO_LENGTH = 95;

/** A Monero address that begins at `at`: it is known by its length and its alphabet. */
export const moneroAddress = wallet(
  /[48][0-9AB][1-9A-HJ-NP-Za-km-z]{93}(?![0-9A-Za-z])/y,
  (written) => /[a-z]/.test(written) && /[A-Z]/.test(written),
);

/** A segwit address (BIP 173 and 350) that begins at `at`. */
export const bech32Address = wallet(BECH32, (written) => isBech32(written.toLowerCase()));

/** How addresses of Bitcoin Cash begin. */
export const CASH_PREFIXES: readonly string[] = ["bitcoincash:q", "bitcoincash:p"];
const CASH = /bitcoincash:[qp][02-9ac-hj-np-z]{41}(?![0-9A-Za-z])/iy;

/** An address of Bitcoin Cash that begins at `at`. */
export const cashAddress = wallet(CASH, () => true);

const LABELLED =
  /(?:0x)?(?:[A-Za-z0-9]{25,64}|(?:addr|stake)1[a-z0-9]{50,110}|[48][1-9A-HJ-NP-Za-km-z]{94,105})(?![A-Za-z0-9_+/=-])/y;
const LABELLED_UNITS = 60;
/** The digest of a transaction or a block. */
const DIGEST = /^(?:0x)?[0-9a-f]{64}$|^[0-9a-f]{40}$|^[0-9a-f]{32}$/i;

/** The address behind a word for a wallet that ends at `end`. It needs no valid check digits. */
export function labelledWallet(text: string, _start: number, end: number): Hit | null {
  if (!hasDigit(text, end, end + LABEL_REACH)) return null;
  spend(LABELLED_UNITS);
  const at = skipGlue(text, end);
  if (at === end || isAlphanumeric(text.charCodeAt(at - 1))) return null;
  const last = matchEnd(LABELLED, text, at);
  if (last < 0) return null;
  const written = text.slice(at, last);
  const isMixed =
    /\d/.test(written) && /[a-z]/i.test(written) && (/[a-z]/.test(written) || /^G[A-Z2-7]{55}$/.test(written));
  return isMixed && !DIGEST.test(written) ? hitOf("crypto_wallet", at, last) : null;
}

/** How far behind the word a digit of the address is. */
const LABEL_REACH = 48;

/** What two digests and the arithmetic before them cost. */
const BASE58_UNITS = 1_500;

function isBase58Check(value: string): boolean {
  spend(BASE58_UNITS);
  let number = 0n;
  for (const char of value) number = number * 58n + BigInt(ALPHABET.indexOf(char));
  const bytes = Buffer.from(number.toString(16).padStart(ADDRESS_BYTES * 2, "0"), "hex");
  if (bytes.length !== ADDRESS_BYTES) return false;
  const sha256 = (data: Uint8Array) => createHash("sha256").update(data).digest();
  return sha256(sha256(bytes.subarray(0, 21)))
    .subarray(0, 4)
    .equals(bytes.subarray(21));
}

const BECH32_ALPHABET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
const GENERATOR = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3];

function isBech32(value: string): boolean {
  const split = value.lastIndexOf("1");
  const prefix = value.slice(0, split);
  const symbols = [...prefix].map((char) => char.charCodeAt(0) >> 5);
  symbols.push(0, ...[...prefix].map((char) => char.charCodeAt(0) & 31));
  for (const char of value.slice(split + 1)) symbols.push(BECH32_ALPHABET.indexOf(char));
  let checksum = 1;
  for (const symbol of symbols) {
    const top = checksum >> 25;
    checksum = ((checksum & 0x1ffffff) << 5) ^ symbol;
    for (let i = 0; i < 5; i++) if ((top >> i) & 1) checksum ^= GENERATOR[i] as number;
  }
  return checksum === 1 || checksum === 0x2bc830a3;
}

/**
 * Signs webhooks (Standard Webhooks) with HMAC-SHA-256 (`v1`), which the receiver checks with the secret, and Ed25519
 * (`v1a`), which it checks with a public key. During a rotation the old keys also sign.
 */
import { createHmac, createPrivateKey, generateKeyPairSync, sign } from "node:crypto";

const SECRET_PREFIX = "whsec_";
const PUBLIC_KEY_PREFIX = "whpk_";
export const SECRET_BYTES = 32;

/** The keys that sign the deliveries of one sink. */
export interface SigningKey {
  /** The key of the HMAC, base64. */
  secret: string;
  /** The Ed25519 key, base64url as in a JWK. */
  privateKey: string;
  publicKey: string;
  /** When the key stops signing, ms since the Unix epoch; null for the newest key. */
  until: number | null;
}

/** Returns new keys. @param random {@link SECRET_BYTES} random bytes */
export function newSigningKey(random: Uint8Array): SigningKey {
  const { d, x } = generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" });
  return {
    secret: Buffer.from(random).toString("base64"),
    privateKey: d as string,
    publicKey: x as string,
    until: null,
  };
}

/** Returns the keys with which the receiver checks signatures. */
export const shownKeys = ({ secret, publicKey }: SigningKey) => ({
  secret: `${SECRET_PREFIX}${secret}`,
  public_key: `${PUBLIC_KEY_PREFIX}${Buffer.from(publicKey, "base64url").toString("base64")}`,
});

/** Returns the keys after a rotation: the new one, and the old ones, which sign until `until` at most. */
export const rotated = (keys: readonly SigningKey[], next: SigningKey, until: number, now: number): SigningKey[] => [
  next,
  ...inForce(keys, now).map((key) => ({ ...key, until: Math.min(key.until ?? until, until) })),
];

const inForce = (keys: readonly SigningKey[], now: number): SigningKey[] =>
  keys.filter(({ until }) => until === null || until > now);

/** Returns the headers of a delivery. @param now ms since the Unix epoch */
export function signatureHeaders(
  keys: readonly SigningKey[],
  id: string,
  body: Uint8Array,
  now: number,
): Record<string, string> {
  const timestamp = `${Math.floor(now / 1_000)}`;
  const content = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
  const signatures = inForce(keys, now).flatMap(({ secret, privateKey: d, publicKey: x }) => {
    const key = createPrivateKey({ format: "jwk", key: { kty: "OKP", crv: "Ed25519", d, x } });
    return [
      `v1,${createHmac("sha256", Buffer.from(secret, "base64")).update(content).digest("base64")}`,
      `v1a,${sign(null, content, key).toString("base64")}`,
    ];
  });
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures.join(" ") };
}

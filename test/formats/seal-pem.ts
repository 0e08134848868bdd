/** The key that seals the directories of `test/formats`: derived from a seed, so that no file holds one. */
import { createPrivateKey, createPublicKey } from "node:crypto";

/** 32 bytes, RFC 8032. */
export const SEED = Buffer.alloc(32, "governd formats");
/** PKCS #8 of an Ed25519 key up to its seed (RFC 8410). */
const PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");

export function sealPem(): { pem: string; publicBytes: Uint8Array; publicPem: string } {
  const key = createPrivateKey({ key: Buffer.concat([PREFIX, SEED]), format: "der", type: "pkcs8" });
  const publicKey = createPublicKey(key);
  return {
    pem: key.export({ format: "pem", type: "pkcs8" }).toString(),
    publicBytes: Buffer.from(publicKey.export({ format: "jwk" }).x as string, "base64url"),
    publicPem: publicKey.export({ format: "pem", type: "spki" }).toString(),
  };
}

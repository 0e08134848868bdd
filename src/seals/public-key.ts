/** Ed25519 public keys as people pass them on. */
import { createPublicKey, type KeyObject } from "node:crypto";

/** A key from its 32 raw bytes (RFC 8032). */
export function publicKeyObject(raw: Uint8Array): KeyObject {
  const x = Buffer.from(raw).toString("base64url");
  return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
}

/** SubjectPublicKeyInfo in PEM (RFC 8410). */
export function publicKeyPem(raw: Uint8Array): string {
  return publicKeyObject(raw).export({ format: "pem", type: "spki" }).toString();
}

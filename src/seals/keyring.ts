/** The signing key of a process: read when it is first needed, and again when a log names another key. */

import { createPublicKey } from "node:crypto";
import { readSealKey, type SealKey, type SealKeySource } from "../datadir/seal-key.ts";
import { sameHash } from "../log/merkle.ts";

export class SealKeyring {
  #key: SealKey | null = null;

  constructor(private readonly source: SealKeySource) {}

  /** Returns the present key. @throws {Failure} when it cannot be read */
  current(): SealKey {
    this.#key ??= readSealKey(this.source);
    return this.#key;
  }

  /** Reports whether this is the present key. Reads the file again before it returns false: the key may be new. */
  has(publicKey: Uint8Array): boolean {
    if (sameHash(this.current().publicBytes, publicKey)) return true;
    if (this.source.kind === "pem") return false;
    this.#key = readSealKey(this.source);
    return sameHash(this.#key.publicBytes, publicKey);
  }
}

/** Returns an Ed25519 public key of 32 raw bytes (RFC 8032) as SubjectPublicKeyInfo in PEM (RFC 8410). */
export function publicKeyPem(raw: Uint8Array): string {
  const x = Buffer.from(raw).toString("base64url");
  const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
  return key.export({ format: "pem", type: "spki" }).toString();
}

/** The signing key of a process. It is read when first needed, and again when a log names another key. */

import { createPublicKey } from "node:crypto";
import { existsSync } from "node:fs";
import { sameHash } from "../../log/merkle.ts";
import { nextKeyFile, oldKeyFile, readSealKey, type SealKey, type SealKeySource } from "../datadir/seal-key.ts";

export class SealKeyring {
  #key: SealKey | null = null;

  constructor(private readonly source: SealKeySource) {}

  /** Returns the present key. @throws {Failure} when it cannot be read */
  current(): SealKey {
    this.#key ??= readSealKey(this.source);
    return this.#key;
  }

  /**
   * Returns the key pair of a public key; null when there is none. If the cached key is another one, the key is read
   * again, since it may be new. During a rotation, or after an interrupted one, the next or the old key may match
   * instead.
   */
  find(publicKey: Uint8Array): SealKey | null {
    if (sameHash(this.current().publicBytes, publicKey)) return this.current();
    if (this.source.kind === "pem") return null;
    const { path } = this.source;
    this.#key = readSealKey(this.source);
    if (sameHash(this.#key.publicBytes, publicKey)) return this.#key;
    const beside = [nextKeyFile(path), oldKeyFile(path)].filter((file) => existsSync(file));
    const keys = beside.map((file) => readSealKey({ kind: "file", path: file }));
    return keys.find(({ publicBytes }) => sameHash(publicBytes, publicKey)) ?? null;
  }
}

/** Returns an Ed25519 public key of 32 raw bytes (RFC 8032) as SubjectPublicKeyInfo in PEM (RFC 8410). */
export function publicKeyPem(raw: Uint8Array): string {
  const x = Buffer.from(raw).toString("base64url");
  const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
  return key.export({ format: "pem", type: "spki" }).toString();
}

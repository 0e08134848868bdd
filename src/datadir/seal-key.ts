/**
 * The Ed25519 key pair that signs seals: `keys/seal.key` (PKCS #8, RFC 8410, in PEM, mode 0600) and its
 * public half `keys/seal.pub` (SubjectPublicKeyInfo in PEM), which auditors get.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { Failure } from "../failure.ts";
import type { DataDirectory } from "./layout.ts";
import { createPrivateFile } from "./private-files.ts";

/** A signing key and its public half. */
export interface SealKey {
  privateKey: KeyObject;
  publicKey: KeyObject;
  /** The public key's 32 raw bytes (RFC 8032). */
  publicBytes: Uint8Array;
}

/** Makes the key pair unless it is there. Whoever comes first makes it; everybody else finds it. */
export function ensureSealKey(directory: DataDirectory): void {
  if (!existsSync(directory.sealKey)) {
    const { privateKey } = generateKeyPairSync("ed25519");
    createPrivateFile(directory.sealKey, privateKey.export({ format: "pem", type: "pkcs8" }).toString());
  }
  if (!existsSync(directory.sealPublicKey)) {
    const { publicKey } = readSealKey(directory);
    createPrivateFile(directory.sealPublicKey, publicKey.export({ format: "pem", type: "spki" }).toString());
  }
}

/**
 * Reads the key pair.
 * @throws {Failure} `data_directory_unusable` when it is not an Ed25519 key in PEM.
 */
export function readSealKey(directory: DataDirectory): SealKey {
  const privateKey = parsePrivateKey(readFileSync(directory.sealKey, "utf8"), directory.sealKey);
  const publicKey = createPublicKey(privateKey);
  const { x } = publicKey.export({ format: "jwk" });
  return { privateKey, publicKey, publicBytes: Buffer.from(x as string, "base64url") };
}

function parsePrivateKey(pem: string, path: string): KeyObject {
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === "ed25519") return key;
  } catch (error) {
    // The cause may quote the file, and the file is a secret.
    if (!(error instanceof Error)) throw error;
  }
  throw new Failure(
    "data_directory_unusable",
    `${path} is not an Ed25519 private key in PEM (PKCS #8): put the right file back from a backup.`,
  );
}

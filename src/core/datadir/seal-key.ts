/**
 * The Ed25519 key pair that signs seals: `keys/seal.key` (PKCS #8, RFC 8410, in PEM, mode 0600) and its public half
 * `keys/seal.pub` (SubjectPublicKeyInfo in PEM), which auditors get. With the setting `seal_key` the private key is
 * kept elsewhere: in another file, or as PEM in the environment.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { existsSync } from "node:fs";
import { Failure, readText } from "../../failure.ts";
import { PEM_BEGINNING } from "../../settings/values.ts";
import type { DataDirectory } from "./layout.ts";
import { createPrivateFile } from "./private-files.ts";

/** A signing key and its public half. */
export interface SealKey {
  privateKey: KeyObject;
  publicKey: KeyObject;
  /** The public key's 32 raw bytes (RFC 8032). */
  publicBytes: Uint8Array;
}

/** Where the private key is. Plain data that can be sent to threads. */
export type SealKeySource = { kind: "file"; path: string } | { kind: "pem"; pem: string };

/** The file of the next key while a rotation of the key in this file is announced. */
export const nextKeyFile = (path: string): string => `${path}.next`;

/** The file of the old key until every workspace names the next one. */
export const oldKeyFile = (path: string): string => `${path}.old`;

/** Whether a rotation of the key in the data directory was begun and not finished. */
export const isInterrupted = ({ sealKey }: DataDirectory): boolean =>
  existsSync(nextKeyFile(sealKey)) || existsSync(oldKeyFile(sealKey));

/** Returns where the key is according to the setting `seal_key` (null: in the data directory). */
export function sealKeySource(directory: DataDirectory, setting: string | null): SealKeySource {
  if (setting === null) return { kind: "file", path: directory.sealKey };
  return setting.startsWith(PEM_BEGINNING) ? { kind: "pem", pem: setting } : { kind: "file", path: setting };
}

/** Returns a new private key in PEM. */
export function newSealKey(): string {
  const { privateKey } = generateKeyPairSync("ed25519");
  return privateKey.export({ format: "pem", type: "pkcs8" }).toString();
}

/** Returns the public key in PEM, the form that auditors get. */
export const publicPem = ({ publicKey }: SealKey): string =>
  publicKey.export({ format: "pem", type: "spki" }).toString();

/**
 * Creates the key pair unless it exists. Of several processes, the first one creates it and the others find it.
 * @throws {Failure} `data_directory_unusable` when the private half is lost: another key could not continue the
 *   existing seals
 */
export function ensureSealKey(directory: DataDirectory): void {
  // The public half is created last and checked first, since another process may be creating both.
  const made = existsSync(directory.sealPublicKey);
  if (!existsSync(directory.sealKey)) {
    if (made) throw lostSealKey(directory);
    createPrivateFile(directory.sealKey, newSealKey());
  }
  if (!made) {
    createPrivateFile(directory.sealPublicKey, publicPem(readSealKey({ kind: "file", path: directory.sealKey })));
  }
}

const lostSealKey = ({ sealKey, sealPublicKey }: DataDirectory): Failure =>
  new Failure(
    "data_directory_unusable",
    `${sealKey} is missing. Restore it from a backup, or set seal_key to its location. ` +
      `If it is lost for good, move ${sealPublicKey} away. A new key is then created, and workspaces that the lost key sealed get no further seals.`,
  );

/** Reads the key pair. @throws {Failure} `data_directory_unusable` when it is missing or not an Ed25519 key in PEM */
export function readSealKey(source: SealKeySource): SealKey {
  const privateKey = parsePrivateKey(sealKeyPem(source), source.kind === "pem" ? "The setting seal_key" : source.path);
  const publicKey = createPublicKey(privateKey);
  const { x } = publicKey.export({ format: "jwk" });
  return { privateKey, publicKey, publicBytes: Buffer.from(x as string, "base64url") };
}

/** Returns the private key in PEM, unchecked. @throws {Failure} `data_directory_unusable` when it cannot be read */
export const sealKeyPem = (source: SealKeySource): string =>
  source.kind === "pem" ? source.pem : readText("data_directory_unusable", source.path, "the sealing key");

function parsePrivateKey(pem: string, where: string): KeyObject {
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === "ed25519") return key;
  } catch (error) {
    // The error is not passed on as the cause: it may quote the file, which is secret.
    if (!(error instanceof Error)) throw error;
  }
  const message = `${where} is not an Ed25519 private key in PEM (PKCS #8). Restore the right one from a backup.`;
  throw new Failure("data_directory_unusable", message);
}

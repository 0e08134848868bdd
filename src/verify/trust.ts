/** What an auditor brings to a verification: the public key, and seals that were kept elsewhere. */
import { createPublicKey } from "node:crypto";
import { existsSync } from "node:fs";
import { Failure, readText } from "../failure.ts";
import { NoteError, parseVerifierKey, rawPublicKey } from "../log/note.ts";
import { parseSeal, type Seal } from "../log/seal.ts";
import { parseSealFile } from "../seals/seal-file.ts";

export interface Trust {
  /** 32 raw bytes each; empty when the auditor provided none. A seal counts when one of them leads to its key. */
  publicKeys: readonly Uint8Array[];
  seals: readonly Seal[];
}

/**
 * Reads `--public-key` and `--seal`.
 * @throws {Failure} `usage` when one of them is not what it should be
 */
export function readTrust(options: { publicKey?: readonly string[]; seal?: readonly string[] }): Trust {
  return { publicKeys: (options.publicKey ?? []).map(readPublicKey), seals: (options.seal ?? []).flatMap(readSeals) };
}

/** A verifier key, a PEM, or the 64 hex digits of a raw key; or a file with one of them. */
function readPublicKey(given: string): Uint8Array {
  const text = (existsSync(given) ? readText("usage", given) : given).trim();
  try {
    if (/^[0-9a-f]{64}$/.test(text)) return Buffer.from(text, "hex");
    if (text.startsWith("-----BEGIN PUBLIC KEY-----")) return rawPublicKey(createPublicKey(text));
    return parseVerifierKey(text).publicKey;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
  }
  throw new Failure(
    "usage",
    "--public-key is neither an Ed25519 public key (PEM, or name+hash+key) nor a file with one: `governd key-info` prints it.",
  );
}

/** One seal, or a whole file of seals. */
function readSeals(path: string): Seal[] {
  const text = readText("usage", path);
  try {
    const filed = parseSealFile(text.endsWith("\n\n") ? text : `${text}\n`).map(({ seal }) => seal);
    return filed.length > 0 ? filed : [parseSeal(text)];
  } catch (error) {
    if (!(error instanceof NoteError)) throw error;
    throw new Failure("usage", `--seal ${path} is no seal: ${error.message}.`);
  }
}

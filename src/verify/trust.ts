/** What an auditor provides for a verification: public keys, and seals that were kept elsewhere. */
import { createPublicKey } from "node:crypto";
import { existsSync } from "node:fs";
import { parseSealFile } from "../core/seals/seal-file.ts";
import { Failure, orNull, readText } from "../failure.ts";
import { NoteError, parseVerifierKey, rawPublicKey, type VerifierKey } from "../log/note.ts";
import { parseSeal, type Seal } from "../log/seal.ts";
import { parseWitnessKey } from "../log/witness.ts";

export interface Trust {
  /** 32 raw bytes each. If there are any, a seal counts only if one of them leads to its key. */
  publicKeys?: readonly Uint8Array[];
  /** Seals that were kept elsewhere. Those of the verified workspace must match this log. */
  anchors?: readonly Seal[];
  /** The witnesses whose cosignatures count, each once. */
  witnesses?: readonly VerifierKey[];
}

/**
 * Reads `--public-key`, `--seal` and `--witness-key`.
 * @throws {Failure} `usage` when one of them is not valid
 */
export function readTrust(options: {
  publicKey?: readonly string[];
  seal?: readonly string[];
  witnessKey?: readonly string[];
}): Required<Trust> {
  return {
    publicKeys: (options.publicKey ?? []).map(readPublicKey),
    anchors: (options.seal ?? []).flatMap((path) => readSeals("--seal", path)),
    witnesses: readWitnesses(options.witnessKey ?? []),
  };
}

function readWitnesses(given: readonly string[]): VerifierKey[] {
  const witnesses = given.map((one) => {
    const key = orNull(NoteError, () => parseWitnessKey(textOf(one)));
    if (key !== null) return key;
    const message =
      "--witness-key is neither the verifier key of a witness (name+hash+key, of type 4 or 6) nor a file with one.";
    throw new Failure("usage", message);
  });
  // One key under two names would count twice.
  const keys = new Set(witnesses.map(({ publicKey }) => Buffer.from(publicKey).toString("hex")));
  if (keys.size < witnesses.length)
    throw new Failure("usage", "--witness-key: two of the witnesses have the same key.");
  return witnesses;
}

/** Returns the text of a file, or the given text if it is not the path of a file. */
const textOf = (given: string): string => (existsSync(given) ? readText("usage", given) : given).trim();

/** Reads a verifier key, a PEM, the 64 hex digits of a raw key, or a file with one of these. */
function readPublicKey(given: string): Uint8Array {
  const text = textOf(given);
  if (/^[0-9a-f]{64}$/.test(text)) return Buffer.from(text, "hex");
  const isPem = text.startsWith("-----BEGIN PUBLIC KEY-----");
  const key = orNull(Error, () => (isPem ? rawPublicKey(createPublicKey(text)) : parseVerifierKey(text).publicKey));
  if (key !== null) return key;
  throw new Failure(
    "usage",
    "--public-key is neither an Ed25519 public key (PEM, or name+hash+key) nor a file with one: `governd key-info` prints it.",
  );
}

/**
 * Reads one seal, or a whole seal file, given by `option`. Only the last empty line may be missing.
 * @param onCutOff called when the file ends inside a seal, which is then left out; without it, this is a failure, since
 * the
 *   missing seal may be the one that matters
 * @throws {Failure} `usage` when the file is neither
 */
export function readSeals(option: string, path: string, onCutOff?: (path: string) => void): Seal[] {
  const text = readText("usage", path);
  try {
    const { seals, rest } = parseSealFile(text.endsWith("\n\n") ? text : `${text}\n`);
    if (seals.length === 0) return [parseSeal(text)];
    if (rest !== "") {
      if (onCutOff === undefined) throw new NoteError("it is cut off inside a seal");
      onCutOff(path);
    }
    return seals.map(({ seal }) => seal);
  } catch (error) {
    if (!(error instanceof NoteError)) throw error;
    throw new Failure("usage", `${option} ${path} is no seal: ${error.message}.`);
  }
}

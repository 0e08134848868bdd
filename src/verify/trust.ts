/** What an auditor brings to a verification: the public key, and seals that were kept elsewhere. */
import { createPublicKey } from "node:crypto";
import { existsSync } from "node:fs";
import { Failure, orNull, readText } from "../failure.ts";
import {
  NoteError,
  parseVerifierKey,
  rawPublicKey,
  SIGNATURE_COSIGNATURE_V1,
  SIGNATURE_ED25519,
  type VerifierKey,
} from "../log/note.ts";
import { parseSeal, type Seal } from "../log/seal.ts";
import { parseSealFile } from "../seals/seal-file.ts";

export interface Trust {
  /** 32 raw bytes each. If there are any, a seal counts when one of them leads to its key. */
  publicKeys?: readonly Uint8Array[];
  /** Seals that were kept elsewhere: those of the verified workspace must be of this log. */
  anchors?: readonly Seal[];
  /** The witnesses whose cosignatures count, each once. */
  witnesses?: readonly VerifierKey[];
}

/**
 * Reads `--public-key`, `--seal` and `--witness-key`.
 * @throws {Failure} `usage` when one of them is not what it should be
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
    const key = orNull(NoteError, () => parseVerifierKey(textOf(one)));
    if (key?.type === SIGNATURE_COSIGNATURE_V1) return key;
    const message =
      "--witness-key is neither the verifier key of a witness (name+hash+key, of type 4) nor a file with one.";
    throw new Failure("usage", message);
  });
  // The signed message does not name the witness, so one key under two names would count twice (tlog-cosignature).
  const keys = new Set(witnesses.map(({ publicKey }) => Buffer.from(publicKey).toString("hex")));
  if (keys.size < witnesses.length)
    throw new Failure("usage", "--witness-key: two of the witnesses have the same key.");
  return witnesses;
}

/** The text of a file, or what was given instead of a file. */
const textOf = (given: string): string => (existsSync(given) ? readText("usage", given) : given).trim();

/** A verifier key, a PEM, or the 64 hex digits of a raw key; or a file with one of them. */
function readPublicKey(given: string): Uint8Array {
  const text = textOf(given);
  if (/^[0-9a-f]{64}$/.test(text)) return Buffer.from(text, "hex");
  const isPem = text.startsWith("-----BEGIN PUBLIC KEY-----");
  const key = orNull(Error, () => (isPem ? rawPublicKey(createPublicKey(text)) : sealingKey(text)));
  if (key !== null) return key;
  throw new Failure(
    "usage",
    "--public-key is neither an Ed25519 public key (PEM, or name+hash+key) nor a file with one: `governd key-info` prints it.",
  );
}

/** The key of a log. A witness's key has the same form, and another type. */
function sealingKey(text: string): Uint8Array | null {
  const { type, publicKey } = parseVerifierKey(text);
  return type === SIGNATURE_ED25519 ? publicKey : null;
}

/**
 * Reads one seal, or a whole file of seals, that `option` names. Only the last empty line may be missing.
 * @param onCutOff called when the file ends inside a seal, which is then left out; without it, that is a failure: a seal
 *   that is left out silently may be the one that counts
 * @throws {Failure} `usage` when it is neither
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

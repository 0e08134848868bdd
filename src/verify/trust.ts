/** What an auditor provides for a verification: public keys, witnesses, and seals that were kept elsewhere. */
import { createPublicKey } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { parseSealFile } from "../core/seals/seal-file.ts";
import { cannotRead, Failure, orNull, readText } from "../failure.ts";
import { NoteError, parseVerifierKey, rawPublicKey, type VerifierKey } from "../log/note.ts";
import { parseOrigin, parseSeal, type Seal } from "../log/seal.ts";
import { parseWitnessKey } from "../log/witness.ts";
import { type Policy, PolicyError, parsePolicy } from "./policy.ts";
import { anyOf, type Quorum } from "./quorum.ts";

export interface Trust {
  /** 32 raw bytes each. If there are any, a seal counts only if one of them leads to its key. */
  publicKeys?: readonly Uint8Array[];
  /** Seals that were kept elsewhere. Those of the verified workspace must match this log. */
  anchors?: readonly Seal[];
  /** The witnesses whose cosignatures count, each once. */
  witnesses?: readonly VerifierKey[];
  /** Those of them that must have cosigned a seal; null for none. */
  quorum?: Quorum | null;
  /** The origins of the logs that a policy lists, as in their first epochs; null when any log may be verified. */
  logs?: ReadonlySet<string> | null;
}

/** The options that say whom an auditor trusts. */
export interface TrustOptions {
  publicKey?: readonly string[];
  seal?: readonly string[];
  witnessKey?: readonly string[];
  witnessQuorum?: number;
  policy?: string;
}

/** @throws {Failure} `usage` when an option is not valid, or does not go with another */
export function readTrust(options: TrustOptions): Required<Trust> {
  const anchors = (options.seal ?? []).flatMap((path) => readSeals("--seal", path));
  const { publicKey = [], witnessKey = [], witnessQuorum, policy } = options;
  if (policy === undefined) {
    const witnesses = readWitnesses(witnessKey);
    const quorum = quorumOf(witnesses, witnessQuorum);
    return { publicKeys: publicKey.map(readPublicKey), anchors, witnesses, quorum, logs: null };
  }
  if (publicKey.length > 0 || witnessKey.length > 0 || witnessQuorum !== undefined) {
    const message = "--policy names the logs, the witnesses and their quorum: leave out";
    throw new Failure("usage", `${message} --public-key, --witness-key and --witness-quorum.`);
  }
  const { logs, witnesses, quorum } = readPolicy(policy);
  const publicKeys = logs.map((key) => key.publicKey);
  const named = new Set(logs.map(({ name }) => parseOrigin(name).base));
  return { publicKeys, anchors, witnesses, quorum, logs: named.size === 0 ? null : named };
}

function readPolicy(path: string): Policy {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    throw cannotRead("usage", path, error);
  }
  try {
    return parsePolicy(bytes);
  } catch (error) {
    if (error instanceof PolicyError) throw new Failure("usage", `--policy ${path}, ${error.message}.`);
    throw error;
  }
}

function quorumOf(witnesses: readonly VerifierKey[], needed = witnesses.length): Quorum | null {
  if (needed <= witnesses.length) return needed === 0 ? null : anyOf(witnesses, needed);
  const message = `--witness-quorum ${needed} requires more witnesses than the ${witnesses.length} that --witness-key names.`;
  throw new Failure("usage", message);
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

/**
 * Requests to a witness and its responses: C2SP tlog-witness `add-checkpoint`, and the
 * timestamped Ed25519 cosignatures of C2SP tlog-cosignature (`cosignature/v1`).
 */

import {
  formatNote,
  NoteError,
  type NoteSignature,
  parseSignatures,
  parseVerifierKey,
  SIGNATURE_COSIGNATURE_V1,
  type VerifierKey,
  verifyEd25519,
} from "./note.ts";
import { MAX_PROOF_HASHES } from "./proof.ts";
import { parseSeal, type Seal } from "./seal.ts";

export const TIMESTAMP_BYTES = 8;
const ED25519_BYTES = 64;

/** A witness that a setting names. */
export interface Witness {
  key: VerifierKey;
  /** The submission prefix. */
  url: string;
}

/** Parses `<verifier key> <https address>`. @throws {NoteError} when the text has another form */
export function parseWitness(text: string): Witness {
  const [key = "", url = "", more] = text.trim().split(/\s+/);
  if (more !== undefined || !/^https?:\/\//.test(url)) throw new NoteError("not a verifier key and an address");
  const parsed = parseVerifierKey(key);
  if (parsed.type !== SIGNATURE_COSIGNATURE_V1) throw new NoteError("the key of a witness has type 0x04");
  return { key: parsed, url: url.replace(/\/$/, "") };
}

/** Returns the body of `add-checkpoint`: the tree size that the witness knows, the proof from it, and the seal. */
export function addCheckpointBody(oldSize: number, proof: readonly Uint8Array[], seal: string): string {
  if (proof.length > MAX_PROOF_HASHES) throw new RangeError("a consistency proof has at most 63 hashes");
  return `old ${oldSize}\n${proof.map((hash) => `${Buffer.from(hash).toString("base64")}\n`).join("")}\n${seal}`;
}

/** Returns the message that a `cosignature/v1` signs: the time, POSIX seconds, and the seal's three lines. */
export const cosignedText = (seal: Seal, timestamp: bigint): string =>
  `cosignature/v1\ntime ${timestamp}\n${seal.note.text}`;

/**
 * Returns the time of a witness's cosignature, POSIX seconds; null when the line has no valid cosignature of this key.
 * @param witness a key of type 0x04
 */
export function checkCosignature(seal: Seal, line: NoteSignature, witness: VerifierKey): bigint | null {
  if (witness.type !== SIGNATURE_COSIGNATURE_V1) return null;
  if (line.name !== witness.name || line.keyId !== witness.keyId) return null;
  if (line.signature.length !== TIMESTAMP_BYTES + ED25519_BYTES) return null;
  const timestamp = Buffer.from(line.signature).readBigUInt64BE();
  if (timestamp >= 1n << 63n) return null;
  const signature = line.signature.subarray(TIMESTAMP_BYTES);
  return verifyEd25519(witness.publicKey, cosignedText(seal, timestamp), signature) ? timestamp : null;
}

/**
 * Returns the time of the newest cosignature that a witness made of a seal, POSIX seconds; null when it made none.
 * @param witness a key of type 0x04
 * @throws NoteError when a line under the witness's name and key is not its cosignature
 */
export function cosignedAt(seal: Seal, witness: VerifierKey): bigint | null {
  const own = seal.note.signatures.filter(({ name, keyId }) => name === witness.name && keyId === witness.keyId);
  let newest: bigint | null = null;
  for (const line of own) {
    const time = checkCosignature(seal, line, witness);
    if (time === null) throw new NoteError(`the cosignature of ${witness.name} is not right`);
    if (newest === null || time > newest) newest = time;
  }
  return newest;
}

/**
 * Returns the seal with the valid cosignatures of known witnesses from a response. Lines of unknown keys are left out.
 * @throws NoteError when the response does not consist of signature lines, or none is valid
 */
export function withCosignatures(sealNote: string, answer: string, witnesses: readonly VerifierKey[]): string {
  const seal = parseSeal(sealNote);
  const good = parseSignatures(answer).filter((line) =>
    witnesses.some((witness) => checkCosignature(seal, line, witness) !== null),
  );
  if (good.length === 0) throw new NoteError("the response has no valid cosignature of a known witness");
  return formatNote({ text: seal.note.text, signatures: [...seal.note.signatures, ...good] });
}

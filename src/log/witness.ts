/**
 * Requests to a witness and its responses: C2SP tlog-witness `add-checkpoint`, and the timestamped cosignatures of C2SP
 * tlog-cosignature: `cosignature/v1` with Ed25519, `subtree/v1` with ML-DSA-44.
 */

import { orNull } from "../failure.ts";
import {
  formatNote,
  NoteError,
  type NoteSignature,
  parseSignatures,
  parseVerifierKey,
  SIGNATURE_COSIGNATURE_V1,
  SIGNATURE_SUBTREE_V1,
  type VerifierKey,
  verifies,
} from "./note.ts";
import { MAX_PROOF_HASHES } from "./proof.ts";
import { parseSeal, type Seal } from "./seal.ts";

export const TIMESTAMP_BYTES = 8;
/** How long a signature is, bytes, by the type of a witness's key. */
const SIGNATURE_BYTES: Readonly<Record<number, number>> = {
  [SIGNATURE_COSIGNATURE_V1]: 64,
  [SIGNATURE_SUBTREE_V1]: 2420,
};
/** The longest name of a witness, and the longest origin, that `subtree/v1` can sign, bytes. */
const MAX_NAME_BYTES = 255;

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
  return { key: parseWitnessKey(key), url: url.replace(/\/$/, "") };
}

/** Reads the verifier key of a witness. @throws NoteError when it is none, or its signatures could not name it */
export function parseWitnessKey(text: string): VerifierKey {
  const key = parseVerifierKey(text, [SIGNATURE_COSIGNATURE_V1, SIGNATURE_SUBTREE_V1]);
  if (key.type === SIGNATURE_SUBTREE_V1) lengthAndText(key.name);
  return key;
}

/** Returns the body of `add-checkpoint`: the tree size that the witness knows, the proof from it, and the seal. */
export function addCheckpointBody(oldSize: number, proof: readonly Uint8Array[], seal: string): string {
  if (proof.length > MAX_PROOF_HASHES) throw new RangeError("a consistency proof has at most 63 hashes");
  return `old ${oldSize}\n${proof.map((hash) => `${Buffer.from(hash).toString("base64")}\n`).join("")}\n${seal}`;
}

/**
 * Returns the message that a witness signs. `cosignature/v1`: the time, POSIX seconds, and the seal's three lines.
 * `subtree/v1`: the witness, the time, and the origin, size and root of the whole tree, as numbers and lengths of bytes.
 * @throws NoteError when the witness's name or the origin is too long for `subtree/v1`
 */
export function cosignedMessage({ note, origin, size, root }: Seal, witness: VerifierKey, timestamp: bigint): Buffer {
  if (witness.type === SIGNATURE_COSIGNATURE_V1) return Buffer.from(`cosignature/v1\ntime ${timestamp}\n${note.text}`);
  return Buffer.concat([
    Buffer.from("subtree/v1\n\0"),
    lengthAndText(witness.name),
    uint64(timestamp),
    lengthAndText(origin),
    ...[uint64(0n), uint64(BigInt(size)), root],
  ]);
}

function lengthAndText(text: string): Buffer {
  const bytes = Buffer.from(text);
  if (bytes.length > MAX_NAME_BYTES) throw new NoteError("subtree/v1 signs names of at most 255 bytes");
  return Buffer.concat([Buffer.of(bytes.length), bytes]);
}

function uint64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(value);
  return bytes;
}

/**
 * Returns the time of a witness's cosignature, POSIX seconds; null when the line has no valid cosignature of this key.
 * @param witness a key of one of the types of witnesses
 */
export function checkCosignature(seal: Seal, line: NoteSignature, witness: VerifierKey): bigint | null {
  if (line.name !== witness.name || line.keyId !== witness.keyId) return null;
  const bytes = SIGNATURE_BYTES[witness.type];
  if (bytes === undefined || line.signature.length !== TIMESTAMP_BYTES + bytes) return null;
  const timestamp = Buffer.from(line.signature).readBigUInt64BE();
  if (timestamp >= 1n << 63n) return null;
  const message = orNull(NoteError, () => cosignedMessage(seal, witness, timestamp));
  const signature = line.signature.subarray(TIMESTAMP_BYTES);
  return message !== null && verifies(witness, message, signature) ? timestamp : null;
}

/**
 * Returns the time of the newest cosignature that a witness made of a seal, POSIX seconds; null when it made none. One
 * without a time (0), as `sign-subtree` makes, says nothing about when, and does not count.
 * @throws NoteError when a line under the witness's name and key is not its cosignature
 */
export function cosignedAt(seal: Seal, witness: VerifierKey): bigint | null {
  const own = seal.note.signatures.filter(({ name, keyId }) => name === witness.name && keyId === witness.keyId);
  let newest: bigint | null = null;
  for (const line of own) {
    const time = checkCosignature(seal, line, witness);
    if (time === null) throw new NoteError(`the cosignature of ${witness.name} is not right`);
    if (time > (newest ?? 0n)) newest = time;
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
    witnesses.some((witness) => (checkCosignature(seal, line, witness) ?? 0n) > 0n),
  );
  if (good.length === 0) throw new NoteError("the response has no valid cosignature of a known witness");
  return formatNote({ text: seal.note.text, signatures: [...seal.note.signatures, ...good] });
}

/** The witness's side of C2SP tlog-witness and tlog-cosignature. */
import { HASH_BYTES } from "../../src/log/merkle.ts";
import { formatSignature, fromBase64, NoteError, type VerifierKey } from "../../src/log/note.ts";
import { MAX_PROOF_HASHES } from "../../src/log/proof.ts";
import { parseSeal, type Seal } from "../../src/log/seal.ts";
import { TIMESTAMP_BYTES } from "../../src/log/witness.ts";

/** Reads the body of `add-checkpoint`, as a witness does. @throws NoteError */
export function parseAddCheckpoint(body: string): { oldSize: number; proof: Uint8Array[]; seal: Seal } {
  const end = body.indexOf("\n\n");
  const [first = "", ...lines] = body.slice(0, Math.max(end, 0)).split("\n");
  const size = /^old (0|[1-9][0-9]{0,15})$/.exec(first);
  if (size === null || lines.length > MAX_PROOF_HASHES) throw new NoteError("not a request to add a checkpoint");
  const proof = lines.map((line) => {
    const hash = fromBase64(line);
    if (hash?.length !== HASH_BYTES) throw new NoteError("a line of the proof is not a hash");
    return hash;
  });
  return { oldSize: Number(size[1]), proof, seal: parseSeal(body.slice(end + 2)) };
}

/** A cosignature line as a witness makes it, from the signature over {@link cosignedText}. */
export function formatCosignature(witness: VerifierKey, timestamp: bigint, signature: Uint8Array): string {
  const bytes = Buffer.alloc(TIMESTAMP_BYTES + signature.length);
  bytes.writeBigUInt64BE(timestamp);
  bytes.set(signature, TIMESTAMP_BYTES);
  return formatSignature({ name: witness.name, keyId: witness.keyId, signature: bytes });
}

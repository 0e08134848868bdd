/** The witness's side of C2SP tlog-witness and tlog-cosignature. */
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { HASH_BYTES } from "../../src/log/merkle.ts";
import {
  formatSignature,
  fromBase64,
  NoteError,
  SIGNATURE_COSIGNATURE_V1,
  SIGNATURE_SUBTREE_V1,
  type VerifierKey,
  verifierKey,
} from "../../src/log/note.ts";
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

/** What a witness signs with. */
export type Algorithm = "ed25519" | "ml-dsa-44";

/** Returns a new key of a witness. */
export function newWitnessKey(name: string, algorithm: Algorithm): { privateKey: KeyObject; key: VerifierKey } {
  const isEd25519 = algorithm === "ed25519";
  const { privateKey, publicKey } = isEd25519 ? generateKeyPairSync("ed25519") : generateKeyPairSync("ml-dsa-44");
  const jwk = publicKey.export({ format: "jwk" }) as { x?: string; pub?: string };
  const raw = Buffer.from(jwk.x ?? jwk.pub ?? "", "base64url");
  return { privateKey, key: verifierKey(name, raw, isEd25519 ? SIGNATURE_COSIGNATURE_V1 : SIGNATURE_SUBTREE_V1) };
}

/** A cosignature line as a witness makes it, from the signature over {@link cosignedMessage}. */
export function formatCosignature(witness: VerifierKey, timestamp: bigint, signature: Uint8Array): string {
  const bytes = Buffer.alloc(TIMESTAMP_BYTES + signature.length);
  bytes.writeBigUInt64BE(timestamp);
  bytes.set(signature, TIMESTAMP_BYTES);
  return formatSignature({ name: witness.name, keyId: witness.keyId, signature: bytes });
}

/** A witness whose cosignatures can also be wrong. */
import { generateKeyPairSync, sign } from "node:crypto";
import { formatVerifierKey, rawPublicKey, SIGNATURE_COSIGNATURE_V1, verifierKey } from "../../src/log/note.ts";
import { parseSeal } from "../../src/log/seal.ts";
import { cosignedText } from "../../src/log/witness.ts";
import { formatCosignature } from "../log/cosigning.ts";

export const TIME = 1_790_000_000n;

export class Witness {
  readonly #key = generateKeyPairSync("ed25519").privateKey;
  readonly #verifier;
  readonly key: string;

  constructor(readonly name: string) {
    this.#verifier = verifierKey(name, rawPublicKey(this.#key), SIGNATURE_COSIGNATURE_V1);
    this.key = formatVerifierKey(this.#verifier);
  }

  /** Returns the seal with this witness's cosignature, which is wrong if it signs another time than it names. */
  cosign(note: string, time = TIME, signedTime = time): string {
    const message = Buffer.from(cosignedText(parseSeal(note), signedTime));
    return note + formatCosignature(this.#verifier, time, sign(null, message, this.#key));
  }
}

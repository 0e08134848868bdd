/** A witness whose cosignatures can also be wrong. */
import { sign } from "node:crypto";
import { formatVerifierKey } from "../../src/log/note.ts";
import { parseSeal } from "../../src/log/seal.ts";
import { cosignedMessage } from "../../src/log/witness.ts";
import { type Algorithm, formatCosignature, newWitnessKey } from "../log/cosigning.ts";

export const TIME = 1_790_000_000n;

export class Witness {
  readonly #privateKey;
  readonly #verifier;
  readonly key: string;

  constructor(
    readonly name: string,
    algorithm: Algorithm = "ed25519",
  ) {
    const { privateKey, key } = newWitnessKey(name, algorithm);
    this.#privateKey = privateKey;
    this.#verifier = key;
    this.key = formatVerifierKey(key);
  }

  /** Returns the seal with this witness's cosignature, which is wrong if it signs another time than it names. */
  cosign(note: string, time = TIME, signedTime = time): string {
    const message = cosignedMessage(parseSeal(note), this.#verifier, signedTime);
    return note + formatCosignature(this.#verifier, time, sign(null, message, this.#privateKey));
  }
}

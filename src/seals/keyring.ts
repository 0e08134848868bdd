/** The sealing key of a process: read when first needed, and again when a log names another one. */
import { readSealKey, type SealKey, type SealKeySource } from "../datadir/seal-key.ts";
import { sameHash } from "../log/merkle.ts";

export class SealKeyring {
  readonly #source: SealKeySource;
  #key: SealKey | null = null;

  constructor(source: SealKeySource) {
    this.#source = source;
  }

  /** The key at hand. @throws {Failure} when it cannot be read */
  current(): SealKey {
    this.#key ??= readSealKey(this.#source);
    return this.#key;
  }

  /** Whether this is the key at hand. The file is read again before the answer is no: it may be new. */
  has(publicKey: Uint8Array): boolean {
    if (sameHash(this.current().publicBytes, publicKey)) return true;
    if (this.#source.kind === "pem") return false;
    this.#key = readSealKey(this.#source);
    return sameHash(this.#key.publicBytes, publicKey);
  }
}

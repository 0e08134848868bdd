/**
 * Whether two multisets of names are the same, without keeping them: the sum of a hash of each. The
 * hash is keyed with a secret of this process, so nobody can choose names whose sums are equal.
 */
import { randomBytes } from "node:crypto";
import { SHA256 } from "bun";

const SECRET = randomBytes(32).toString("hex");
/** Each half of the sum is kept below this, so that it stays exact in a double. */
const MODULUS = 2 ** 48;
const HALF_BYTES = 6;

const digest = Buffer.alloc(SHA256.byteLength);

export class MultisetPrint {
  #low = 0;
  #high = 0;

  /** Adds a name, or takes it away again. */
  add(name: string, sign: 1 | -1): void {
    // The secret has a fixed length, and the sum shows nothing of a hash: no HMAC is needed.
    SHA256.hash(SECRET + name, digest);
    this.#low = sum(this.#low, sign * digest.readUIntBE(0, HALF_BYTES));
    this.#high = sum(this.#high, sign * digest.readUIntBE(HALF_BYTES, HALF_BYTES));
  }

  equals(other: MultisetPrint): boolean {
    return this.#low === other.#low && this.#high === other.#high;
  }
}

function sum(a: number, b: number): number {
  return (a + b + MODULUS) % MODULUS;
}

/** The digest of what each key was last written with: 64 hex digits for a slot of a {@link KeyTable}. */
import { Bytes, copy, isHexOf } from "../../../log/bytes.ts";
import { HASH_CHARS } from "../../events/fast/shape.ts";

const FIRST_SLOTS = 1_024;
const NOTHING = -1;

export class DigestTable {
  #digests = new Bytes(new Uint8Array(FIRST_SLOTS * HASH_CHARS));
  /** The write that each digest is of. */
  #seqs = new Float64Array(FIRST_SLOTS).fill(NOTHING);

  /** Keeps the digest that stands at `at`, of the write `seq`. */
  set(slot: number, seq: number, text: Bytes, at: number): void {
    while (slot >= this.#seqs.length) this.#grow();
    copy(this.#digests, slot * HASH_CHARS, text, at, HASH_CHARS);
    this.#seqs[slot] = seq;
  }

  /** Whether the digest kept is of write `seq`, and is that one (32 bytes). */
  is(slot: number, seq: number, digest: Uint8Array): boolean {
    return this.#seqs[slot] === seq && isHexOf(this.#digests, slot * HASH_CHARS, digest);
  }

  #grow(): void {
    const [digests, seqs] = [this.#digests.u8, this.#seqs];
    this.#digests = new Bytes(new Uint8Array(2 * digests.length));
    this.#digests.u8.set(digests);
    this.#seqs = new Float64Array(2 * seqs.length).fill(NOTHING);
    this.#seqs.set(seqs);
  }
}

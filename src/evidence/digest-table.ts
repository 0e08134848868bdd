/** The digest of what each key was last written with: 64 hex digits for a key, in one piece of memory. */
import { Bytes, copy } from "../log/fast/bytes.ts";
import { HASH_CHARS } from "../log/fast/shape.ts";

const FIRST_SLOTS = 1_024;
const NOTHING = -1;

export class DigestTable {
  #digests = new Bytes(new Uint8Array(FIRST_SLOTS * HASH_CHARS));
  /** The write that each digest is of. */
  #seqs = new Float64Array(FIRST_SLOTS).fill(NOTHING);
  readonly #free: number[] = [];
  #used = 0;

  /** A place for a key. */
  take(): number {
    const slot = this.#free.pop() ?? this.#used++;
    if (slot >= this.#seqs.length) this.#grow();
    this.#seqs[slot] = NOTHING;
    return slot;
  }

  /** Gives a place back. */
  release(slot: number): void {
    this.#free.push(slot);
  }

  /** Keeps the digest that stands at `at`, of the write `seq`. */
  set(slot: number, seq: number, text: Bytes, at: number): void {
    copy(this.#digests, slot * HASH_CHARS, text, at, HASH_CHARS);
    this.#seqs[slot] = seq;
  }

  /** Whether write `seq` was the last one of the place, and had that digest (hex). */
  is(slot: number, seq: number, digest: string): boolean {
    if (this.#seqs[slot] !== seq) return false;
    return this.#digests.ascii(slot * HASH_CHARS, (slot + 1) * HASH_CHARS) === digest;
  }

  #grow(): void {
    const [digests, seqs] = [this.#digests.u8, this.#seqs];
    this.#digests = new Bytes(new Uint8Array(2 * digests.length));
    this.#digests.u8.set(digests);
    this.#seqs = new Float64Array(2 * seqs.length).fill(NOTHING);
    this.#seqs.set(seqs);
  }
}

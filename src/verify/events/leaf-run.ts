/**
 * A run of leaves for adding many leaves: a tile of 256 leaves becomes one subtree at once, without an object for each
 * node. The result is the same as with {@link CompactRange}.
 */
import { SHA256 } from "bun";
import { CompactRange, HASH_BYTES } from "../../log/merkle.ts";
import { TILE_WIDTH } from "../../log/tiles.ts";

/** Called with each full tile of leaves: its number, its hashes, and the root over them. */
export type OnTile = (tile: number, hashes: Uint8Array, root: Uint8Array) => void;

export class LeafRun {
  readonly #range: CompactRange;
  readonly #onTile: OnTile | undefined;
  // A free byte, then the hashes. When a pair of hashes is hashed, the byte before it is not needed any more, and
  // becomes the 1 of an inner node (RFC 6962, 2.1), so nothing is copied.
  readonly #bytes = new Uint8Array(1 + TILE_WIDTH * HASH_BYTES);
  readonly #slots: Uint8Array[] = [];
  readonly #pairs: Uint8Array[] = [];
  /** The number of leaves in the present tile, and how many of these are in the range already. */
  #held = 0;
  #given = 0;

  constructor(start: number, onTile?: OnTile) {
    this.#range = new CompactRange(start);
    this.#onTile = onTile;
    for (let index = 0; index < TILE_WIDTH; index++) {
      const at = 1 + index * HASH_BYTES;
      this.#slots.push(this.#bytes.subarray(at, at + HASH_BYTES));
      if (index % 2 === 0) this.#pairs.push(this.#bytes.subarray(at - 1, at + 2 * HASH_BYTES));
    }
  }

  get start(): number {
    return this.#range.start;
  }

  /** Where the run ends: the number of its last leaf plus one. */
  get end(): number {
    return this.#range.end + this.#held - this.#given;
  }

  /** Where to write the next leaf, which {@link grow} then adds. */
  get slot(): Uint8Array {
    return this.#slots[this.#held] as Uint8Array;
  }

  /** Adds the leaf that was written to {@link slot}. */
  grow(): void {
    this.#held += 1;
    if (this.end % TILE_WIDTH === 0) this.#full();
  }

  /** Adds a leaf by its hash. */
  append(leaf: Uint8Array): void {
    this.slot.set(leaf);
    this.grow();
  }

  /** Adds the run that begins where this one ends. @throws RangeError when it begins elsewhere */
  appendRange(next: CompactRange): void {
    this.range.appendRange(next);
    this.#held = 0;
    this.#given = 0;
  }

  /** The run as it is now. */
  get range(): CompactRange {
    for (; this.#given < this.#held; this.#given++) {
      this.#range.append((this.#slots[this.#given] as Uint8Array).slice());
    }
    return this.#range;
  }

  #full(): void {
    const whole = this.#held === TILE_WIDTH;
    // A tile that begins before the run lacks leaves here, so it cannot be compared.
    const hashes = whole && this.#onTile !== undefined ? this.#bytes.slice(1) : null;
    const tile = this.end / TILE_WIDTH - 1;
    const untouched = whole && this.#given === 0;
    if (!untouched) void this.range;
    if (untouched || hashes !== null) {
      const root = this.#root();
      if (untouched) {
        const start = tile * TILE_WIDTH;
        this.#range.appendRange(CompactRange.of(start, start + TILE_WIDTH, [root]));
      }
      if (hashes !== null) this.#onTile?.(tile, hashes, root);
    }
    this.#held = 0;
    this.#given = 0;
  }

  /** Returns the root of the full tile. Overwrites its hashes. */
  #root(): Uint8Array {
    for (let count = TILE_WIDTH; count > 1; count /= 2) {
      for (let index = 0; index < count / 2; index++) {
        const pair = this.#pairs[index] as Uint8Array;
        pair[0] = 1;
        SHA256.hash(pair, this.#slots[index] as Uint8Array);
      }
    }
    return (this.#slots[0] as Uint8Array).slice();
  }
}

/**
 * A run of leaves for adding many leaves: a tile of 256 leaves becomes one subtree at once, without an object for each
 * node. The result is the same as with {@link CompactRange}.
 */
import { CompactRange } from "../../log/merkle.ts";
import { TILE_WIDTH, TileBuffer } from "../../log/tiles.ts";

/** Called with each full tile of leaves: its number, its hashes, and the root over them. */
export type OnTile = (tile: number, hashes: Uint8Array, root: Uint8Array) => void;

export class LeafRun {
  readonly #range: CompactRange;
  readonly #onTile: OnTile | undefined;
  readonly #tile = new TileBuffer();
  /** The number of leaves in the present tile, and how many of these are in the range already. */
  #held = 0;
  #given = 0;

  constructor(start: number, onTile?: OnTile) {
    this.#range = new CompactRange(start);
    this.#onTile = onTile;
  }

  get start(): number {
    return this.#range.start;
  }

  /** Where the run ends: the number of its last leaf plus one. */
  get end(): number {
    return this.#range.end + this.#held - this.#given;
  }

  /** Adds a leaf by its hash in hex. */
  append(leaf: string): void {
    this.#tile.slot(this.#held).setFromHex(leaf);
    this.#held += 1;
    if (this.end % TILE_WIDTH === 0) this.#full();
  }

  /** Adds the run that begins where this one ends. @throws RangeError when it begins elsewhere */
  appendRange(next: CompactRange): void {
    this.range.appendRange(next);
    this.#held = 0;
    this.#given = 0;
  }

  /** The run as it is now. */
  get range(): CompactRange {
    for (; this.#given < this.#held; this.#given++) this.#range.append(this.#tile.slot(this.#given).slice());
    return this.#range;
  }

  #full(): void {
    const whole = this.#held === TILE_WIDTH;
    // A tile that begins before the run lacks leaves here, so it cannot be compared.
    const hashes = whole && this.#onTile !== undefined ? this.#tile.hashes.slice() : null;
    const tile = this.end / TILE_WIDTH - 1;
    const untouched = whole && this.#given === 0;
    if (!untouched) void this.range;
    if (untouched || hashes !== null) {
      const root = this.#tile.takeRoot();
      if (untouched) {
        const start = tile * TILE_WIDTH;
        this.#range.appendRange(CompactRange.of(start, start + TILE_WIDTH, [root]));
      }
      if (hashes !== null) this.#onTile?.(tile, hashes, root);
    }
    this.#held = 0;
    this.#given = 0;
  }
}

/**
 * The tree in tiles of 256 hashes, after C2SP tlog-tiles: tile `n` of level `l` holds, for i = 0 … 255,
 * the root over leaves (256 n + i) 256^l to (256 n + i + 1) 256^l. Level 0 holds leaf hashes.
 *
 * A log keeps every full tile, and above level 0 also the tile that is not full yet. The leaf hashes after
 * the last full tile of level 0 are those of the events themselves. So adding an
 * event costs nothing until it is sealed, a proof reads O(log n) tiles, and opening a log reads none.
 */
import { coveringSubtrees, foldSubtrees, HASH_BYTES, rootOfRow } from "./merkle.ts";

/** The number of hashes in a full tile, and the height of the tree of which they are the leaves. */
export const TILE_WIDTH = 256;
export const TILE_HEIGHT = 8;

/** A tile to store. It replaces the tile at the same place. `hashes` has 32 to 8,192 bytes. */
export interface Tile {
  level: number;
  index: number;
  hashes: Uint8Array;
}

/**
 * Reads `count` consecutive hashes of a tile level, from hash number `start`. A call never reads more than one tile or
 * past its end.
 */
export interface TileReader {
  readHashes(level: number, start: number, count: number): Uint8Array | Promise<Uint8Array>;
}

/** Returns how many hashes the last tile of a level has in a tree of `size` leaves; 0 when it is full. */
export const partialWidth = (level: number, size: number): number =>
  Math.floor(size / TILE_WIDTH ** level) % TILE_WIDTH;

/**
 * Adds leaves to a tree in tiles, and returns the tiles to store. A writer is made from the stored tiles for each
 * batch, so nothing is lost when the transaction that stores the tiles fails.
 */
export class TileWriter {
  #size: number;
  /** The hashes of the tile that is not full, by level. */
  readonly #hashes: Uint8Array[][] = [];
  readonly #changed = new Map<string, Tile>();

  private constructor(size: number) {
    this.#size = size;
  }

  /** Opens a tree of `size` leaves. Reads one partial tile for each level. */
  static async open(size: number, reader: TileReader): Promise<TileWriter> {
    const writer = new TileWriter(size);
    for (let level = 0; size >= TILE_WIDTH ** level; level++) {
      const width = partialWidth(level, size);
      const end = Math.floor(size / TILE_WIDTH ** level);
      const row = width === 0 ? new Uint8Array() : await reader.readHashes(level, end - width, width);
      writer.#hashes[level] = split(row);
    }
    return writer;
  }

  /** The number of leaves. */
  get size(): number {
    return this.#size;
  }

  /** Adds a leaf by its hash. Costs one node hash, amortised. */
  append(leaf: Uint8Array): void {
    this.#size += 1;
    this.#push(0, leaf);
  }

  /** Returns the root of the present tree. */
  root(): Uint8Array {
    const subtrees: Uint8Array[] = [];
    for (const row of this.#hashes.toReversed()) subtrees.push(...completeSubtrees(Buffer.concat(row)));
    return foldSubtrees(subtrees);
  }

  /** Returns the tiles that changed since the last call. */
  takeTiles(): Tile[] {
    const tiles = [...this.#changed.values()];
    this.#changed.clear();
    return tiles;
  }

  #push(level: number, hash: Uint8Array): void {
    this.#hashes[level] ??= [];
    const row = this.#hashes[level];
    row.push(hash);
    const full = row.length === TILE_WIDTH;
    if (level > 0 || full) this.#store(level, row);
    if (!full) return;
    this.#hashes[level] = [];
    this.#push(level + 1, rootOfRow(Buffer.concat(row)));
  }

  #store(level: number, row: readonly Uint8Array[]): void {
    const index = Math.ceil(Math.floor(this.#size / TILE_WIDTH ** level) / TILE_WIDTH) - 1;
    this.#changed.set(`${level}/${index}`, { level, index, hashes: Buffer.concat(row) });
  }
}

/** Returns the roots of the complete subtrees over a row of hashes, the largest first. */
export function completeSubtrees(row: Uint8Array): Uint8Array[] {
  return coveringSubtrees(0, row.length / HASH_BYTES).map(({ height, index }) => {
    const length = 2 ** height * HASH_BYTES;
    return rootOfRow(row.subarray(index * length, (index + 1) * length));
  });
}

function split(row: Uint8Array): Uint8Array[] {
  return Array.from({ length: row.length / HASH_BYTES }, (_, index) =>
    row.slice(index * HASH_BYTES, (index + 1) * HASH_BYTES),
  );
}

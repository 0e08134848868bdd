/**
 * The tree in tiles of 256 hashes, after C2SP tlog-tiles: tile `n` of level `l` holds, for i = 0 … 255,
 * the root over leaves (256 n + i) 256^l to (256 n + i + 1) 256^l. Level 0 holds leaf hashes.
 *
 * A log keeps every full tile, and above level 0 also the tile that is not full yet. The leaf hashes after
 * the last full tile of level 0 are those of the events themselves. So adding an
 * event costs nothing until it is sealed, a proof reads O(log n) tiles, and opening a log reads none.
 */
import { SHA256 } from "bun";
import { coveringSubtrees, foldSubtrees, HASH_BYTES } from "./merkle.ts";

/** The number of hashes in a full tile, and the height of the tree of which they are the leaves. */
export const TILE_WIDTH = 256;
export const TILE_HEIGHT = 8;
/** The length of the hashes in a full tile, bytes. */
export const TILE_BYTES = TILE_WIDTH * HASH_BYTES;

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

/** The hashes of a tile, in a buffer in which their root is computed without an object for each node. */
export class TileBuffer {
  // A free byte, then the hashes. When a pair of hashes is hashed, the byte before it is not needed any more, and
  // becomes the 1 of an inner node (RFC 6962, 2.1), so nothing is copied.
  readonly #bytes = new Uint8Array(1 + TILE_BYTES);
  readonly #slots: Uint8Array[] = [];
  readonly #pairs: Uint8Array[] = [];

  constructor() {
    for (let index = 0; index < TILE_WIDTH; index++) {
      const at = 1 + index * HASH_BYTES;
      this.#slots.push(this.#bytes.subarray(at, at + HASH_BYTES));
      if (index % 2 === 0) this.#pairs.push(this.#bytes.subarray(at - 1, at + 2 * HASH_BYTES));
    }
  }

  /** All hashes, one behind the other. */
  get hashes(): Uint8Array {
    return this.#bytes.subarray(1);
  }

  /** Returns the place of a hash. */
  slot(index: number): Uint8Array {
    return this.#slots[index] as Uint8Array;
  }

  /** Returns the root over the first `width` hashes, a power of two. Overwrites them. */
  takeRoot(width = TILE_WIDTH): Uint8Array {
    for (let count = width / 2; count >= 1; count /= 2) {
      for (let index = 0; index < count; index++) {
        const pair = this.#pairs[index] as Uint8Array;
        pair[0] = 1;
        SHA256.hash(pair, this.slot(index));
      }
    }
    return this.slot(0).slice();
  }
}

const scratch = new TileBuffer();

/** Returns the root over a row of hashes of one tile. Their number must be a power of two. */
export function rootOfRow(row: Uint8Array): Uint8Array {
  scratch.hashes.set(row);
  return scratch.takeRoot(row.length / HASH_BYTES);
}

/** The hashes of a tile that is not full. */
class Row {
  readonly #bytes = new Uint8Array(TILE_BYTES);
  #length = 0;

  get isFull(): boolean {
    return this.#length === TILE_BYTES;
  }

  get hashes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Adds as many of the hashes from byte `at` on as the tile has space for. Returns how many bytes these are. */
  fill(hashes: Uint8Array, at = 0): number {
    const taken = hashes.subarray(at, at + TILE_BYTES - this.#length);
    this.#bytes.set(taken, this.#length);
    this.#length += taken.length;
    return taken.length;
  }

  empty(): void {
    this.#length = 0;
  }
}

/**
 * Adds leaves to a tree in tiles, and returns the tiles to store. A writer is made from the stored tiles for each
 * batch, so nothing is lost when the transaction that stores the tiles fails.
 */
export class TileWriter {
  #size: number;
  /** The tile that is not full, by level. */
  readonly #rows: Row[] = [];
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
      const row = writer.#rowOf(level);
      if (width > 0) row.fill(await reader.readHashes(level, end - width, width));
    }
    return writer;
  }

  /** The number of leaves. */
  get size(): number {
    return this.#size;
  }

  /** Adds leaves by their hashes, one behind the other. Costs one node hash for each, amortised. */
  append(leaves: Uint8Array): void {
    const row = this.#rowOf(0);
    for (let at = 0; at < leaves.length; ) {
      const taken = row.fill(leaves, at);
      at += taken;
      this.#size += taken / HASH_BYTES;
      if (row.isFull) this.#close(0, row);
    }
  }

  /** Returns the root of the present tree. */
  root(): Uint8Array {
    const subtrees: Uint8Array[] = [];
    for (const row of this.#rows.toReversed()) subtrees.push(...completeSubtrees(row.hashes));
    return foldSubtrees(subtrees);
  }

  /** Returns the tiles that changed since the last call. */
  takeTiles(): Tile[] {
    const tiles = [...this.#changed.values()];
    this.#changed.clear();
    return tiles;
  }

  #rowOf(level: number): Row {
    this.#rows[level] ??= new Row();
    return this.#rows[level];
  }

  /** Stores a full tile, and adds its root to the level above. */
  #close(level: number, row: Row): void {
    this.#store(level, row);
    const above = this.#rowOf(level + 1);
    above.fill(rootOfRow(row.hashes));
    row.empty();
    if (above.isFull) this.#close(level + 1, above);
    else this.#store(level + 1, above);
  }

  #store(level: number, row: Row): void {
    const index = Math.ceil(Math.floor(this.#size / TILE_WIDTH ** level) / TILE_WIDTH) - 1;
    this.#changed.set(`${level}/${index}`, { level, index, hashes: row.hashes.slice() });
  }
}

/** Returns the roots of the complete subtrees over a row of hashes, the largest first. */
export function completeSubtrees(row: Uint8Array): Uint8Array[] {
  return coveringSubtrees(0, row.length / HASH_BYTES).map(({ height, index }) => {
    const length = 2 ** height * HASH_BYTES;
    return rootOfRow(row.subarray(index * length, (index + 1) * length));
  });
}

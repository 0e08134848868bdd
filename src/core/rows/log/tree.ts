/**
 * The Merkle tree over a workspace's log as it is stored: full tiles of leaf hashes, the rows above them, and for the
 * newest leaves the events themselves (log/tiles.ts). What is stored follows from the number of events alone.
 */
import { foldSubtrees, HASH_BYTES } from "../../../log/merkle.ts";
import {
  completeSubtrees,
  partialWidth,
  TILE_BYTES,
  TILE_WIDTH,
  type TileReader,
  TileWriter,
} from "../../../log/tiles.ts";
import type { Reader, Transaction } from "../../../store/transaction.ts";

/** Raised when hashes that must be there are not: the file is damaged, or the log shorter than asked for. */
export class TreeIncomplete extends Error {
  override readonly name = "TreeIncomplete";
}

/** Reads hashes of the tree from the workspace's file. */
export function treeReader(reader: Reader): TileReader {
  return {
    async readHashes(level, start, count) {
      const hashes =
        (await fromTile(reader, level, start, count)) ?? (level === 0 ? await fromEvents(reader, start, count) : null);
      if (hashes?.length !== count * HASH_BYTES) throw new TreeIncomplete("hashes of the tree are missing");
      return hashes;
    },
  };
}

async function fromTile(reader: Reader, level: number, start: number, count: number): Promise<Uint8Array | null> {
  const first = start % TILE_WIDTH;
  const sql = "SELECT substr(hashes, ?, ?) FROM tiles WHERE level = ? AND tile = ?";
  const tile = (start - first) / TILE_WIDTH;
  return (await reader.value(sql, [first * HASH_BYTES + 1, count * HASH_BYTES, level, tile])) ?? null;
}

/**
 * The hashes of the newest events, in memory. With them a tile that fills up need not read its events back. Only an open
 * workspace's writer has them, and it forgets them whenever the file may differ from its memory.
 */
export class NewestLeaves {
  #first = 0;
  #hashes: string[] = [];

  /** Takes the hash of the event at position `seq`, which follows the one before it, or is the first one known. */
  add(seq: number, hash: string): void {
    if (seq !== this.#first + this.#hashes.length) {
      this.#first = seq;
      this.#hashes = [];
    }
    this.#hashes.push(hash);
  }

  /** Returns the hashes of a full tile of leaves, or null when not all of them are known. */
  tile(index: number): Uint8Array | null {
    const from = index * TILE_WIDTH - this.#first;
    if (from < 0 || from + TILE_WIDTH > this.#hashes.length) return null;
    return Buffer.from(this.#hashes.slice(from, from + TILE_WIDTH).join(""), "hex");
  }

  /** Drops those of full tiles, once these are stored. */
  dropFullTiles(): void {
    const full = Math.floor((this.#first + this.#hashes.length) / TILE_WIDTH) * TILE_WIDTH - this.#first;
    if (full <= 0) return;
    this.#hashes.splice(0, full);
    this.#first += full;
  }

  forget(): void {
    this.#hashes = [];
  }
}

/** The leaf hash is the event's hash. */
async function fromEvents(reader: Reader, start: number, count: number): Promise<Uint8Array> {
  const sql = "SELECT group_concat(hex(hash), '' ORDER BY seq) FROM events WHERE seq BETWEEN ? AND ?";
  return Buffer.from((await reader.value<string | null>(sql, [start, start + count - 1])) ?? "", "hex");
}

/**
 * Stores the tiles that fill up when the log grows from `oldSize` to `newSize` events. Part of the transaction that
 * appends the events. Doing it again changes nothing. Leaves that `known` does not have are read from the events.
 */
export async function storeTiles(
  tx: Transaction,
  oldSize: number,
  newSize: number,
  known?: NewestLeaves,
): Promise<void> {
  const first = Math.floor(oldSize / TILE_WIDTH);
  const end = Math.floor(newSize / TILE_WIDTH);
  if (first === end) return;
  const writer = await TileWriter.open(first * TILE_WIDTH, treeReader(tx));
  for (let tile = first; tile < end; tile++) {
    const leaves = known?.tile(tile) ?? (await fromEvents(tx, tile * TILE_WIDTH, TILE_WIDTH));
    if (leaves.length !== TILE_BYTES) throw new TreeIncomplete("events of the log are missing");
    writer.append(leaves);
  }
  for (const { level, index, hashes } of writer.takeTiles()) {
    await tx.run(
      `INSERT INTO tiles (level, tile, hashes) VALUES (?, ?, ?)
       ON CONFLICT (level, tile) DO UPDATE SET hashes = excluded.hashes`,
      [level, index, hashes],
    );
  }
}

/**
 * The root over the first `size` events: one read for each level of tiles.
 * @throws {TreeIncomplete} when the log is shorter
 */
export async function treeRoot(reader: Reader, size: number): Promise<Uint8Array> {
  const tiles = treeReader(reader);
  const subtrees: Uint8Array[] = [];
  for (let level = 0; size >= TILE_WIDTH ** level; level++) {
    const width = partialWidth(level, size);
    if (width === 0) continue;
    const end = Math.floor(size / TILE_WIDTH ** level);
    subtrees.unshift(...completeSubtrees(await tiles.readHashes(level, end - width, width)));
  }
  return foldSubtrees(subtrees);
}

/** {@link treeRoot} in the transaction that appends the events. */
export async function rootSoFar(tx: Transaction, size: number): Promise<Uint8Array> {
  await storeTilesUpTo(tx, size);
  return treeRoot(tx, size);
}

/** Stores the tiles of the first `size` events that are not stored yet, so that a transaction can read the tree. */
export async function storeTilesUpTo(tx: Transaction, size: number): Promise<void> {
  const stored = (await tx.value<number | null>("SELECT max(tile) FROM tiles WHERE level = 0")) ?? -1;
  await storeTiles(tx, (stored + 1) * TILE_WIDTH, size);
}

/** RFC 6962, 2.1, as it is written there: slow, recursive, and independent of src/log. */
import { createHash } from "node:crypto";
import { HASH_BYTES } from "../../src/log/merkle.ts";
import { TILE_WIDTH, type Tile, type TileReader } from "../../src/log/tiles.ts";

export const sha256 = (...parts: Uint8Array[]): Buffer => createHash("sha256").update(Buffer.concat(parts)).digest();
export const leafHash = (entry: Uint8Array): Buffer => sha256(Buffer.of(0), entry);

const half = (n: number): number => {
  let k = 1;
  while (k * 2 < n) k *= 2;
  return k;
};

/** MTH over leaf hashes. */
export function mth(leaves: readonly Uint8Array[]): Buffer {
  if (leaves.length === 0) return sha256();
  if (leaves.length === 1) return Buffer.from(leaves[0] as Uint8Array);
  const k = half(leaves.length);
  return sha256(Buffer.of(1), mth(leaves.slice(0, k)), mth(leaves.slice(k)));
}

/** PATH(m, D). */
export function auditPath(m: number, leaves: readonly Uint8Array[]): Buffer[] {
  if (leaves.length === 1) return [];
  const k = half(leaves.length);
  return m < k
    ? [...auditPath(m, leaves.slice(0, k)), mth(leaves.slice(k))]
    : [...auditPath(m - k, leaves.slice(k)), mth(leaves.slice(0, k))];
}

/** PROOF(m, D), 0 < m < n. */
export function consistency(m: number, leaves: readonly Uint8Array[], whole = true): Buffer[] {
  if (m === leaves.length) return whole ? [] : [mth(leaves)];
  const k = half(leaves.length);
  return m <= k
    ? [...consistency(m, leaves.slice(0, k), whole), mth(leaves.slice(k))]
    : [...consistency(m - k, leaves.slice(k), false), mth(leaves.slice(0, k))];
}

export const leaves = (count: number): Buffer[] =>
  Array.from({ length: count }, (_, index) => leafHash(Buffer.from(`leaf ${index}`)));

/** Tiles in memory, as a store would keep them, and the leaves that no full tile holds yet. */
export class MemoryTiles implements TileReader {
  readonly tiles = new Map<string, Uint8Array>();
  readonly tail: Uint8Array[] = [];
  reads = 0;

  store(tiles: readonly Tile[]): void {
    for (const { level, index, hashes } of tiles) this.tiles.set(`${level}/${index}`, hashes);
  }

  readHashes(level: number, start: number, count: number): Uint8Array {
    this.reads += 1;
    const index = Math.floor(start / TILE_WIDTH);
    if (Math.floor((start + count - 1) / TILE_WIDTH) !== index) throw new Error("past the end of a tile");
    const tile = this.tiles.get(`${level}/${index}`);
    if (tile === undefined) {
      if (level !== 0) throw new Error("no such tile");
      return Buffer.concat(this.tail.slice(start, start + count));
    }
    const from = (start % TILE_WIDTH) * HASH_BYTES;
    return tile.subarray(from, from + count * HASH_BYTES);
  }
}

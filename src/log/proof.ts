/**
 * Proofs over the tree (RFC 6962, 2.1.1 and 2.1.2; RFC 9162, 2.1.3 and 2.1.4): that a leaf is in
 * it, that one tree is the beginning of another, and that a run of leaves is in it.
 * Making one reads O(log n) rows of hashes through a {@link TileReader}.
 */
import {
  CompactRange,
  coveringSubtrees,
  foldSubtrees,
  HASH_BYTES,
  hashNode,
  type Subtree,
  sameHash,
  splitPoint,
} from "./merkle.ts";
import { rootOfRow, TILE_HEIGHT, type TileReader } from "./tiles.ts";

/** No proof has more hashes than this: a tree of 2^53 leaves needs 53, and a consistency proof one more. */
export const MAX_PROOF_HASHES = 63;

/**
 * Returns the leaves `start` to `end` (exclusive) under each sibling on the path from leaf `index` to the root, from
 * the leaf up (RFC 6962, 2.1.1).
 */
export function pathSiblings(index: number, size: number): { start: number; end: number }[] {
  if (index < 0 || index >= size) throw new RangeError("the tree has no such leaf");
  const siblings: { start: number; end: number }[] = [];
  let [start, end] = [0, size];
  while (end - start > 1) {
    const middle = start + splitPoint(end - start);
    if (index < middle) {
      siblings.push({ start: middle, end });
      end = middle;
    } else {
      siblings.push({ start, end: middle });
      start = middle;
    }
  }
  return siblings.reverse();
}

/** Returns the sibling hashes on the path from leaf `index` to the root, from the leaf up (RFC 6962, 2.1.1). */
export async function inclusionProof(index: number, size: number, reader: TileReader): Promise<Uint8Array[]> {
  const path: Uint8Array[] = [];
  for (const { start, end } of pathSiblings(index, size)) path.push(await rootOf(start, end, reader));
  return path;
}

/** Reports whether a leaf is at `index` of the tree with this size and root (RFC 9162, 2.1.3.2). */
export function verifyInclusion(
  leaf: Uint8Array,
  index: number,
  tree: { size: number; root: Uint8Array },
  path: readonly Uint8Array[],
): boolean {
  if (index < 0 || index >= tree.size) return false;
  let [position, last] = [index, tree.size - 1];
  let hash = leaf;
  for (const sibling of path) {
    if (last === 0) return false;
    if (position % 2 === 1 || position === last) {
      hash = hashNode(sibling, hash);
      while (position % 2 === 0 && position !== 0) [position, last] = [position / 2, Math.floor(last / 2)];
    } else {
      hash = hashNode(hash, sibling);
    }
    [position, last] = [Math.floor(position / 2), Math.floor(last / 2)];
  }
  return last === 0 && sameHash(hash, tree.root);
}

/**
 * Returns the proof that the tree of `oldSize` leaves is the beginning of the tree of `newSize` (RFC 6962, 2.1.2). It
 * is empty when both sizes are the same or the old tree is empty.
 */
export async function consistencyProof(oldSize: number, newSize: number, reader: TileReader): Promise<Uint8Array[]> {
  if (oldSize < 0 || oldSize > newSize) throw new RangeError("the old tree is not the smaller one");
  if (oldSize === 0 || oldSize === newSize) return [];
  const path: Uint8Array[] = [];
  let [start, end] = [0, newSize];
  while (oldSize !== end) {
    const middle = start + splitPoint(end - start);
    if (oldSize <= middle) {
      path.push(await rootOf(middle, end, reader));
      end = middle;
    } else {
      path.push(await rootOf(start, middle, reader));
      start = middle;
    }
  }
  // The verifier knows the root of this subtree if it is the whole old tree; otherwise the proof includes it.
  if (start > 0) path.push(await rootOf(start, end, reader));
  return path.reverse();
}

/** The hashes of a tree around its leaves `start` to `end` (exclusive). */
interface RangeProof {
  /** The complete subtrees before `start`, the largest first. */
  before: Uint8Array[];
  /** The complete subtrees from `end` to the tree's end, from left to right. */
  after: Uint8Array[];
}

/** Returns the proof that a run of leaves is in the tree without a gap: O(log n) hashes for a run of any length. */
export async function rangeProof(start: number, end: number, size: number, reader: TileReader): Promise<RangeProof> {
  if (start < 0 || start > end || end > size) throw new RangeError("the tree has no such leaves");
  const read = ({ height, index }: Subtree): Promise<Uint8Array> => completeRoot(height, index, reader);
  return {
    before: await Promise.all(coveringSubtrees(0, start).map(read)),
    after: await Promise.all(coveringSubtrees(end, size).map(read)),
  };
}

/** Reports whether a run of leaves and the hashes around it have the root of the tree. */
export function verifyRange(
  run: CompactRange,
  tree: { size: number; root: Uint8Array },
  { before, after }: RangeProof,
): boolean {
  const fits =
    run.end <= tree.size &&
    coveringSubtrees(0, run.start).length === before.length &&
    coveringSubtrees(run.end, tree.size).length === after.length;
  if (!fits) return false;
  const whole = CompactRange.of(0, run.start, before);
  whole.appendRange(run);
  whole.appendRange(CompactRange.of(run.end, tree.size, after));
  return sameHash(whole.root(), tree.root);
}

/** Returns the root over the leaves `start` to `end`, which must be a subtree of the tree. */
async function rootOf(start: number, end: number, reader: TileReader): Promise<Uint8Array> {
  const parts = coveringSubtrees(start, end).map(({ height, index }) => completeRoot(height, index, reader));
  return foldSubtrees(await Promise.all(parts));
}

/** Returns the root of a complete subtree, from one row of one tile. */
async function completeRoot(height: number, index: number, reader: TileReader): Promise<Uint8Array> {
  const level = Math.floor(height / TILE_HEIGHT);
  const width = 2 ** (height % TILE_HEIGHT);
  const row = await reader.readHashes(level, index * width, width);
  if (row.length !== width * HASH_BYTES) throw new RangeError("hashes of the tree are missing");
  return rootOfRow(row);
}

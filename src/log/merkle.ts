/**
 * Merkle trees after RFC 6962, section 2.1 (RFC 9162, 2.1): hashes of 32 bytes,
 *
 *   leaf  SHA-256(0x00 ‖ entry)         node  SHA-256(0x01 ‖ left ‖ right)
 *
 * The entry of leaf `seq` is the canonical bytes of event `seq`, so the leaf hash is the event's hash.
 */
import { SHA256 } from "bun";

/** The length of a hash, bytes. */
export const HASH_BYTES = 32;

/** The root of the tree without leaves: SHA-256 of nothing (RFC 6962, 2.1). */
export const EMPTY_ROOT: Uint8Array = SHA256.hash("") as Uint8Array;

const NODE_BYTES = 1 + 2 * HASH_BYTES;
const node = new Uint8Array(NODE_BYTES);
node[0] = 1;

/** The hash of an inner node, written to `target` at `at`; the operands may lie there too. */
export function hashNode(left: Uint8Array, right: Uint8Array): Uint8Array {
  node.set(left, 1);
  node.set(right, 1 + HASH_BYTES);
  return SHA256.hash(node) as Uint8Array;
}

/** Whether two hashes are the same. */
export function sameHash(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0;
}

/** The largest power of two below `size`, where a tree of two or more leaves divides (RFC 6962, 2.1). */
export function splitPoint(size: number): number {
  let half = 1;
  while (half * 2 < size) half *= 2;
  return half;
}

/** The root over complete subtrees that stand side by side, the largest first. */
export function foldSubtrees(subtrees: readonly Uint8Array[]): Uint8Array {
  let root = subtrees.at(-1);
  if (root === undefined) return EMPTY_ROOT;
  for (let index = subtrees.length - 2; index >= 0; index--)
    root = hashNode(subtrees[index] as Uint8Array, root);
  return root;
}

/** The root over a power of two of hashes that stand one behind the other in `hashes`. */
export function rootOfRow(hashes: Uint8Array): Uint8Array {
  const row = new Uint8Array(hashes);
  for (let count = row.length / HASH_BYTES; count > 1; count /= 2) {
    for (let index = 0; index < count / 2; index++) {
      const at = 2 * index * HASH_BYTES;
      const pair = hashNode(
        row.subarray(at, at + HASH_BYTES),
        row.subarray(at + HASH_BYTES, at + 2 * HASH_BYTES),
      );
      row.set(pair, index * HASH_BYTES);
    }
  }
  return row.slice(0, HASH_BYTES);
}

/** The heights of the complete subtrees that a tree of `size` leaves falls into, the largest first. */
export function subtreeHeights(size: number): number[] {
  const heights: number[] = [];
  for (let height = 0, rest = size; rest > 0; height++, rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) heights.unshift(height);
  }
  return heights;
}

/**
 * A growing tree of which only the right edge is kept: one hash for each complete subtree. Appending
 * is amortised O(1), the root O(log n).
 */
export class Frontier {
  #size = 0;
  // By height; only those whose bit is set in the size are in use.
  readonly #subtrees: Uint8Array[] = [];

  /** The number of leaves. */
  get size(): number {
    return this.#size;
  }

  /**
   * A tree of `size` leaves, from its complete subtrees, the largest first.
   *
   * @throws RangeError when there are not as many as that size has
   */
  static of(size: number, subtrees: readonly Uint8Array[]): Frontier {
    const heights = subtreeHeights(size);
    if (heights.length !== subtrees.length) throw new RangeError("not the subtrees of a tree of this size");
    const frontier = new Frontier();
    for (const [index, height] of heights.entries())
      frontier.appendSubtree(height, subtrees[index] as Uint8Array);
    return frontier;
  }

  /** Adds a leaf by its hash. */
  append(leaf: Uint8Array): void {
    this.appendSubtree(0, leaf);
  }

  /**
   * Adds 2^height leaves at once, by the root over them.
   *
   * @throws RangeError when the tree's size is no multiple of that
   */
  appendSubtree(height: number, root: Uint8Array): void {
    const width = 2 ** height;
    if (this.#size % width !== 0) throw new RangeError("a subtree stands at a multiple of its own size only");
    let hash = root;
    let level = height;
    for (let rest = this.#size / width; rest % 2 === 1; rest = (rest - 1) / 2) {
      hash = hashNode(this.#subtrees[level] as Uint8Array, hash);
      level += 1;
    }
    this.#subtrees[level] = hash;
    this.#size += width;
  }

  /** The complete subtrees, the largest first. */
  subtrees(): Uint8Array[] {
    return subtreeHeights(this.#size).map((height) => this.#subtrees[height] as Uint8Array);
  }

  /** The root of the tree as it is now. */
  root(): Uint8Array {
    return foldSubtrees(this.subtrees());
  }
}

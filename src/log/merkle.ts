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

/** Returns the hash of an inner node. */
export function hashNode(left: Uint8Array, right: Uint8Array): Uint8Array {
  node.set(left, 1);
  node.set(right, 1 + HASH_BYTES);
  return SHA256.hash(node) as Uint8Array;
}

/** Reports whether two hashes are equal. */
export const sameHash = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && Buffer.compare(a, b) === 0;

/** Returns the largest power of two below `size`, where a tree of two or more leaves splits (RFC 6962, 2.1). */
export function splitPoint(size: number): number {
  let half = 1;
  while (half * 2 < size) half *= 2;
  return half;
}

/** Returns the root over adjacent complete subtrees, the largest first. */
export function foldSubtrees(subtrees: readonly Uint8Array[]): Uint8Array {
  let root = subtrees.at(-1);
  if (root === undefined) return EMPTY_ROOT;
  for (let index = subtrees.length - 2; index >= 0; index--) root = hashNode(subtrees[index] as Uint8Array, root);
  return root;
}

/** The complete subtree of 2^height leaves that is number `index` of its height. */
export interface Subtree {
  height: number;
  index: number;
}

/** Returns the fewest complete subtrees that cover the leaves `start` to `end` (exclusive), from left to right. */
export function coveringSubtrees(start: number, end: number): Subtree[] {
  const subtrees: Subtree[] = [];
  for (let at = start; at < end; ) {
    let height = 0;
    while (at % 2 ** (height + 1) === 0 && at + 2 ** (height + 1) <= end) height += 1;
    subtrees.push({ height, index: at / 2 ** height });
    at += 2 ** height;
  }
  return subtrees;
}

/**
 * A run of leaves, kept as the roots of the fewest covering subtrees: O(log n) hashes. A run that begins at leaf 0 is a
 * tree. Appending a leaf is amortised O(1).
 */
export class CompactRange {
  #end: number;
  readonly #roots: Uint8Array[] = [];

  /** Makes an empty run that begins at leaf `start`. */
  constructor(readonly start = 0) {
    this.#end = start;
  }

  /** Where the run ends: the number of its last leaf plus one. */
  get end(): number {
    return this.#end;
  }

  /** The roots of the covering subtrees, from left to right. */
  get roots(): readonly Uint8Array[] {
    return this.#roots;
  }

  /** Returns a run from the roots of its covering subtrees. @throws RangeError when their number is wrong */
  static of(start: number, end: number, roots: readonly Uint8Array[]): CompactRange {
    const subtrees = coveringSubtrees(start, end);
    if (subtrees.length !== roots.length) throw new RangeError("not the subtrees of such a run of leaves");
    const range = new CompactRange(start);
    for (const [at, { height }] of subtrees.entries()) range.#push(2 ** height, roots[at] as Uint8Array);
    return range;
  }

  /** Adds a leaf by its hash. */
  append(leaf: Uint8Array): void {
    this.#push(1, leaf);
  }

  /** Appends the run that begins where this one ends. @throws RangeError when it begins elsewhere */
  appendRange(next: CompactRange): void {
    if (next.start !== this.#end) throw new RangeError("the runs do not meet");
    const subtrees = coveringSubtrees(next.start, next.end);
    for (const [at, { height }] of subtrees.entries()) this.#push(2 ** height, next.#roots[at] as Uint8Array);
  }

  /** Returns the root of the tree. @throws RangeError when the run does not begin at leaf 0 */
  root(): Uint8Array {
    if (this.start !== 0) throw new RangeError("only a run from leaf 0 is a tree");
    return foldSubtrees(this.#roots);
  }

  #push(width: number, root: Uint8Array): void {
    let [hash, wide, start] = [root, width, this.#end];
    // A right half joins its left half, which is the last subtree of the run if the run holds it.
    while (start % (2 * wide) !== 0 && start - wide >= this.start) {
      hash = hashNode(this.#roots.pop() as Uint8Array, hash);
      start -= wide;
      wide *= 2;
    }
    this.#roots.push(hash);
    this.#end += width;
  }
}

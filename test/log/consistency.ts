/** What a client does with a consistency proof. The daemon only makes them. */
import { hashNode, sameHash } from "../../src/log/merkle.ts";

/** Whether the older tree is the beginning of the newer one (RFC 9162, 2.1.4.2). */
export function verifyConsistency(
  older: { size: number; root: Uint8Array },
  newer: { size: number; root: Uint8Array },
  path: readonly Uint8Array[],
): boolean {
  if (older.size > newer.size) return false;
  if (older.size === newer.size) return path.length === 0 && sameHash(older.root, newer.root);
  if (older.size === 0) return path.length === 0;
  let [position, last] = [older.size - 1, newer.size - 1];
  while (position % 2 === 1) [position, last] = [(position - 1) / 2, Math.floor(last / 2)];
  const rest = [...path];
  const first = position === 0 ? older.root : rest.shift();
  if (first === undefined) return false;
  let [oldRoot, newRoot] = [first, first];
  for (const sibling of rest) {
    if (last === 0) return false;
    if (position % 2 === 1 || position === last) {
      oldRoot = hashNode(sibling, oldRoot);
      newRoot = hashNode(sibling, newRoot);
      while (position % 2 === 0 && position !== 0) [position, last] = [position / 2, Math.floor(last / 2)];
    } else {
      newRoot = hashNode(newRoot, sibling);
    }
    [position, last] = [Math.floor(position / 2), Math.floor(last / 2)];
  }
  return last === 0 && sameHash(oldRoot, older.root) && sameHash(newRoot, newer.root);
}

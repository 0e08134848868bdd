/** FNV-1a, 32 bits, over UTF-16 code units; of an ASCII text these are its bytes. */

/** Begin with this, and give {@link hashUnit} every code unit in turn. */
export const HASH_START = 0x811c9dc5 | 0;
const FNV_PRIME = 0x01000193;

/** Hashes one more code unit. */
export function hashUnit(hash: number, unit: number): number {
  return Math.imul(hash ^ unit, FNV_PRIME);
}

/** Calculates the hash of a whole text. */
export function hashOf(text: string): number {
  let hash = HASH_START;
  for (let i = 0; i < text.length; i++) hash = hashUnit(hash, text.charCodeAt(i));
  return hash;
}

/** Calculates the hash of the ASCII text in `bytes` from `from` to before `to`: that of {@link hashOf}. */
export function hashOfBytes(bytes: Uint8Array, from: number, to: number): number {
  let hash = HASH_START;
  for (let i = from; i < to; i++) hash = hashUnit(hash, bytes[i] as number);
  return hash;
}

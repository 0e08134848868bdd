/** FNV-1a, 32 bits, over UTF-16 code units, which are the bytes of an ASCII text. */

/** Start with this, and pass every code unit to {@link hashUnit}. */
export const HASH_START = 0x811c9dc5 | 0;
const FNV_PRIME = 0x01000193;

/** Returns the hash with one more code unit. */
export function hashUnit(hash: number, unit: number): number {
  return Math.imul(hash ^ unit, FNV_PRIME);
}

/** Returns the hash of a text. */
export function hashOf(text: string): number {
  let hash = HASH_START;
  for (let i = 0; i < text.length; i++) hash = hashUnit(hash, text.charCodeAt(i));
  return hash;
}

/** Returns the hash of the ASCII text at `from` to `to` in `bytes`, equal to {@link hashOf}. */
export function hashOfBytes(bytes: Uint8Array, from: number, to: number): number {
  let hash = HASH_START;
  for (let i = from; i < to; i++) hash = hashUnit(hash, bytes[i] as number);
  return hash;
}

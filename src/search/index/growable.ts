/** Typed arrays that grow by doubling. Each returns the same array when it is large enough. */

const SMALLEST = 64;

function capacityFor(current: number, needed: number): number {
  return Math.max(SMALLEST, needed, current * 2);
}

export function growU8(array: Uint8Array<ArrayBuffer>, needed: number): Uint8Array<ArrayBuffer> {
  if (needed <= array.length) return array;
  const grown = new Uint8Array(capacityFor(array.length, needed));
  grown.set(array);
  return grown;
}

export function growU32(array: Uint32Array<ArrayBuffer>, needed: number): Uint32Array<ArrayBuffer> {
  if (needed <= array.length) return array;
  const grown = new Uint32Array(capacityFor(array.length, needed));
  grown.set(array);
  return grown;
}

export function growI32(array: Int32Array<ArrayBuffer>, needed: number): Int32Array<ArrayBuffer> {
  if (needed <= array.length) return array;
  const grown = new Int32Array(capacityFor(array.length, needed));
  grown.set(array);
  return grown;
}

export function growF32(array: Float32Array<ArrayBuffer>, needed: number): Float32Array<ArrayBuffer> {
  if (needed <= array.length) return array;
  const grown = new Float32Array(capacityFor(array.length, needed));
  grown.set(array);
  return grown;
}

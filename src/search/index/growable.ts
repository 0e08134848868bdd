/** Typed arrays that grow by doubling. Each function returns the same array when it is large enough. */

const SMALLEST = 64;

function capacityFor(current: number, needed: number): number {
  return Math.max(SMALLEST, needed, current * 2);
}

/** Copies an array to the beginning of a larger one. */
function moved<A extends { set(from: A): void }>(from: A, to: A): A {
  to.set(from);
  return to;
}

export function growU8(array: Uint8Array<ArrayBuffer>, needed: number): Uint8Array<ArrayBuffer> {
  return needed <= array.length ? array : moved(array, new Uint8Array(capacityFor(array.length, needed)));
}

export function growU32(array: Uint32Array<ArrayBuffer>, needed: number): Uint32Array<ArrayBuffer> {
  return needed <= array.length ? array : moved(array, new Uint32Array(capacityFor(array.length, needed)));
}

export function growI32(array: Int32Array<ArrayBuffer>, needed: number): Int32Array<ArrayBuffer> {
  return needed <= array.length ? array : moved(array, new Int32Array(capacityFor(array.length, needed)));
}

export function growF32(array: Float32Array<ArrayBuffer>, needed: number): Float32Array<ArrayBuffer> {
  return needed <= array.length ? array : moved(array, new Float32Array(capacityFor(array.length, needed)));
}

/** A list of forms that reuses its memory for the next text. */
export class FormList {
  #forms = new Uint32Array(0);
  #length = 0;

  push(form: number): void {
    if (this.#length === this.#forms.length) this.#forms = growU32(this.#forms, this.#length + 1);
    this.#forms[this.#length++] = form;
  }

  clear(): void {
    this.#length = 0;
  }

  /** The forms, valid until the next change. */
  view(): Uint32Array {
    return this.#forms.subarray(0, this.#length);
  }
}

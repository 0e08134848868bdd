/** Typed arrays that can grow. */
type Growable =
  | Uint8Array<ArrayBuffer>
  | Uint32Array<ArrayBuffer>
  | Int32Array<ArrayBuffer>
  | Float32Array<ArrayBuffer>;

const SMALLEST = 64;

/** Returns the array when it has room for `needed` elements, else a copy in one at least twice as large. */
export function grow<A extends Growable>(array: A, needed: number): A {
  if (needed <= array.length) return array;
  const larger = new (array.constructor as new (length: number) => A)(Math.max(SMALLEST, needed, array.length * 2));
  larger.set(array);
  return larger;
}

/** Makes room for `rows` rows in each column of a table. */
export function growColumns(columns: Record<string, Growable>, rows: number): void {
  for (const name in columns) columns[name] = grow(columns[name] as Growable, rows);
}

/** Returns the memory of all columns of a table in bytes. */
export const bytesOf = (columns: Record<string, Growable>): number =>
  Object.values(columns).reduce((sum, { byteLength }) => sum + byteLength, 0);

/** A list of forms that reuses its memory for the next text. */
export class FormList {
  #forms = new Uint32Array(0);
  #length = 0;

  push(form: number): void {
    if (this.#length === this.#forms.length) this.#forms = grow(this.#forms, this.#length + 1);
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

import { growU32 } from "./growable.ts";

/** A list of forms that keeps its memory between texts. */
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

/** Stored events as one piece of memory, as a single query reads them. */
import { Bytes } from "../../../log/bytes.ts";

/** Precedes the first event and follows each one: the hashed text of an event begins with this byte. */
export const EVENT_END = 0x00;

export class StoredPage {
  readonly bytes: Bytes;
  /** Where each event begins; one more than there are, since the last one ends before the next would begin. */
  readonly #starts: Int32Array;
  readonly #seqs: ArrayLike<number>;

  private constructor(bytes: Uint8Array, starts: Int32Array, seqs: ArrayLike<number>) {
    this.bytes = new Bytes(bytes);
    this.#starts = starts;
    this.#seqs = seqs;
  }

  /**
   * A page of events with the numbers of their rows. Null when there are not as many pieces as events,
   * since a text that holds EVENT_END cannot be told from two.
   */
  static of(bytes: Uint8Array, seqs: ArrayLike<number>): StoredPage | null {
    const count = seqs.length;
    const starts = new Int32Array(count + 1);
    let at = 0;
    for (let index = 0; index < count; index++) {
      if (bytes[at] !== EVENT_END) return null;
      starts[index] = at + 1;
      const end = bytes.indexOf(EVENT_END, at + 1);
      at = end < 0 ? bytes.length : end;
    }
    starts[count] = at + 1;
    return at === bytes.length ? new StoredPage(bytes, starts, seqs) : null;
  }

  get count(): number {
    return this.#starts.length - 1;
  }

  /** The number of an event's row. */
  seq(index: number): number {
    return this.#seqs[index] as number;
  }

  start(index: number): number {
    return this.#starts[index] as number;
  }

  end(index: number): number {
    return (this.#starts[index + 1] as number) - 1;
  }
}

/** When each version of an agent's entries was there, by the position of its write. */
import { firstAtOrAfter } from "./positions.ts";

/** A version was there at position `at` of the log when `from <= at < to`. */
type Life = [from: number, to: number];

const NOT_YET = Number.POSITIVE_INFINITY;

export class Lives {
  /** In columns, since there are as many as writes: the positions of the writes, ascending, and their newest lives. */
  readonly #written: number[] = [];
  readonly #from: number[] = [];
  readonly #to: number[] = [];
  /** Earlier lives of what a restore brought back, and all lives of what a pruning kept. */
  readonly #others = new Map<number, Life[]>();

  /** Begins a life: with the write itself, or with a restore. */
  begin(written: number, from: number): void {
    const index = this.#indexOf(written);
    if (index !== null) {
      this.#other(written, [this.#from[index] as number, this.#to[index] as number]);
      this.#from[index] = from;
      this.#to[index] = NOT_YET;
    } else if (written === from) {
      this.#written.push(written);
      this.#from.push(from);
      this.#to.push(NOT_YET);
    } else this.keep(written, from, null);
  }

  /** Ends the newest life of a version. */
  end(written: number, to: number): void {
    const index = this.#indexOf(written);
    if (index !== null) this.#to[index] = to;
    else {
      const last = this.#others.get(written)?.at(-1);
      if (last !== undefined) last[1] = to;
    }
  }

  /** Adds a life of a version whose write is not read. @param to null while it is there */
  keep(written: number, from: number, to: number | null): void {
    this.#other(written, [from, to ?? NOT_YET]);
  }

  /** Whether a version is known. */
  has(written: number): boolean {
    return this.#indexOf(written) !== null || this.#others.has(written);
  }

  /** Whether a version was there at a position. @param endedFrom one that had ended at this position or later counts, too */
  wasThere(written: number, at: number, endedFrom = Number.POSITIVE_INFINITY): boolean {
    const was = ([from, to]: Life) => from <= at && (at < to || to >= endedFrom);
    const index = this.#indexOf(written);
    if (index !== null && was([this.#from[index] as number, this.#to[index] as number])) return true;
    return this.#others.get(written)?.some(was) ?? false;
  }

  #indexOf(written: number): number | null {
    const index = firstAtOrAfter(this.#written, written);
    return this.#written[index] === written ? index : null;
  }

  #other(written: number, life: Life): void {
    this.#others.getOrInsertComputed(written, () => []).push(life);
  }
}

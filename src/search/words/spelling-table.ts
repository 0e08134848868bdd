import { grow } from "../index/growable.ts";

/** The hash table has at least this many places per spelling. */
const TABLE_FACTOR = 2;
const SMALLEST_TABLE = 256;
const EMPTY = -1;

/** Returns an ASCII code unit in lower case. */
export function lowerAscii(unit: number): number {
  return unit >= 65 && unit <= 90 ? unit + 32 : unit;
}

/**
 * Numbers spellings, which have no ASCII capitals, from 0 in their order of arrival. Unlike a `Map` it finds the number
 * of a part of a text without making a string of it, which would be most of the cost of indexing.
 */
export class SpellingTable {
  readonly #spellings: string[] = [];
  /** number → hash. */
  #hashes = new Int32Array(SMALLEST_TABLE / TABLE_FACTOR);
  /** Open addressing; numbers or `EMPTY`. */
  #places = new Int32Array(SMALLEST_TABLE).fill(EMPTY);

  get size(): number {
    return this.#spellings.length;
  }

  get byteLength(): number {
    return this.#hashes.byteLength + this.#places.byteLength;
  }

  spelling(number: number): string {
    return this.#spellings[number] as string;
  }

  /** Returns the number of the part `from` to `to` of a text in lower case, whose hash is `hash`, or -1. */
  find(text: string, from: number, to: number, hash: number): number {
    const mask = this.#places.length - 1;
    for (let place = hash & mask; ; place = (place + 1) & mask) {
      const number = this.#places[place] as number;
      if (number === EMPTY) return EMPTY;
      if (this.#hashes[number] === hash && spells(this.#spellings[number] as string, text, from, to)) return number;
    }
  }

  /** Adds a spelling that is not in the table, and returns its number. */
  add(spelling: string, hash: number): number {
    const number = this.#spellings.length;
    if (number === this.#hashes.length) this.#grow();
    this.#spellings.push(spelling);
    this.#hashes[number] = hash;
    this.#place(number);
    return number;
  }

  #place(number: number): void {
    const mask = this.#places.length - 1;
    let place = (this.#hashes[number] as number) & mask;
    while (this.#places[place] !== EMPTY) place = (place + 1) & mask;
    this.#places[place] = number;
  }

  #grow(): void {
    this.#hashes = grow(this.#hashes, this.#hashes.length + 1);
    this.#places = new Int32Array(TABLE_FACTOR * this.#hashes.length).fill(EMPTY);
    for (let number = 0; number < this.#spellings.length; number++) this.#place(number);
  }
}

function spells(spelling: string, text: string, from: number, to: number): boolean {
  if (spelling.length !== to - from) return false;
  for (let i = 0; i < spelling.length; i++) {
    if (spelling.charCodeAt(i) !== lowerAscii(text.charCodeAt(from + i))) return false;
  }
  return true;
}

/**
 * A hash table from the keys of agents to slots (small numbers), in a few arrays. An object and a string for each key
 * would take several times the memory, and dominate the time.
 */
import { Bytes, copy, enlarged, same } from "../../../log/bytes.ts";

const FIRST_SLOTS = 1_024;
const FIRST_BYTES = 16 * 1_024;
/** The fewest cells of the index for each key. */
const CELLS_PER_KEY = 2;
/** The values of a free cell of the index, and of a cell whose key was removed. Other cells have a slot plus 1. */
const [FREE, USED] = [0, -1];
const NOBODY = -1;

// Random for each process, so that keys with equal hashes cannot be chosen.
const [SEED, MULTIPLIER, MIXER] = crypto.getRandomValues(new Uint32Array(3)).map((value) => value | 1);

/** Random, so that nobody can choose keys that all fall into one part. */
const PART_SEED = crypto.getRandomValues(new Uint32Array(1))[0] as number;

/** Returns the part of a key. */
export const partOf = (key: string, parts: number): number =>
  parts === 1 ? 0 : Bun.hash.xxHash32(key, PART_SEED) % parts;

/** Returns a hash of an agent and the bytes from `start` to `end`. */
function hashOf(agent: number, { view }: Bytes, start: number, end: number): number {
  let hash = Math.imul((SEED as number) ^ agent, MIXER as number);
  let at = start;
  for (; at + 4 <= end; at += 4) {
    hash = Math.imul(hash ^ view.getInt32(at, true), MULTIPLIER as number);
    hash ^= hash >>> 15;
  }
  for (; at < end; at++) {
    hash = Math.imul(hash ^ view.getUint8(at), MULTIPLIER as number);
    hash ^= hash >>> 15;
  }
  hash = Math.imul(hash ^ (end - start), MIXER as number);
  return hash ^ (hash >>> 16);
}

export class KeyTable {
  #index = new Int32Array(CELLS_PER_KEY * FIRST_SLOTS);
  /** The number of cells that are not free. */
  #taken = 0;
  /** For each slot: its agent or NOBODY, its hash, and the beginning and the length of its key. */
  #slots = new Int32Array(4 * FIRST_SLOTS).fill(NOBODY);
  #text = new Bytes(new Uint8Array(FIRST_BYTES));
  #textEnd = 0;
  /** The number of bytes of removed keys. */
  #unused = 0;
  readonly #free: number[] = [];
  #end = 0;

  /** One more than the largest slot ever used. */
  get end(): number {
    return this.#end;
  }

  /** Returns the slot of a key, UTF-8 from `start` to `end` of a text; -1 when the table does not have it. */
  find(agent: number, text: Bytes, start: number, end: number): number {
    const hash = hashOf(agent, text, start, end);
    const mask = this.#index.length - 1;
    for (let cell = hash & mask; ; cell = (cell + 1) & mask) {
      const slot = (this.#index[cell] as number) - 1;
      if (slot === FREE - 1) return -1;
      if (slot !== USED - 1 && this.#is(slot, agent, hash, text, start, end)) return slot;
    }
  }

  /** Adds a key that the table does not have. Returns its slot. */
  add(agent: number, text: Bytes, start: number, end: number): number {
    if (CELLS_PER_KEY * (this.#taken + 1) > this.#index.length) this.#rebuild();
    const slot = this.#free.pop() ?? this.#end++;
    if (4 * slot >= this.#slots.length) this.#growSlots();
    const length = end - start;
    if (this.#textEnd + length > this.#text.u8.length) this.#makeRoom(length);
    copy(this.#text, this.#textEnd, text, start, length);
    const hash = hashOf(agent, text, start, end);
    this.#slots.set([agent, hash, this.#textEnd, length], 4 * slot);
    this.#textEnd += length;
    this.#enter(slot, hash);
    return slot;
  }

  remove(slot: number): void {
    const mask = this.#index.length - 1;
    let cell = this.#slot(slot, 1) & mask;
    while (this.#index[cell] !== slot + 1) cell = (cell + 1) & mask;
    this.#index[cell] = USED;
    this.#unused += this.#slot(slot, 3);
    this.#slots[4 * slot] = NOBODY;
    this.#free.push(slot);
  }

  /** Returns the agent of a slot; -1 when the slot has no key. */
  agentOf(slot: number): number {
    return this.#slot(slot, 0);
  }

  keyOf(slot: number): string {
    const start = this.#slot(slot, 2);
    return this.#text.text(start, start + this.#slot(slot, 3));
  }

  #slot(slot: number, member: number): number {
    return this.#slots[4 * slot + member] as number;
  }

  #is(slot: number, agent: number, hash: number, text: Bytes, start: number, end: number): boolean {
    const at = 4 * slot;
    const slots = this.#slots;
    if (slots[at + 1] !== hash || slots[at] !== agent || slots[at + 3] !== end - start) return false;
    return same(text, start, this.#text, slots[at + 2] as number, end - start);
  }

  #enter(slot: number, hash: number): void {
    const mask = this.#index.length - 1;
    let cell = hash & mask;
    while (this.#index[cell] !== FREE) cell = (cell + 1) & mask;
    this.#index[cell] = slot + 1;
    this.#taken += 1;
  }

  /** Rebuilds the index without removed keys, and enlarges it if that is not enough. */
  #rebuild(): void {
    const keys = this.#end - this.#free.length + 1;
    let cells = this.#index.length;
    while (cells < 2 * CELLS_PER_KEY * keys) cells *= 2;
    this.#index = new Int32Array(cells);
    this.#taken = 0;
    for (let slot = 0; slot < this.#end; slot++) {
      if (this.#slot(slot, 0) !== NOBODY) this.#enter(slot, this.#slot(slot, 1));
    }
  }

  #growSlots(): void {
    const { length } = this.#slots;
    this.#slots = enlarged(this.#slots).fill(NOBODY, length);
  }

  /** Removes the bytes of removed keys from the text, and enlarges it if that is not enough. */
  #makeRoom(length: number): void {
    const needed = 2 * (this.#textEnd - this.#unused + length);
    const text = new Bytes(new Uint8Array(Math.max(needed, this.#text.u8.length)));
    let end = 0;
    for (let slot = 0; slot < this.#end; slot++) {
      if (this.#slot(slot, 0) === NOBODY) continue;
      const size = this.#slot(slot, 3);
      copy(text, end, this.#text, this.#slot(slot, 2), size);
      this.#slots[4 * slot + 2] = end;
      end += size;
    }
    this.#text = text;
    this.#textEnd = end;
    this.#unused = 0;
  }
}

import { grow } from "./growable.ts";

/** A range of passages or of vector rows. */
export interface Range {
  first: number;
  count: number;
}

/** What a slot holds of its entry. */
export interface SlotContent {
  id: number;
  key: string;
  passages: Range;
  rows: Range;
  header: number;
}

/** The entry of each slot, and where its passages and vectors are. Slots are never reused. */
export class EntrySlots {
  readonly #slotOf = new Map<number, number>();
  /** slot → key, null when the entry was removed. */
  readonly #keys: (string | null)[] = [];
  readonly #ids: number[] = [];
  #keyCharacters = 0;
  #places = new Uint32Array(0);
  #headers = new Int32Array(0);
  /** slot → 1 while it holds an entry. */
  #live = new Uint8Array(0);

  /** The number of entries. */
  get size(): number {
    return this.#slotOf.size;
  }

  /** The number of slots, including those of removed entries. */
  get count(): number {
    return this.#ids.length;
  }

  get memoryBytes(): number {
    return this.#places.byteLength + this.#headers.byteLength + this.count * ENTRY_BYTES + this.#keyCharacters * 2;
  }

  find(id: number): number | undefined {
    return this.#slotOf.get(id);
  }

  id(slot: number): number {
    return this.#ids[slot] as number;
  }

  /** Returns the entry's key, null when it was removed. */
  key(slot: number): string | null {
    return this.#keys[slot] as string | null;
  }

  passages(slot: number): Range {
    return { first: this.#places[4 * slot] as number, count: this.#places[4 * slot + 1] as number };
  }

  rows(slot: number): Range {
    return { first: this.#places[4 * slot + 2] as number, count: this.#places[4 * slot + 3] as number };
  }

  /** Returns the number of its header in `HeaderVectors`, or `NONE`. */
  header(slot: number): number {
    return this.#headers[slot] as number;
  }

  /** Returns the slots with entries whose keys have a prefix, of the given slots or of all. */
  select(prefix: string, slots?: readonly number[]): Uint32Array {
    const selected = new Uint32Array(slots?.length ?? this.count);
    const live = this.#live;
    let count = 0;
    for (let i = 0; i < selected.length; i++) {
      const slot = slots === undefined ? i : (slots[i] as number);
      if (live[slot] === 0) continue;
      if (prefix !== "" && this.#keys[slot]?.startsWith(prefix) !== true) continue;
      selected[count++] = slot;
    }
    return selected.subarray(0, count);
  }

  /** slot → header; see `header`. */
  get headers(): Int32Array {
    return this.#headers;
  }

  /** Puts an entry into the next slot. */
  add({ id, key, passages, rows, header }: SlotContent): void {
    const slot = this.count;
    this.#places = grow(this.#places, 4 * (slot + 1));
    this.#places.set([passages.first, passages.count, rows.first, rows.count], 4 * slot);
    this.#live = grow(this.#live, slot + 1);
    this.#live[slot] = 1;
    this.#headers = grow(this.#headers, slot + 1);
    this.#headers[slot] = header;
    this.#ids.push(id);
    this.#keys.push(key);
    this.#keyCharacters += key.length;
    this.#slotOf.set(id, slot);
  }

  /** Removes an entry. Returns its slot, undefined when there is none. */
  remove(id: number): number | undefined {
    const slot = this.#slotOf.get(id);
    if (slot === undefined) return undefined;
    this.#slotOf.delete(id);
    this.#keyCharacters -= (this.#keys[slot] as string).length;
    this.#keys[slot] = null;
    this.#live[slot] = 0;
    return slot;
  }
}

/** Approximate memory of an entry in the map and the lists, without its key's characters. */
const ENTRY_BYTES = 96;

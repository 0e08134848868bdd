import { growI32, growU8, growU32 } from "./growable.ts";

/** A stretch of passages or of vector rows. */
export interface Range {
  first: number;
  count: number;
}

/** What a slot says of its entry. */
export interface SlotContent {
  id: number;
  key: string;
  passages: Range;
  rows: Range;
  header: number;
}

/** Which slot holds which entry, and where its passages and vectors lie. Slots are never reused. */
export class EntrySlots {
  readonly #slotOf = new Map<number, number>();
  /** Of a removed entry nothing is kept but its slot: the key is null. */
  readonly #keys: (string | null)[] = [];
  readonly #ids: number[] = [];
  #keyCharacters = 0;
  #places = new Uint32Array(0);
  #headers = new Int32Array(0);
  /** slot → 1 when its entry is there. */
  #live = new Uint8Array(0);

  /** Entries that are there. */
  get size(): number {
    return this.#slotOf.size;
  }

  /** Slots, those of removed entries included. */
  get count(): number {
    return this.#ids.length;
  }

  get memoryBytes(): number {
    return (
      this.#places.byteLength + this.#headers.byteLength + this.count * ENTRY_BYTES + this.#keyCharacters * 2
    );
  }

  find(id: number): number | undefined {
    return this.#slotOf.get(id);
  }

  id(slot: number): number {
    return this.#ids[slot] as number;
  }

  /** The entry's key; null when it was removed. */
  key(slot: number): string | null {
    return this.#keys[slot] as string | null;
  }

  passages(slot: number): Range {
    return { first: this.#places[4 * slot] as number, count: this.#places[4 * slot + 1] as number };
  }

  rows(slot: number): Range {
    return { first: this.#places[4 * slot + 2] as number, count: this.#places[4 * slot + 3] as number };
  }

  /** The number of what its key and metadata mean, or `NONE`. */
  header(slot: number): number {
    return this.#headers[slot] as number;
  }

  /** The slots, of those given or of all, whose entries are there and have keys with this beginning. */
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

  /** slot → the number of its header; see `header`. */
  get headers(): Int32Array {
    return this.#headers;
  }

  /** Takes the next slot for an entry. */
  add({ id, key, passages, rows, header }: SlotContent): void {
    const slot = this.count;
    this.#places = growU32(this.#places, 4 * (slot + 1));
    this.#places.set([passages.first, passages.count, rows.first, rows.count], 4 * slot);
    this.#live = growU8(this.#live, slot + 1);
    this.#live[slot] = 1;
    this.#headers = growI32(this.#headers, slot + 1);
    this.#headers[slot] = header;
    this.#ids.push(id);
    this.#keys.push(key);
    this.#keyCharacters += key.length;
    this.#slotOf.set(id, slot);
  }

  /** Frees an entry's id; returns the slot that it had. */
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

/** An entry's share of the map and the lists, beside its key's characters, roughly. */
const ENTRY_BYTES = 96;

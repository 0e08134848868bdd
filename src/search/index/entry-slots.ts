import { bytesOf, growColumns } from "./growable.ts";

/** A range of passages or of vector rows. */
export interface Range {
  first: number;
  count: number;
}

/** The content of a slot. */
interface SlotContent {
  id: number;
  key: string;
  passages: Range;
  rows: Range;
  /** The number of its header in `HeaderVectors`, or `NONE`. */
  header: number;
}

/** Approximate memory of an entry in the map and the lists, without its key's characters. */
const ENTRY_BYTES = 96;

/** The entry of each slot, and where its passages and vectors are. Slots are never reused. */
export class EntrySlots {
  readonly #slotOf = new Map<number, number>();
  /** slot → key, null when the entry was removed. */
  readonly #keys: (string | null)[] = [];
  readonly #ids: number[] = [];
  #keyCharacters = 0;
  readonly #columns = {
    firstPassage: new Uint32Array(0),
    passages: new Uint32Array(0),
    firstRow: new Uint32Array(0),
    rows: new Uint32Array(0),
    header: new Int32Array(0),
    /** 1 while the slot holds an entry. */
    live: new Uint8Array(0),
  };

  /** The number of entries. */
  get size(): number {
    return this.#slotOf.size;
  }

  /** The number of slots, including those of removed entries. */
  get count(): number {
    return this.#ids.length;
  }

  get memoryBytes(): number {
    return bytesOf(this.#columns) + this.count * ENTRY_BYTES + this.#keyCharacters * 2;
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
    const { firstPassage, passages } = this.#columns;
    return { first: firstPassage[slot] as number, count: passages[slot] as number };
  }

  rows(slot: number): Range {
    const { firstRow, rows } = this.#columns;
    return { first: firstRow[slot] as number, count: rows[slot] as number };
  }

  /** slot → the number of its header, or `NONE`. */
  get headers(): Int32Array {
    return this.#columns.header;
  }

  /** Returns the slots with entries whose keys have a prefix, and whose ids are among `only` if that is given. */
  select(prefix: string, only?: ReadonlySet<number>): Uint32Array {
    const selected = new Uint32Array(this.count);
    const { live } = this.#columns;
    let count = 0;
    for (let slot = 0; slot < selected.length; slot++) {
      if (live[slot] === 0) continue;
      if (prefix !== "" && this.#keys[slot]?.startsWith(prefix) !== true) continue;
      if (only !== undefined && !only.has(this.#ids[slot] as number)) continue;
      selected[count++] = slot;
    }
    return selected.subarray(0, count);
  }

  /** Puts an entry into the next slot. */
  add({ id, key, passages, rows, header }: SlotContent): void {
    const slot = this.count;
    const columns = this.#columns;
    growColumns(columns, slot + 1);
    columns.firstPassage[slot] = passages.first;
    columns.passages[slot] = passages.count;
    columns.firstRow[slot] = rows.first;
    columns.rows[slot] = rows.count;
    columns.header[slot] = header;
    columns.live[slot] = 1;
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
    this.#columns.live[slot] = 0;
    return slot;
  }
}

import type { Range } from "../index/entry-slots.ts";
import type { VectorArena } from "./vector-arena.ts";
import { VectorRows } from "./vector-rows.ts";

/** With fewer entries, mean and deviation have no meaning. */
const MIN_FOR_SCALING = 8;

/** The vectors of an external model for the entries of an agent that have some. */
export class ModelVectors {
  readonly #rows: VectorRows;
  readonly #rangeOf = new Map<number, Range>();

  constructor(
    arena: VectorArena,
    readonly model: string,
    dimensions: number,
  ) {
    this.#rows = new VectorRows(arena, dimensions);
  }

  get dimensions(): number {
    return this.#rows.dimensions;
  }

  get memoryBytes(): number {
    return this.#rows.memoryBytes + this.#rangeOf.size * RANGE_BYTES;
  }

  /** Sets the vectors of an entry, all with this model's dimensions. An entry gets them once. */
  set(slot: number, vectors: readonly Float32Array[]): void {
    const first = this.#rows.count;
    for (const vector of vectors) this.#rows.add(vector, slot);
    this.#rangeOf.set(slot, { first, count: vectors.length });
  }

  /** Removes an entry's vectors. Returns how many rows stay in memory unused. */
  remove(slot: number): number {
    const count = this.#rangeOf.get(slot)?.count ?? 0;
    this.#rangeOf.delete(slot);
    return count;
  }

  /** Copies an entry's vectors from another table under a new slot. */
  copyFrom(other: ModelVectors, from: number, slot: number): void {
    const range = other.#rangeOf.get(from);
    if (range === undefined) return;
    this.#rangeOf.set(slot, this.#rows.copyFrom(other.#rows, range, slot));
  }

  /**
   * Replaces the built-in cosines of the given slots that have vectors by this model's. Models differ in
   * what a cosine of 0.5 means, so this model's are scaled to the mean and deviation of the built-in ones
   * of the same entries. So entries with and without vectors stay comparable.
   */
  replace(cosines: Float32Array, slots: Uint32Array, query: Float32Array): void {
    if (query.length !== this.dimensions || !this.#rows.setQuery(query)) return;
    const own = new Float32Array(cosines.length).fill(-1);
    const having = slots.filter((slot) => this.#rangeOf.has(slot));
    if (2 * having.length > this.#rangeOf.size) this.#rows.scan(own);
    else for (const slot of having) this.#rows.scan(own, this.#rangeOf.get(slot));
    const builtIn = spread(cosines, having);
    const model = spread(own, having);
    // When the built-in model knows no word of the query, there is nothing to compare with.
    const comparable = model.deviation > 0 && builtIn.deviation > 0;
    const scaled = having.length >= MIN_FOR_SCALING && comparable;
    const factor = scaled ? builtIn.deviation / model.deviation : 1;
    const shift = scaled ? builtIn.mean - factor * model.mean : 0;
    for (const slot of having) cosines[slot] = Math.min(1, Math.max(0, shift + factor * (own[slot] as number)));
  }

  close(): void {
    this.#rows.close();
  }
}

/** Approximate memory of an entry in the map. */
const RANGE_BYTES = 96;

function spread(values: Float32Array, slots: Uint32Array): { mean: number; deviation: number } {
  let sum = 0;
  let squares = 0;
  for (const slot of slots) {
    const x = values[slot] as number;
    sum += x;
    squares += x * x;
  }
  const mean = sum / (slots.length || 1);
  return { mean, deviation: Math.sqrt(Math.max(0, squares / (slots.length || 1) - mean * mean)) };
}

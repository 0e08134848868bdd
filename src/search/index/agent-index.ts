import { loadModel, type SearchModel } from "../model.ts";
import { ModelVectors } from "../vectors/model-vectors.ts";
import { VectorRows } from "../vectors/vector-rows.ts";
import { addRows, embedWindows } from "../vectors/windows.ts";
import { RelatedWords } from "../words/related-words.ts";
import { NONE, Vocabulary } from "../words/vocabulary.ts";
import { scorePassages } from "./bm25.ts";
import { documentForms, headerRows, type SearchDocument } from "./document.ts";
import { EntrySlots } from "./entry-slots.ts";
import { HeaderVectors } from "./headers.ts";
import { Passages } from "./passages.ts";
import { type QueryTerm, queryTerms, queryTokens } from "./query.ts";
import { rank, type SearchHit, type SearchOptions } from "./ranking.ts";
import { SpellingRepair } from "./repair.ts";

/** Compaction starts when there are this many removed passages and rows, and more than live ones. */
const COMPACT_FROM = 2048;

/** What an index consists of. Compaction makes all of it new. */
type Parts = {
  vocabulary: Vocabulary;
  related: RelatedWords;
  repair: SpellingRepair;
  passages: Passages;
  vectors: VectorRows;
  headers: HeaderVectors;
  slots: EntrySlots;
  modelVectors?: ModelVectors;
};

function emptyParts({ words, arena }: SearchModel): Parts {
  const vocabulary = new Vocabulary((word) => words.vectors.find(word));
  return {
    vocabulary,
    related: new RelatedWords(vocabulary, words),
    repair: new SpellingRepair(vocabulary),
    passages: new Passages(vocabulary),
    vectors: new VectorRows(arena, words.vectors.dimensions),
    headers: new HeaderVectors(arena, words.vectors),
    slots: new EntrySlots(),
  };
}

/**
 * The searchable entries of one agent, in memory: vectors, words, spelling. It is derived from the
 * database: it can be dropped and rebuilt at any time, with the same results.
 */
export class AgentIndex {
  #parts: Parts;
  /** Passages and vector rows of removed entries. */
  #waste = 0;
  /** Scores by slot. The arrays are reused between queries. */
  #lexicalScores = new Float32Array(0);
  #cosines = new Float32Array(0);

  constructor(private readonly model: SearchModel = loadModel()) {
    this.#parts = emptyParts(model);
  }

  /** The number of entries in the index. */
  get size(): number {
    return this.#parts.slots.size;
  }

  /** The memory of the index in bytes: exact for arrays, estimated for strings and maps. */
  get memoryBytes(): number {
    const scores = this.#lexicalScores.byteLength + this.#cosines.byteLength;
    return Object.values(this.#parts).reduce((sum, part) => sum + (part?.memoryBytes ?? 0), scores);
  }

  /** Returns the key of an entry, undefined when the index has no such entry. */
  keyOf(id: number): string | undefined {
    const { slots } = this.#parts;
    const slot = slots.find(id);
    return slot === undefined ? undefined : (slots.key(slot) ?? undefined);
  }

  /** Adds an entry, or replaces the one with this id (a safe integer). */
  add(id: number, document: SearchDocument): void {
    this.remove(id);
    const { vocabulary, vectors, headers, slots, passages } = this.#parts;
    const slot = slots.count;
    const forms = documentForms(document, vocabulary);
    const first = vectors.count;
    embedWindows(vocabulary.rowsOf(forms.value), this.model.words.vectors, (vector) => vectors.add(vector, slot));
    slots.add({
      id,
      key: document.key,
      passages: passages.add(slot, forms),
      rows: { first, count: vectors.count - first },
      header: headers.intern(headerRows(forms, vocabulary)),
    });
  }

  /** Removes an entry. Reports whether it was there. */
  remove(id: number): boolean {
    const { slots, passages, vectors, modelVectors } = this.#parts;
    const slot = slots.remove(id);
    if (slot === undefined) return false;
    const range = slots.passages(slot);
    passages.remove(range);
    this.#waste += range.count + slots.rows(slot).count + (modelVectors?.remove(slot) ?? 0);
    const all = passages.count + vectors.count;
    if (this.#waste >= COMPACT_FROM && 2 * this.#waste > all) this.#compact();
    return true;
  }

  /**
   * Sets the vectors that an external model made of an entry's `embeddingTexts`. Searches with a
   * `queryVector` compare by them, and by the built-in vectors for entries without any. Reports
   * whether the entry exists. Vectors of a new model replace those of all entries.
   */
  setVectors(id: number, model: string, vectors: readonly Float32Array[]): boolean {
    const slot = this.#parts.slots.find(id);
    const dimensions = vectors[0]?.length;
    if (slot === undefined || dimensions === undefined) return slot !== undefined;
    if (vectors.some(({ length }) => length !== dimensions)) throw new RangeError("vectors differ in length");
    let held = this.#parts.modelVectors;
    if (held === undefined || held.model !== model || held.dimensions !== dimensions) {
      this.forgetVectors();
      held = new ModelVectors(this.model.arena, model, dimensions);
      this.#parts.modelVectors = held;
    }
    this.#waste += held.remove(slot);
    held.set(slot, vectors);
    return true;
  }

  /** Removes all vectors of `setVectors`. */
  forgetVectors(): void {
    this.#parts.modelVectors?.close();
    delete this.#parts.modelVectors;
  }

  /** Returns the most similar entries, best first, equal ones by ascending id. */
  search(query: string, options: SearchOptions): SearchHit[] {
    const tokens = queryTokens(query);
    const { slots, modelVectors } = this.#parts;
    const terms = queryTerms(tokens, { ...this.#parts, words: this.model.words, corpus: options.corpus });
    const headerCosines = this.#score(tokens, terms);
    const eligible = slots.select(options.prefix ?? "", options.only);
    this.#raiseToHeaders(eligible, headerCosines);
    if (options.queryVector !== undefined) modelVectors?.replace(this.#cosines, eligible, options.queryVector);
    const scores = { lexical: this.#lexicalScores, cosines: this.#cosines };
    return rank(terms, eligible, scores, (slot) => slots.id(slot), options);
  }

  /** Frees the memory of the vectors. The index must not be used afterwards. */
  close(): void {
    const { vectors, headers, modelVectors } = this.#parts;
    for (const part of [vectors, headers, modelVectors]) part?.close();
  }

  /** Fills the scores of all slots. Returns the cosines of the headers. */
  #score(tokens: readonly string[], terms: readonly QueryTerm[]): Float32Array {
    const { slots, passages, headers, vectors } = this.#parts;
    if (this.#cosines.length < slots.count) {
      this.#lexicalScores = new Float32Array(2 * slots.count);
      this.#cosines = new Float32Array(2 * slots.count);
    }
    this.#lexicalScores.fill(0, 0, slots.count);
    this.#cosines.fill(0, 0, slots.count);
    scorePassages(passages, terms, this.#lexicalScores);
    const query = this.#queryVector(tokens, terms);
    if (vectors.setQuery(query)) vectors.scan(this.#cosines);
    return headers.cosines(query);
  }

  /** Sets the cosine of each eligible entry to that of its value or its header, whichever is larger. */
  #raiseToHeaders(eligible: Uint32Array, headerCosines: Float32Array): void {
    const cosines = this.#cosines;
    const { headers } = this.#parts.slots;
    for (let i = 0; i < eligible.length; i++) {
      const slot = eligible[i] as number;
      const header = headers[slot] as number;
      if (header === NONE) continue;
      const cosine = headerCosines[header] as number;
      if (cosine > (cosines[slot] as number)) cosines[slot] = cosine;
    }
  }

  /** Returns the vector of a query, with misspelt words replaced by their corrections. */
  #queryVector(tokens: readonly string[], terms: readonly QueryTerm[]): Float32Array {
    const { vectors } = this.model.words;
    const repaired = new Map<string, number>();
    for (const { token, repairedTo } of terms) {
      if (repairedTo !== NONE) repaired.set(token, this.#parts.vocabulary.rowOf(repairedTo));
    }
    const sum = new Float32Array(vectors.dimensions);
    const rows = Int32Array.from(tokens, (token) => repaired.get(token) ?? vectors.find(token));
    addRows(sum, rows, 0, rows.length, vectors);
    return sum;
  }

  /** Copies the live entries into new structures. */
  #compact(): void {
    const from = this.#parts;
    const to = emptyParts(this.model);
    const held = from.modelVectors;
    if (held !== undefined) to.modelVectors = new ModelVectors(this.model.arena, held.model, held.dimensions);
    const forms = new Map<number, number>();
    const formOf = (form: number) =>
      forms.getOrInsertComputed(form, () => to.vocabulary.intern(from.vocabulary.spelling(form)));
    for (let old = 0; old < from.slots.count; old++) {
      const key = from.slots.key(old);
      if (key === null) continue;
      const slot = to.slots.count;
      if (held !== undefined) to.modelVectors?.copyFrom(held, old, slot);
      to.slots.add({
        id: from.slots.id(old),
        key,
        passages: to.passages.copyFrom(from.passages, from.slots.passages(old), slot, formOf),
        rows: to.vectors.copyFrom(from.vectors, from.slots.rows(old), slot),
        header: to.headers.intern(from.headers.rowsOf(from.slots.headers[old] as number)),
      });
    }
    this.close();
    this.#parts = to;
    this.#waste = 0;
  }
}

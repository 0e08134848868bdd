import { loadModel, type SearchModel } from "../model.ts";
import { ModelVectors } from "../vectors/model-vectors.ts";
import { VectorRows } from "../vectors/vector-rows.ts";
import { addRows, embedWindows } from "../vectors/windows.ts";
import { RelatedWords } from "../words/related-words.ts";
import { NONE, Vocabulary } from "../words/vocabulary.ts";
import { Bm25 } from "./bm25.ts";
import { DocumentReader, headerRows, type SearchDocument } from "./document.ts";
import { EntrySlots } from "./entry-slots.ts";
import { HeaderVectors } from "./headers.ts";
import { Passages } from "./passages.ts";
import { type QueryTerm, queryTerms, queryTokens } from "./query.ts";
import { rank, type SearchHit, type SearchOptions } from "./ranking.ts";
import { SpellingRepair } from "./repair.ts";

/** Compaction starts when there are this many removed passages and rows, and more than live ones. */
const COMPACT_FROM = 2048;

/**
 * The searchable entries of one agent, in memory: vectors, words, spelling. It is derived from the
 * database: it can be dropped and rebuilt at any time, with the same results.
 */
export class AgentIndex {
  readonly #model: SearchModel;
  #vocabulary: Vocabulary;
  #related: RelatedWords;
  #repair: SpellingRepair;
  #passages: Passages;
  #bm25: Bm25;
  #vectors: VectorRows;
  #headers: HeaderVectors;
  #modelVectors: ModelVectors | undefined;
  #slots = new EntrySlots();
  readonly #reader = new DocumentReader();
  /** Passages and vector rows of removed entries. */
  #waste = 0;
  /** Scores by slot. The arrays are reused between queries. */
  #lexicalScores = new Float32Array(0);
  #cosines = new Float32Array(0);
  #headerCosines: Float32Array = new Float32Array(0);

  constructor(model: SearchModel = loadModel()) {
    this.#model = model;
    this.#vocabulary = new Vocabulary((word) => model.words.vectors.find(word));
    this.#related = new RelatedWords(this.#vocabulary, model.words);
    this.#repair = new SpellingRepair(this.#vocabulary);
    this.#passages = new Passages(this.#vocabulary);
    this.#bm25 = new Bm25(this.#passages);
    this.#vectors = new VectorRows(model.arena, model.words.vectors.dimensions);
    this.#headers = new HeaderVectors(model.arena, model.words.vectors);
  }

  /** The number of entries in the index. */
  get size(): number {
    return this.#slots.size;
  }

  /** The memory of the index in bytes: exact for arrays, estimated for strings and maps. */
  get memoryBytes(): number {
    const parts = [
      this.#vocabulary,
      this.#related,
      this.#repair,
      this.#passages,
      this.#bm25,
      this.#vectors,
      this.#headers,
      this.#slots,
      ...(this.#modelVectors === undefined ? [] : [this.#modelVectors]),
    ];
    const scores = this.#lexicalScores.byteLength + this.#cosines.byteLength;
    return parts.reduce((sum, { memoryBytes }) => sum + memoryBytes, scores);
  }

  /** Returns the key of an entry, undefined when the index has no such entry. */
  keyOf(id: number): string | undefined {
    const slot = this.#slots.find(id);
    return slot === undefined ? undefined : (this.#slots.key(slot) ?? undefined);
  }

  /** Adds an entry, or replaces the one with this id (a safe integer). */
  add(id: number, document: SearchDocument): void {
    this.remove(id);
    const slot = this.#slots.count;
    const { vectors } = this.#model.words;
    const vocabulary = this.#vocabulary;
    const forms = this.#reader.read(document, vocabulary);
    const passages = this.#passages.add(slot, forms);
    const first = this.#vectors.count;
    embedWindows(vocabulary.rowsOf(forms.value), vectors, (vector) => this.#vectors.add(vector, slot));
    const rows = { first, count: this.#vectors.count - first };
    const header = this.#headers.intern(headerRows(forms, vocabulary));
    this.#slots.add({ id, key: document.key, passages, rows, header });
  }

  /** Removes an entry. Reports whether it was there. */
  remove(id: number): boolean {
    const slot = this.#slots.remove(id);
    if (slot === undefined) return false;
    const passages = this.#slots.passages(slot);
    this.#passages.remove(passages);
    this.#waste += passages.count + this.#slots.rows(slot).count + (this.#modelVectors?.remove(slot) ?? 0);
    const all = this.#passages.count + this.#vectors.count;
    if (this.#waste >= COMPACT_FROM && 2 * this.#waste > all) this.#compact();
    return true;
  }

  /**
   * Sets the vectors that an external model made of an entry's `embeddingTexts`. Searches with a
   * `queryVector` compare by them, and by the built-in vectors for entries without any. Reports
   * whether the entry exists. Vectors of a new model replace those of all entries.
   */
  setVectors(id: number, model: string, vectors: readonly Float32Array[]): boolean {
    const slot = this.#slots.find(id);
    const dimensions = vectors[0]?.length;
    if (slot === undefined || dimensions === undefined) return slot !== undefined;
    if (vectors.some(({ length }) => length !== dimensions)) throw new RangeError("vectors differ in length");
    const held = this.#modelVectors;
    if (held === undefined || held.model !== model || held.dimensions !== dimensions) {
      this.forgetVectors();
      this.#modelVectors = new ModelVectors(this.#model.arena, model, dimensions);
    }
    this.#waste += this.#modelVectors?.remove(slot) ?? 0;
    this.#modelVectors?.set(slot, vectors);
    return true;
  }

  /** Removes all vectors of `setVectors`. */
  forgetVectors(): void {
    this.#modelVectors?.close();
    this.#modelVectors = undefined;
  }

  /** Returns at most `limit` entries that have no vectors of this model. */
  withoutVectors(model: string, limit: number): number[] {
    const held = this.#modelVectors?.model === model ? this.#modelVectors : undefined;
    const ids: number[] = [];
    for (let slot = 0; slot < this.#slots.count && ids.length < limit; slot++) {
      if (this.#slots.key(slot) !== null && held?.has(slot) !== true) ids.push(this.#slots.id(slot));
    }
    return ids;
  }

  /** Returns the most similar entries, best first, equal ones by ascending id. */
  search(query: string, options: SearchOptions): SearchHit[] {
    const tokens = queryTokens(query);
    const terms = queryTerms(tokens, {
      vocabulary: this.#vocabulary,
      words: this.#model.words,
      related: this.#related,
      repair: this.#repair,
      passages: options.corpus?.entries ?? this.#passages.liveCount,
      ...(options.corpus === undefined ? {} : { frequencyOf: options.corpus.frequencyOf }),
    });
    const slots = this.#selected(options);
    this.#score(tokens, terms, slots);
    const eligible = this.#slots.select(options.prefix ?? "", slots);
    this.#mergeCosines(eligible, options.queryVector);
    const scores = { lexical: this.#lexicalScores, cosines: this.#cosines };
    return rank(terms, eligible, scores, (slot) => this.#slots.id(slot), options);
  }

  /** Frees the memory of the vectors. The index must not be used afterwards. */
  close(): void {
    this.#vectors.close();
    this.#headers.close();
    this.#modelVectors?.close();
  }

  /** Returns the slots of the candidates, undefined for all. */
  #selected({ candidates }: SearchOptions): number[] | undefined {
    if (candidates === undefined) return undefined;
    const slots = new Set<number>();
    for (const id of candidates) {
      const slot = this.#slots.find(id);
      if (slot !== undefined) slots.add(slot);
    }
    return [...slots].sort((a, b) => a - b);
  }

  /** Fills the scores of the selected slots. */
  #score(tokens: readonly string[], terms: readonly QueryTerm[], slots: readonly number[] | undefined): void {
    const count = this.#slots.count;
    if (this.#cosines.length < count) {
      this.#lexicalScores = new Float32Array(2 * count);
      this.#cosines = new Float32Array(2 * count);
    }
    this.#lexicalScores.fill(0, 0, count);
    this.#cosines.fill(0, 0, count);
    const passages = slots?.map((slot) => this.#slots.passages(slot));
    this.#bm25.score(terms, this.#lexicalScores, passages);
    const query = this.#queryVector(tokens, terms);
    this.#headerCosines = this.#headers.cosines(query);
    if (!this.#vectors.setQuery(query)) return;
    if (slots === undefined) this.#vectors.scan(this.#cosines);
    else for (const slot of slots) this.#vectors.scan(this.#cosines, this.#slots.rows(slot));
  }

  /** Sets the cosine of each eligible entry to that of its value or its header, whichever is larger. */
  #mergeCosines(eligible: Uint32Array, queryVector: Float32Array | undefined): void {
    const cosines = this.#cosines;
    const headers = this.#slots.headers;
    const headerCosines = this.#headerCosines;
    for (let i = 0; i < eligible.length; i++) {
      const slot = eligible[i] as number;
      const header = headers[slot] as number;
      if (header === NONE) continue;
      const cosine = headerCosines[header] as number;
      if (cosine > (cosines[slot] as number)) cosines[slot] = cosine;
    }
    if (queryVector !== undefined) this.#modelVectors?.replace(cosines, eligible, queryVector);
  }

  /** Returns the vector of a query, with misspelt words replaced by their corrections. */
  #queryVector(tokens: readonly string[], terms: readonly QueryTerm[]): Float32Array {
    const { vectors } = this.#model.words;
    const repaired = new Map<string, number>();
    for (const { token, repairedTo } of terms) {
      if (repairedTo !== NONE) repaired.set(token, this.#vocabulary.rowOf(repairedTo));
    }
    const sum = new Float32Array(vectors.dimensions);
    const rows = Int32Array.from(tokens, (token) => repaired.get(token) ?? vectors.find(token));
    addRows(sum, rows, 0, rows.length, vectors);
    return sum;
  }

  /** Copies the live entries into new structures. */
  #compact(): void {
    const rest = new AgentIndex(this.#model);
    const forms = new Map<number, number>();
    const formOf = (form: number) => {
      let own = forms.get(form);
      if (own === undefined) {
        own = rest.#vocabulary.intern(this.#vocabulary.spelling(form));
        forms.set(form, own);
      }
      return own;
    };
    const held = this.#modelVectors;
    if (held !== undefined) rest.#modelVectors = new ModelVectors(this.#model.arena, held.model, held.dimensions);
    for (let slot = 0; slot < this.#slots.count; slot++) {
      const key = this.#slots.key(slot);
      if (key !== null) rest.#copyEntry(this, slot, key, formOf);
    }
    this.close();
    this.#vocabulary = rest.#vocabulary;
    this.#related = rest.#related;
    this.#repair = rest.#repair;
    this.#passages = rest.#passages;
    this.#bm25 = rest.#bm25;
    this.#vectors = rest.#vectors;
    this.#headers = rest.#headers;
    this.#modelVectors = rest.#modelVectors;
    this.#slots = rest.#slots;
    this.#waste = 0;
  }

  #copyEntry(from: AgentIndex, slot: number, key: string, formOf: (form: number) => number): void {
    const to = this.#slots.count;
    const passages = this.#passages.copyFrom(from.#passages, from.#slots.passages(slot), to, formOf);
    const rows = this.#vectors.copyFrom(from.#vectors, from.#slots.rows(slot), to);
    if (from.#modelVectors !== undefined) this.#modelVectors?.copyFrom(from.#modelVectors, slot, to);
    const words = from.#headers.rowsOf(from.#slots.header(slot));
    const header = this.#headers.intern(words);
    this.#slots.add({ id: from.#slots.id(slot), key, passages, rows, header });
  }
}

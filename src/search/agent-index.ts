import type { DocumentTokens, SearchDocument } from "./document.ts";
import { documentTokens } from "./document.ts";
import { EntrySlots } from "./entry-slots.ts";
import { share, similarity, vectorWeight } from "./fusion.ts";
import { HeaderVectors } from "./headers.ts";
import { LexicalIndex } from "./lexical-index.ts";
import type { SearchModel } from "./model.ts";
import { loadModel } from "./model.ts";
import { ModelVectors } from "./model-vectors.ts";
import type { QueryTerm } from "./query.ts";
import { queryTerms, queryTokens } from "./query.ts";
import { SpellingRepair } from "./repair.ts";
import { TopEntries } from "./top-entries.ts";
import { VectorRows } from "./vector-rows.ts";
import { NONE, Vocabulary } from "./vocabulary.ts";
import { addRows, embedWindows } from "./windows.ts";

export interface SearchOptions {
  /** Results at most. */
  limit: number;
  /** Only entries whose key begins with this. */
  prefix?: string;
  /** Only entries at least this similar, 0 to 1; see `similarity`. */
  minSimilarity?: number;
  /** Only these entries; ids that the index lacks are passed over. The cost is that of the candidates. */
  candidates?: Iterable<number>;
  /** The query as the model sees it whose vectors the entries were given; see `setVectors`. */
  queryVector?: Float32Array;
  /** Frequencies of the whole agent, when the index holds only some of its entries. */
  corpus?: CorpusStatistics;
}

/** What BM25 must know of entries that it does not see. */
export interface CorpusStatistics {
  /** Entries of the agent. */
  entries: number;
  /** How many of them hold a word, as `searchTerms` gives it. */
  frequencyOf(token: string): number;
}

export interface SearchHit {
  id: number;
  /** 0 to 1; see `similarity`. */
  similarity: number;
}

/** Words of a key that say something; its numbers and letters are only for exact matching. */
const KEY_WORD = /^\p{L}{3,}$/u;

/** Removed passages and rows are cleared away when there are this many and they outnumber the others. */
const COMPACT_FROM = 2048;

/**
 * The searchable entries of one agent, in memory: built-in vectors, words, spelling. The database is
 * their truth; the index can be dropped and built anew at any time, and then answers the same.
 */
export class AgentIndex {
  readonly #model: SearchModel;
  #vocabulary: Vocabulary;
  #repair: SpellingRepair;
  #lexical: LexicalIndex;
  #vectors: VectorRows;
  #headers: HeaderVectors;
  #modelVectors: ModelVectors | undefined;
  #slots = new EntrySlots();
  /** Passages and vector rows of removed entries. */
  #waste = 0;
  /** Scores by slot, kept between queries. */
  #lexicalScores = new Float32Array(0);
  #cosines = new Float32Array(0);
  #headerCosines: Float32Array = new Float32Array(0);

  constructor(model: SearchModel = loadModel()) {
    this.#model = model;
    this.#vocabulary = new Vocabulary((word) => model.words.vectors.find(word));
    this.#repair = new SpellingRepair(this.#vocabulary);
    this.#lexical = new LexicalIndex(this.#vocabulary);
    this.#vectors = new VectorRows(model.arena, model.words.vectors.dimensions);
    this.#headers = new HeaderVectors(model.arena, model.words.vectors);
  }

  /** Entries in the index. */
  get size(): number {
    return this.#slots.size;
  }

  /** What the index occupies, in bytes: exact for its arrays, estimated for its strings and maps. */
  get memoryBytes(): number {
    const scores =
      this.#lexicalScores.byteLength + this.#cosines.byteLength + (this.#modelVectors?.memoryBytes ?? 0);
    return [this.#vocabulary, this.#repair, this.#lexical, this.#vectors, this.#headers, this.#slots].reduce(
      (sum, part) => sum + part.memoryBytes,
      scores,
    );
  }

  /** Adds an entry, or replaces the one with this id (a safe integer). */
  add(id: number, document: SearchDocument): void {
    this.remove(id);
    const slot = this.#slots.count;
    const tokens = documentTokens(document);
    const firstPassage = this.#lexical.passages;
    const firstRow = this.#vectors.count;
    const passages = { first: firstPassage, count: this.#lexical.add(slot, tokens) };
    embedWindows(this.#rowsOf(tokens.value), this.#model.words.vectors, (vector) =>
      this.#vectors.add(vector, slot),
    );
    const rows = { first: firstRow, count: this.#vectors.count - firstRow };
    this.#slots.add(
      id,
      document.key,
      passages,
      rows,
      this.#headers.intern(this.#rowsOf(headerWords(tokens))),
    );
  }

  /** Takes an entry out. Returns whether it was there. */
  remove(id: number): boolean {
    const slot = this.#slots.remove(id);
    if (slot === undefined) return false;
    const passages = this.#slots.passages(slot);
    this.#lexical.remove(passages.first, passages.count);
    this.#waste += passages.count + this.#slots.rows(slot).count + (this.#modelVectors?.remove(slot) ?? 0);
    if (this.#waste >= COMPACT_FROM && 2 * this.#waste > this.#lexical.passages + this.#vectors.count)
      this.#compact();
    return true;
  }

  /**
   * Gives an entry the vectors that another model made of `embeddingTexts`. Searches with a
   * `queryVector` then compare by them, and by the built-in ones for entries that have none yet.
   * Returns false when the entry is gone. Vectors of a new model replace those of all entries.
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

  /** Forgets all vectors that `setVectors` gave. */
  forgetVectors(): void {
    this.#modelVectors?.close();
    this.#modelVectors = undefined;
  }

  /** Some entries, at most `limit`, that have no vectors of this model. */
  withoutVectors(model: string, limit: number): number[] {
    const held = this.#modelVectors?.model === model ? this.#modelVectors : undefined;
    const ids: number[] = [];
    for (let slot = 0; slot < this.#slots.count && ids.length < limit; slot++) {
      if (this.#slots.key(slot) !== null && held?.has(slot) !== true) ids.push(this.#slots.id(slot));
    }
    return ids;
  }

  /** The most similar entries, best first, equals by ascending id. */
  search(query: string, options: SearchOptions): SearchHit[] {
    const tokens = queryTokens(query);
    const terms = queryTerms(tokens, {
      vocabulary: this.#vocabulary,
      words: this.#model.words,
      repair: this.#repair,
      passages: options.corpus?.entries ?? this.#lexical.livePassages,
      ...(options.corpus === undefined ? {} : { frequencyOf: options.corpus.frequencyOf }),
    });
    const slots = this.#selected(options);
    this.#score(tokens, terms, slots);
    const eligible = this.#slots.select(options.prefix ?? "", slots);
    this.#mergeCosines(eligible, options.queryVector);
    return this.#rank(terms, eligible, options);
  }

  /** Gives the memory of the vectors back. The index must not be used afterwards. */
  close(): void {
    this.#vectors.close();
    this.#headers.close();
    this.#modelVectors?.close();
  }

  /** The slots of the candidates; undefined stands for all. */
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
    this.#lexical.score(terms, this.#lexicalScores, passages);
    const query = this.#queryVector(tokens, terms);
    this.#headerCosines = this.#headers.cosines(query);
    if (!this.#vectors.setQuery(query)) return;
    if (slots === undefined) this.#vectors.scan(this.#cosines);
    else for (const slot of slots) this.#vectors.scan(this.#cosines, this.#slots.rows(slot));
  }

  /** Makes the cosine of each eligible entry that of its value or header, whichever is nearer. */
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

  #rank(
    terms: readonly QueryTerm[],
    eligible: Uint32Array,
    { limit, minSimilarity = 0 }: SearchOptions,
  ): SearchHit[] {
    const total = terms.reduce((sum, { idf }) => sum + idf, 0) || 1;
    const lexical = this.#lexicalScores;
    const cosines = this.#cosines;
    let best = 0;
    for (let i = 0; i < eligible.length; i++) best = Math.max(best, lexical[eligible[i] as number] as number);
    const weight = vectorWeight(best, total);
    const top = new TopEntries(limit);
    for (let i = 0; i < eligible.length; i++) {
      const slot = eligible[i] as number;
      const found = share((lexical[slot] as number) / total, cosines[slot] as number, weight);
      if (found > 0 && top.accepts(found)) top.offer(this.#slots.id(slot), found);
    }
    const hits = top.list().map(({ id, score }) => ({ id, similarity: similarity(score) }));
    return hits.filter((hit) => hit.similarity >= minSimilarity);
  }

  /** The vector of a query, in which misspelt words count as what they were taken for. */
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

  /** The model's rows of tokens. */
  #rowsOf(tokens: readonly string[]): Int32Array {
    const vocabulary = this.#vocabulary;
    const rows = new Int32Array(tokens.length);
    for (let i = 0; i < rows.length; i++) rows[i] = vocabulary.rowOf(vocabulary.intern(tokens[i] as string));
    return rows;
  }

  /** Copies what is still there into fresh structures. */
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
    if (held !== undefined)
      rest.#modelVectors = new ModelVectors(this.#model.arena, held.model, held.dimensions);
    for (let slot = 0; slot < this.#slots.count; slot++) {
      const key = this.#slots.key(slot);
      if (key !== null) rest.#copyEntry(this, slot, key, formOf);
    }
    this.close();
    this.#vocabulary = rest.#vocabulary;
    this.#repair = rest.#repair;
    this.#lexical = rest.#lexical;
    this.#vectors = rest.#vectors;
    this.#headers = rest.#headers;
    this.#modelVectors = rest.#modelVectors;
    this.#slots = rest.#slots;
    this.#waste = 0;
  }

  #copyEntry(from: AgentIndex, slot: number, key: string, formOf: (form: number) => number): void {
    const passages = from.#slots.passages(slot);
    const rows = from.#slots.rows(slot);
    const to = this.#slots.count;
    const places = [
      { first: this.#lexical.passages, count: passages.count },
      { first: this.#vectors.count, count: rows.count },
    ] as const;
    this.#lexical.copyFrom(from.#lexical, passages, to, formOf);
    this.#vectors.copyFrom(from.#vectors, rows, to);
    if (from.#modelVectors !== undefined) this.#modelVectors?.copyFrom(from.#modelVectors, slot, to);
    const header = from.#slots.header(slot);
    this.#slots.add(
      from.#slots.id(slot),
      key,
      ...places,
      header === NONE ? NONE : this.#headers.intern(from.#headers.rowsOf(header)),
    );
  }
}

/** What of an entry's key and metadata has a meaning. */
function headerWords({ key, metadata }: DocumentTokens): string[] {
  return [...key.filter((token) => KEY_WORD.test(token)), ...metadata];
}

import type { SearchDocument } from "./document.ts";
import { documentTokens } from "./document.ts";
import { growU32 } from "./growable.ts";
import { LexicalIndex } from "./lexical-index.ts";
import { queryTerms, queryTokens } from "./query.ts";
import { TopEntries } from "./top-entries.ts";
import { NONE, Vocabulary } from "./vocabulary.ts";

export interface SearchOptions {
  /** Results at most. */
  limit: number;
  /** Only entries whose key begins with this. */
  prefix?: string;
  /** Only entries at least this similar, 0 to 1. */
  minSimilarity?: number;
}

export interface SearchHit {
  id: number;
  similarity: number;
}

/** Dead entries are cleared away when there are this many of them and they outnumber the living. */
const COMPACT_FROM = 256;

/** The searchable entries of one agent, in memory. The database is their truth; this can be rebuilt. */
export class AgentIndex {
  #vocabulary = new Vocabulary(() => NONE);
  #lexical = new LexicalIndex(this.#vocabulary);
  readonly #slotOf = new Map<number, number>();
  #ids: number[] = [];
  #keys: string[] = [];
  #live: boolean[] = [];
  #firstPassage = new Uint32Array(0);
  #passageCount = new Uint32Array(0);

  get size(): number {
    return this.#slotOf.size;
  }

  /** Adds an entry, or replaces the one with this id. */
  add(id: number, document: SearchDocument): void {
    this.remove(id);
    const slot = this.#ids.length;
    this.#firstPassage = growU32(this.#firstPassage, slot + 1);
    this.#passageCount = growU32(this.#passageCount, slot + 1);
    this.#firstPassage[slot] = this.#lexical.passages;
    this.#passageCount[slot] = this.#lexical.add(slot, documentTokens(document));
    this.#ids.push(id);
    this.#keys.push(document.key);
    this.#live.push(true);
    this.#slotOf.set(id, slot);
  }

  /** Takes an entry out. Returns whether it was there. */
  remove(id: number): boolean {
    const slot = this.#slotOf.get(id);
    if (slot === undefined) return false;
    this.#slotOf.delete(id);
    this.#live[slot] = false;
    this.#keys[slot] = "";
    this.#lexical.remove(this.#firstPassage[slot] as number, this.#passageCount[slot] as number);
    const dead = this.#ids.length - this.size;
    if (dead >= COMPACT_FROM && dead > this.size) this.#compact();
    return true;
  }

  /** The most similar entries, best first; equals by ascending id. */
  search(query: string, options: SearchOptions): SearchHit[] {
    const terms = queryTerms(queryTokens(query), this.#vocabulary, this.#lexical.livePassages);
    const scores = new Float32Array(this.#ids.length);
    this.#lexical.score(terms, scores);
    const total = terms.reduce((sum, { idf }) => sum + idf, 0);
    const best = new TopEntries(options.limit);
    for (let slot = 0; slot < scores.length; slot++) {
      const score = scores[slot] as number;
      if (score === 0 || this.#live[slot] !== true) continue;
      if (options.prefix !== undefined && !(this.#keys[slot] as string).startsWith(options.prefix)) continue;
      best.offer(this.#ids[slot] as number, Math.min(1, score / total));
    }
    return best.list().filter(({ similarity }) => similarity >= (options.minSimilarity ?? 0));
  }

  #compact(): void {
    const lexical = new LexicalIndex(this.#vocabulary);
    const slots = [...this.#slotOf.values()].sort((a, b) => a - b);
    slots.forEach((slot, to) => {
      const first = lexical.passages;
      lexical.copyFrom(
        this.#lexical,
        this.#firstPassage[slot] as number,
        this.#passageCount[slot] as number,
        to,
      );
      this.#firstPassage[to] = first;
      this.#passageCount[to] = this.#passageCount[slot] as number;
      this.#slotOf.set(this.#ids[slot] as number, to);
    });
    this.#ids = slots.map((slot) => this.#ids[slot] as number);
    this.#keys = slots.map((slot) => this.#keys[slot] as string);
    this.#live = slots.map(() => true);
    this.#lexical = lexical;
  }
}

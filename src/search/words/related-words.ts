import type { Vocabulary } from "./vocabulary.ts";
import type { WordTable } from "./word-table.ts";

/** The cosine above which two words count as related. */
export const MIN_RELATEDNESS = 0.4;
/** The most words of queries whose relations are cached. */
const MAX_KEPT = 1024;
/** Approximate memory of a cached word, and of one of its relations. */
const KEPT_BYTES = 200;
const RELATION_BYTES = 16;

/** The words of an agent that are related to a word of a query: forms and their cosines. */
export interface Relations {
  readonly forms: number[];
  readonly cosines: number[];
  /** How many of the forms that the model knows were compared. */
  seen: number;
}

/**
 * Finds the words of an agent that are related to those of a query. Comparing a word with the whole vocabulary is half
 * the cost of a search, so the result is cached, and the next time only newer words are compared.
 */
export class RelatedWords {
  /** row → the words found; the least recently used first. */
  readonly #kept = new Map<number, Relations>();
  #relations = 0;

  constructor(
    private readonly vocabulary: Vocabulary,
    private readonly words: WordTable,
  ) {}

  get memoryBytes(): number {
    return this.#kept.size * KEPT_BYTES + this.#relations * RELATION_BYTES;
  }

  /** Returns the relations of some rows of the model in their order, including forms no longer in use. */
  find(rows: readonly number[]): Relations[] {
    const found = rows.map((row) => this.#take(row));
    const { length } = this.vocabulary.known.forms;
    const bySeen = Map.groupBy(new Set(rows), (row) => (this.#kept.get(row) as Relations).seen);
    for (const [seen, names] of bySeen) if (seen < length) this.#compare(names, seen);
    this.#forgetOldest();
    return found;
  }

  /** Returns the cached relations of a row, maybe none yet, and makes it the most recently used. */
  #take(row: number): Relations {
    const kept = this.#kept.get(row) ?? { forms: [], cosines: [], seen: 0 };
    this.#kept.delete(row);
    this.#kept.set(row, kept);
    return kept;
  }

  /** Compares rows with the known forms from number `seen`. */
  #compare(names: readonly number[], seen: number): void {
    const { forms, rows } = this.vocabulary.known;
    const lists = names.map((row) => this.#kept.get(row) as Relations);
    this.words.compare(names, rows.subarray(seen), MIN_RELATEDNESS, (place, other, cosine) => {
      const list = lists[place] as Relations;
      list.forms.push(forms[seen + other] as number);
      list.cosines.push(cosine);
      this.#relations++;
    });
    for (const list of lists) list.seen = forms.length;
  }

  #forgetOldest(): void {
    for (const [row, { forms }] of this.#kept) {
      if (this.#kept.size <= MAX_KEPT) return;
      this.#kept.delete(row);
      this.#relations -= forms.length;
    }
  }
}

import type { Vocabulary } from "../words/vocabulary.ts";
import { type DocumentForms, HEADER_METADATA_TOKENS, passageSpans } from "./document.ts";
import type { Range } from "./entry-slots.ts";
import { bytesOf, grow, growColumns } from "./growable.ts";

/** Weights of an occurrence by field, in eighths, so that sums are whole numbers and exact. */
export const WEIGHT_UNIT = 8;
const VALUE_WEIGHT = WEIGHT_UNIT;
const METADATA_WEIGHT = 4;
const KEY_WEIGHT = 3;
const MAX_WEIGHT = 255;

/**
 * The words of an agent's entries: for each passage its forms and their weights. A query reads all of them in order. At
 * the size of an agent this is as fast as a list per word, takes half the memory, and makes removal cheap.
 */
export class Passages {
  /** Forms and their weights, in the order of the passages; those of one are each once, its stop words last. */
  readonly occurrences = { form: new Uint32Array(0), weight: new Uint8Array(0) };
  /** The columns of the passages, with one more row after the last. */
  readonly columns = {
    /** Where its occurrences begin; they end where those of the next passage begin. */
    start: new Uint32Array(1),
    /** Where its stop words begin. Only a query of nothing but stop words reads them. */
    contentEnd: new Uint32Array(1),
    /** The sum of its weights. */
    length: new Uint32Array(1),
    /** The slot of its entry. */
    slot: new Uint32Array(1),
  };
  #count = 0;
  #liveCount = 0;
  #liveLength = 0;
  /** form → 1 + the last passage that counted it, and its place there. */
  readonly #forms = { seen: new Uint32Array(0), at: new Uint32Array(0) };
  /** term → the value of `#termStamp` when it was last counted. */
  #termSeen = new Uint32Array(0);
  #termStamp = 0;

  constructor(readonly vocabulary: Vocabulary) {}

  /** The number of passages, including those of removed entries. */
  get count(): number {
    return this.#count;
  }

  /** The number of passages of live entries: BM25's N. */
  get liveCount(): number {
    return this.#liveCount;
  }

  /** The mean sum of weights of a passage; 1 when there is none. */
  get meanLength(): number {
    return this.#liveLength / this.#liveCount || 1;
  }

  get memoryBytes(): number {
    return bytesOf(this.occurrences) + bytesOf(this.columns) + bytesOf(this.#forms) + this.#termSeen.byteLength;
  }

  /** Appends the passages of an entry. Returns their range. */
  add(slot: number, { key, value, metadata }: DocumentForms): Range {
    const first = this.#count;
    const header = metadata.subarray(0, HEADER_METADATA_TOKENS);
    for (const [from, to] of passageSpans(value.length)) {
      this.#open(slot);
      this.#append(key, KEY_WEIGHT);
      this.#append(header, METADATA_WEIGHT);
      this.#append(value.subarray(from, to), VALUE_WEIGHT);
      this.#close();
    }
    if (metadata.length > HEADER_METADATA_TOKENS) {
      for (const [from, to] of passageSpans(metadata.length)) {
        this.#open(slot);
        this.#append(key, KEY_WEIGHT);
        this.#append(metadata.subarray(from, to), METADATA_WEIGHT);
        this.#close();
      }
    }
    return { first, count: this.#count - first };
  }

  /** Removes passages from all frequencies. They stay in place without effect. */
  remove({ first, count }: Range): void {
    for (let passage = first; passage < first + count; passage++) {
      this.#countTerms(passage, -1);
      this.#liveCount--;
      this.#liveLength -= this.columns.length[passage] as number;
    }
  }

  /**
   * Appends passages of another store under a new slot. Returns their range. `formOf` maps a form of the
   * other vocabulary to one of this.
   */
  copyFrom(other: Passages, { first, count }: Range, slot: number, formOf: (form: number) => number): Range {
    const start = this.#count;
    for (let passage = first; passage < first + count; passage++) {
      this.#open(slot);
      const from = other.columns.start[passage] as number;
      const to = other.columns.start[passage + 1] as number;
      let at = this.columns.start[this.#count] as number;
      this.#reserve(at + to - from);
      for (let i = from; i < to; i++, at++) {
        this.occurrences.form[at] = formOf(other.occurrences.form[i] as number);
        this.occurrences.weight[at] = other.occurrences.weight[i] as number;
      }
      this.columns.start[this.#count + 1] = at;
      this.columns.length[this.#count] = other.columns.length[passage] as number;
      this.#close();
    }
    return { first: start, count };
  }

  /** Starts a passage; `#append` fills it and `#close` ends it. */
  #open(slot: number): void {
    const { columns } = this;
    growColumns(columns, this.#count + 2);
    columns.start[this.#count + 1] = columns.start[this.#count] as number;
    columns.length[this.#count] = 0;
    columns.slot[this.#count] = slot;
  }

  /** Adds forms to the open passage. */
  #append(added: Uint32Array, weight: number): void {
    const passage = this.#count;
    const { start, length } = this.columns;
    let end = start[passage + 1] as number;
    this.#reserve(end + added.length);
    const { form: forms, weight: weights } = this.occurrences;
    const { seen, at: places } = this.#forms;
    for (let i = 0; i < added.length; i++) {
      const form = added[i] as number;
      if (seen[form] === passage + 1) {
        const at = places[form] as number;
        weights[at] = Math.min(MAX_WEIGHT, (weights[at] as number) + weight);
      } else {
        seen[form] = passage + 1;
        places[form] = end;
        forms[end] = form;
        weights[end] = weight;
        end++;
      }
    }
    start[passage + 1] = end;
    length[passage] = (length[passage] as number) + added.length * weight;
  }

  #close(): void {
    const passage = this.#count++;
    this.columns.contentEnd[passage] = this.#moveStopWordsBack(passage);
    this.#liveCount++;
    this.#liveLength += this.columns.length[passage] as number;
    this.#countTerms(passage, 1);
  }

  /** Moves the stop words of a passage to its end. Returns where they begin. */
  #moveStopWordsBack(passage: number): number {
    const { form: forms, weight: weights } = this.occurrences;
    const { start } = this.columns;
    let end = start[passage + 1] as number;
    for (let i = start[passage] as number; i < end; ) {
      const form = forms[i] as number;
      if (!this.vocabulary.isStopWord(form)) {
        i++;
        continue;
      }
      const weight = weights[i] as number;
      end--;
      forms[i] = forms[end] as number;
      weights[i] = weights[end] as number;
      forms[end] = form;
      weights[end] = weight;
    }
    return end;
  }

  /** Adds `by` to the count of every form in a passage, and once to that of every term. */
  #countTerms(passage: number, by: 1 | -1): void {
    const { vocabulary } = this;
    const { start } = this.columns;
    this.#termSeen = grow(this.#termSeen, vocabulary.termCount);
    this.#termStamp++;
    const end = start[passage + 1] as number;
    for (let i = start[passage] as number; i < end; i++) {
      const form = this.occurrences.form[i] as number;
      vocabulary.countForm(form, by);
      const term = vocabulary.termOf(form);
      if (this.#termSeen[term] === this.#termStamp) continue;
      this.#termSeen[term] = this.#termStamp;
      vocabulary.countTerm(term, by);
    }
  }

  #reserve(occurrences: number): void {
    growColumns(this.occurrences, occurrences);
    growColumns(this.#forms, this.vocabulary.formCount);
  }
}

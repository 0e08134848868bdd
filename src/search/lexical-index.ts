import type { DocumentTokens } from "./document.ts";
import { HEADER_METADATA_TOKENS, passageSpans } from "./document.ts";
import type { Range } from "./entry-slots.ts";
import { growU8, growU32 } from "./growable.ts";
import type { QueryTerm } from "./query.ts";
import { STOP_WORDS } from "./stop-words.ts";
import type { Vocabulary } from "./vocabulary.ts";

/**
 * BM25's saturation of repeated words and its correction for length. The customary 1.2 and 0.75 suit
 * long documents; for short texts less of both is better (measured, and the default of Anserini).
 */
export const BM25_K1 = 0.9;
export const BM25_B = 0.4;

/** Weights of an occurrence by field, in eighths, so that sums are whole numbers and exact. */
const WEIGHT_UNIT = 8;
const VALUE_WEIGHT = WEIGHT_UNIT;
const METADATA_WEIGHT = 4;
const KEY_WEIGHT = 3;
const MAX_WEIGHT = 255;

/**
 * The words of an agent's entries, passage after passage, as BM25 reads them: for each passage the
 * forms in it and their weights. A query walks them in order, which at the sizes of an agent is as
 * fast as lists for each word, takes half the memory, and makes removal a mark.
 */
export class LexicalIndex {
  readonly #vocabulary: Vocabulary;
  /** Forms and, beside them, their weights; passage p holds `#start[p]` to `#start[p + 1]`, stop words last. */
  #forms = new Uint32Array(0);
  #weights = new Uint8Array(0);
  #start = new Uint32Array(1);
  /** passage → where its stop words begin: only a query of stop words alone reads on. */
  #contentEnd = new Uint32Array(0);
  /** passage → the sum of its weights. */
  #length = new Uint32Array(0);
  /** passage → the slot of its entry. */
  #slot = new Uint32Array(0);
  #passages = 0;
  #livePassages = 0;
  #liveLength = 0;
  /** The passage in which a form (a term) was counted last, plus one, and where in it. */
  #formSeen = new Uint32Array(0);
  #formAt = new Uint32Array(0);
  #termSeen = new Uint32Array(0);
  #termStamp = 0;
  /** form → 1 + its place among the matches of the query under way; all zero in between. */
  #marks = new Uint32Array(0);

  constructor(vocabulary: Vocabulary) {
    this.#vocabulary = vocabulary;
  }

  /** Passages of entries that are still there: the N of BM25. */
  get livePassages(): number {
    return this.#livePassages;
  }

  get passages(): number {
    return this.#passages;
  }

  get memoryBytes(): number {
    return [
      this.#forms,
      this.#weights,
      this.#start,
      this.#contentEnd,
      this.#length,
      this.#slot,
      this.#formSeen,
      this.#formAt,
      this.#termSeen,
      this.#marks,
    ].reduce((sum, array) => sum + array.byteLength, 0);
  }

  /** Adds the passages of an entry; they follow each other. Returns how many there are. */
  add(slot: number, tokens: DocumentTokens): number {
    const before = this.#passages;
    const header = tokens.metadata.slice(0, HEADER_METADATA_TOKENS);
    for (const [from, to] of passageSpans(tokens.value.length)) {
      this.#open(slot);
      this.#count(tokens.key, 0, tokens.key.length, KEY_WEIGHT);
      this.#count(header, 0, header.length, METADATA_WEIGHT);
      this.#count(tokens.value, from, to, VALUE_WEIGHT);
      this.#close();
    }
    if (tokens.metadata.length > HEADER_METADATA_TOKENS) {
      for (const [from, to] of passageSpans(tokens.metadata.length)) {
        this.#open(slot);
        this.#count(tokens.key, 0, tokens.key.length, KEY_WEIGHT);
        this.#count(tokens.metadata, from, to, METADATA_WEIGHT);
        this.#close();
      }
    }
    return this.#passages - before;
  }

  /** Takes `count` passages from `first` on out of all frequencies. They stay in place, unread. */
  remove(first: number, count: number): void {
    for (let passage = first; passage < first + count; passage++) {
      this.#countTerms(passage, -1);
      this.#livePassages--;
      this.#liveLength -= this.#length[passage] as number;
    }
  }

  /**
   * Appends passages of another index under a new slot, as they are. `formOf` gives the form of this
   * index's vocabulary for one of the other's.
   */
  copyFrom(
    other: LexicalIndex,
    { first, count }: Range,
    slot: number,
    formOf: (form: number) => number,
  ): void {
    for (let passage = first; passage < first + count; passage++) {
      this.#open(slot);
      const from = other.#start[passage] as number;
      const to = other.#start[passage + 1] as number;
      let at = this.#start[this.#passages] as number;
      this.#reserve(at + to - from);
      for (let i = from; i < to; i++, at++) {
        this.#forms[at] = formOf(other.#forms[i] as number);
        this.#weights[at] = other.#weights[i] as number;
      }
      this.#start[this.#passages + 1] = at;
      this.#length[this.#passages] = other.#length[passage] as number;
      this.#close();
    }
  }

  /**
   * Writes the BM25 score of the best passage of each entry to `scores` by slot, leaving 0 where
   * nothing matches. Only passages in `ranges` are looked at.
   */
  score(
    terms: readonly QueryTerm[],
    scores: Float32Array,
    ranges: readonly Range[] = [{ first: 0, count: this.#passages }],
  ): void {
    if (this.#livePassages === 0) return;
    const matches = this.#mark(terms);
    for (const range of ranges) this.#scoreRange(range, terms, matches, scores);
    for (const term of terms) for (const { form } of term.forms) this.#marks[form] = 0;
  }

  /** The inner loop of a search: everything it reads is a local array. */
  #scoreRange(
    { first, count }: Range,
    terms: readonly QueryTerm[],
    matches: Matches,
    scores: Float32Array,
  ): void {
    const { marks: marked, starts: matchStarts, terms: matchTerms, strengths } = matches;
    const forms = this.#forms;
    const weights = this.#weights;
    const starts = this.#start;
    const stopWordsOnly = terms.every(({ token }) => STOP_WORDS.has(token));
    const ends = stopWordsOnly ? starts.subarray(1) : this.#contentEnd;
    const slots = this.#slot;
    const gains = Float64Array.from(terms, ({ idf }) => idf * (BM25_K1 + 1));
    const frequency = new Float64Array(terms.length);
    const termCount = terms.length;
    const normBase = BM25_K1 * (1 - BM25_B);
    const normSlope = (BM25_K1 * BM25_B * this.#livePassages) / (this.#liveLength || 1);
    for (let passage = first; passage < first + count; passage++) {
      const end = ends[passage] as number;
      let touched = false;
      for (let i = starts[passage] as number; i < end; i++) {
        const mark = marked[forms[i] as number] as number;
        if (mark === 0) continue;
        touched = true;
        const weight = (weights[i] as number) / WEIGHT_UNIT;
        const last = matchStarts[mark] as number;
        for (let m = matchStarts[mark - 1] as number; m < last; m++) {
          const term = matchTerms[m] as number;
          const strength = strengths[m] as number;
          const now = frequency[term] as number;
          // A guess counts once however often it occurs.
          if (strength === 1) frequency[term] = now + weight;
          else if (weight < 1) frequency[term] = Math.max(now, strength * weight);
          else if (strength > now) frequency[term] = strength;
        }
      }
      if (!touched) continue;
      const norm = normBase + normSlope * (this.#length[passage] as number);
      let score = 0;
      for (let term = 0; term < termCount; term++) {
        const f = frequency[term] as number;
        if (f === 0) continue;
        score += ((gains[term] as number) * f) / (f + norm);
        frequency[term] = 0;
      }
      const slot = slots[passage] as number;
      if (score > (scores[slot] as number)) scores[slot] = score;
    }
  }

  /** Marks the forms that the terms match; `score` takes the marks away. */
  #mark(terms: readonly QueryTerm[]): Matches {
    this.#marks = growU32(this.#marks, this.#vocabulary.formCount);
    const byForm = new Map<number, Match[]>();
    terms.forEach(({ forms }, term) => {
      for (const { form, strength } of forms) {
        const match = { term, strength };
        const others = byForm.get(form);
        if (others === undefined) byForm.set(form, [match]);
        else others.push(match);
      }
    });
    let mark = 0;
    for (const form of byForm.keys()) this.#marks[form] = ++mark;
    return packMatches(this.#marks, [...byForm.values()]);
  }

  #open(slot: number): void {
    this.#start = growU32(this.#start, this.#passages + 2);
    this.#contentEnd = growU32(this.#contentEnd, this.#passages + 1);
    this.#length = growU32(this.#length, this.#passages + 1);
    this.#slot = growU32(this.#slot, this.#passages + 1);
    this.#start[this.#passages + 1] = this.#start[this.#passages] as number;
    this.#length[this.#passages] = 0;
    this.#slot[this.#passages] = slot;
  }

  #count(tokens: readonly string[], from: number, to: number, weight: number): void {
    const vocabulary = this.#vocabulary;
    const seen = this.#passages + 1;
    let end = this.#start[seen] as number;
    this.#reserve(end + to - from);
    for (let i = from; i < to; i++) {
      const form = vocabulary.intern(tokens[i] as string);
      if (form >= this.#formSeen.length) this.#reserveForms(form + 1);
      if (this.#formSeen[form] === seen) {
        const at = this.#formAt[form] as number;
        this.#weights[at] = Math.min(MAX_WEIGHT, (this.#weights[at] as number) + weight);
      } else {
        this.#formSeen[form] = seen;
        this.#formAt[form] = end;
        this.#forms[end] = form;
        this.#weights[end] = weight;
        end++;
      }
    }
    this.#start[seen] = end;
    this.#length[this.#passages] = (this.#length[this.#passages] as number) + (to - from) * weight;
  }

  #close(): void {
    this.#contentEnd[this.#passages] = this.#moveStopWordsBack(this.#passages);
    this.#passages++;
    this.#livePassages++;
    this.#liveLength += this.#length[this.#passages - 1] as number;
    this.#countTerms(this.#passages - 1, 1);
  }

  /** Orders the forms of a passage so that stop words come last; returns where they begin. */
  #moveStopWordsBack(passage: number): number {
    const forms = this.#forms;
    const weights = this.#weights;
    let end = this.#start[passage + 1] as number;
    for (let i = this.#start[passage] as number; i < end; ) {
      const form = forms[i] as number;
      if (!this.#vocabulary.isStopWord(form)) {
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

  /** Counts a passage in or out, for every form in it and once for every term. */
  #countTerms(passage: number, by: 1 | -1): void {
    const vocabulary = this.#vocabulary;
    this.#termSeen = growU32(this.#termSeen, vocabulary.termCount);
    this.#termStamp++;
    const end = this.#start[passage + 1] as number;
    for (let i = this.#start[passage] as number; i < end; i++) {
      const form = this.#forms[i] as number;
      vocabulary.countForm(form, by);
      const term = vocabulary.termOf(form);
      if (this.#termSeen[term] === this.#termStamp) continue;
      this.#termSeen[term] = this.#termStamp;
      vocabulary.countTerm(term, by);
    }
  }

  #reserve(tokens: number): void {
    this.#forms = growU32(this.#forms, tokens);
    this.#weights = growU8(this.#weights, tokens);
  }

  #reserveForms(forms: number): void {
    this.#formSeen = growU32(this.#formSeen, forms);
    this.#formAt = growU32(this.#formAt, forms);
  }
}

/** A term of the query that a form stands for, and how surely (1: it is the word). */
interface Match {
  term: number;
  strength: number;
}

/** What the terms of a query match, packed: the matches of mark m lie at `starts[m - 1]` to `starts[m]`. */
interface Matches {
  /** form → its mark, or 0. */
  marks: Uint32Array;
  starts: Uint32Array;
  terms: Uint8Array;
  strengths: Float64Array;
}

function packMatches(marks: Uint32Array, byMark: readonly Match[][]): Matches {
  const starts = new Uint32Array(byMark.length + 1);
  byMark.forEach(({ length }, i) => {
    starts[i + 1] = (starts[i] as number) + length;
  });
  const packed = byMark.flat();
  return {
    marks,
    starts,
    terms: Uint8Array.from(packed, ({ term }) => term),
    strengths: Float64Array.from(packed, ({ strength }) => strength),
  };
}

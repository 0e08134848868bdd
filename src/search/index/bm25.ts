import { STOP_WORDS } from "../words/stop-words.ts";
import type { Range } from "./entry-slots.ts";
import { grow } from "./growable.ts";
import { type Passages, WEIGHT_UNIT } from "./passages.ts";
import type { QueryTerm } from "./query.ts";

/**
 * BM25's saturation of repeated words and its correction for length. The usual 1.2 and 0.75 suit long
 * documents; for short texts smaller values are better (measured, and the defaults of Anserini).
 */
const K1 = 0.9;
const B = 0.4;

/**
 * Scores passages by BM25F: an occurrence weighs by its field, and a passage has one length. A term also
 * matches related and corrected words, with less strength.
 */
export class Bm25 {
  readonly #passages: Passages;
  /** form → 1 + its index among the matches of the current query; all zero between queries. */
  #marks = new Uint32Array(0);

  constructor(passages: Passages) {
    this.#passages = passages;
  }

  get memoryBytes(): number {
    return this.#marks.byteLength;
  }

  /**
   * Writes the score of each entry's best passage to `scores` by slot, and leaves 0 where nothing
   * matches. Scores only the passages in `ranges`, or all.
   */
  score(terms: readonly QueryTerm[], scores: Float32Array, ranges?: readonly Range[]): void {
    if (terms.length === 0 || this.#passages.liveCount === 0) return;
    const matches = this.#mark(terms);
    this.#walk(terms, matches, scores, ranges ?? [{ first: 0, count: this.#passages.count }]);
    for (const term of terms) for (const { form } of term.forms) this.#marks[form] = 0;
  }

  /** The inner loop of a search. It reads only local arrays. */
  #walk(terms: readonly QueryTerm[], matches: Matches, scores: Float32Array, ranges: readonly Range[]): void {
    const { starts: matchStarts, terms: matchTerms, strengths } = matches;
    const { forms, weights, start, contentEnd, length, slot: slots } = this.#passages.arrays;
    const marks = this.#marks;
    const ends = terms.every(({ token }) => STOP_WORDS.has(token)) ? start.subarray(1) : contentEnd;
    const gains = Float64Array.from(terms, ({ idf }) => idf * (K1 + 1));
    const frequency = new Float64Array(terms.length);
    const normBase = K1 * (1 - B);
    const normSlope = (K1 * B) / this.#passages.meanLength;
    for (const { first, count } of ranges) {
      for (let passage = first; passage < first + count; passage++) {
        const end = ends[passage] as number;
        let touched = false;
        for (let i = start[passage] as number; i < end; i++) {
          const mark = marks[forms[i] as number] as number;
          if (mark === 0) continue;
          touched = true;
          const weight = (weights[i] as number) / WEIGHT_UNIT;
          const last = matchStarts[mark] as number;
          for (let m = matchStarts[mark - 1] as number; m < last; m++) {
            const term = matchTerms[m] as number;
            const strength = strengths[m] as number;
            const now = frequency[term] as number;
            // A related or corrected word counts once, however often it occurs.
            if (strength === 1) {
              frequency[term] = now + weight;
            } else {
              const guess = weight < 1 ? strength * weight : strength;
              if (guess > now) frequency[term] = guess;
            }
          }
        }
        if (!touched) continue;
        const norm = normBase + normSlope * (length[passage] as number);
        let score = 0;
        for (let term = 0; term < gains.length; term++) {
          const f = frequency[term] as number;
          if (f === 0) continue;
          score += ((gains[term] as number) * f) / (f + norm);
          frequency[term] = 0;
        }
        const slot = slots[passage] as number;
        if (score > (scores[slot] as number)) scores[slot] = score;
      }
    }
  }

  /** Marks the forms that the terms match. `score` removes the marks. */
  #mark(terms: readonly QueryTerm[]): Matches {
    this.#marks = grow(this.#marks, this.#passages.vocabulary.formCount);
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
    return packMatches([...byForm.values()]);
  }
}

/** A term of the query that a form matches, and how strongly (1: the word itself). */
interface Match {
  term: number;
  strength: number;
}

/** The matches of a query, packed: those of mark m are at `starts[m - 1]` to `starts[m]`. */
interface Matches {
  starts: Uint32Array;
  terms: Uint8Array;
  strengths: Float64Array;
}

function packMatches(byMark: readonly Match[][]): Matches {
  const starts = new Uint32Array(byMark.length + 1);
  byMark.forEach(({ length }, i) => {
    starts[i + 1] = (starts[i] as number) + length;
  });
  const packed = byMark.flat();
  return {
    starts,
    terms: Uint8Array.from(packed, ({ term }) => term),
    strengths: Float64Array.from(packed, ({ strength }) => strength),
  };
}

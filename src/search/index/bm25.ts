import { STOP_WORDS } from "../words/stop-words.ts";
import type { Range } from "./entry-slots.ts";
import { growU32 } from "./growable.ts";
import { type Passages, WEIGHT_UNIT } from "./passages.ts";
import type { QueryTerm } from "./query.ts";

/**
 * BM25's saturation of repeated words and its correction for length. The customary 1.2 and 0.75 suit
 * long documents; for short texts less of both is better (measured, and the default of Anserini).
 */
const K1 = 0.9;
const B = 0.4;

/**
 * Scores passages by BM25 over fields (BM25F: weights of an occurrence by field, one length), where a
 * term may also be matched by words that only stand for it.
 */
export class Bm25 {
  readonly #passages: Passages;
  /** form → 1 + its place among the matches of the query under way; all zero in between. */
  #marks = new Uint32Array(0);

  constructor(passages: Passages) {
    this.#passages = passages;
  }

  get memoryBytes(): number {
    return this.#marks.byteLength;
  }

  /**
   * Writes the score of the best passage of each entry to `scores` by slot, leaving 0 where nothing
   * matches. Only passages in `ranges` are looked at.
   */
  score(terms: readonly QueryTerm[], scores: Float32Array, ranges?: readonly Range[]): void {
    if (terms.length === 0 || this.#passages.liveCount === 0) return;
    const matches = this.#mark(terms);
    this.#walk(terms, matches, scores, ranges ?? [{ first: 0, count: this.#passages.count }]);
    for (const term of terms) for (const { form } of term.forms) this.#marks[form] = 0;
  }

  /** The inner loop of a search: everything it reads is a local array. */
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
            // A guess counts once however often it occurs.
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

  /** Marks the forms that the terms match; `score` takes the marks away. */
  #mark(terms: readonly QueryTerm[]): Matches {
    this.#marks = growU32(this.#marks, this.#passages.vocabulary.formCount);
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

/** A term of the query that a form stands for, and how surely (1: it is the word). */
interface Match {
  term: number;
  strength: number;
}

/** What the terms of a query match, packed: the matches of mark m lie at `starts[m - 1]` to `starts[m]`. */
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

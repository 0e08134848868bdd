/**
 * Scores passages by BM25F: an occurrence weighs by its field, and a passage has one length. A term also
 * matches related and corrected words, with less strength.
 */
import { STOP_WORDS } from "../words/stop-words.ts";
import { grow } from "./growable.ts";
import { type Passages, WEIGHT_UNIT } from "./passages.ts";
import type { QueryTerm } from "./query.ts";

/**
 * BM25's saturation of repeated words and its correction for length. The usual 1.2 and 0.75 suit long
 * documents; for short texts smaller values are better (measured, and the defaults of Anserini).
 */
const K1 = 0.9;
const B = 0.4;

/** form → 1 + its index among the matches of the current query; all zero between queries. */
let marks = new Uint32Array(0);

/** Writes the score of each entry's best passage to `scores` by slot, and leaves 0 where nothing matches. */
export function scorePassages(passages: Passages, terms: readonly QueryTerm[], scores: Float32Array): void {
  if (terms.length === 0 || passages.liveCount === 0) return;
  marks = grow(marks, passages.vocabulary.formCount);
  const matches = matchesOf(terms);
  walk(passages, terms, matches, scores);
  for (const form of matches.forms) marks[form] = 0;
}

/** The inner loop of a search. It reads only local arrays. */
function walk(passages: Passages, terms: readonly QueryTerm[], matches: Matches, scores: Float32Array): void {
  const { starts: matchStarts, terms: matchTerms, strengths } = matches;
  const { form: forms, weight: weights } = passages.occurrences;
  const { start, contentEnd, length, slot: slots } = passages.columns;
  const markOf = marks;
  const ends = terms.every(({ token }) => STOP_WORDS.has(token)) ? start.subarray(1) : contentEnd;
  const gains = Float64Array.from(terms, ({ idf }) => idf * (K1 + 1));
  const frequency = new Float64Array(terms.length);
  const normBase = K1 * (1 - B);
  const normSlope = (K1 * B) / passages.meanLength;
  for (let passage = 0; passage < passages.count; passage++) {
    const end = ends[passage] as number;
    let touched = false;
    for (let i = start[passage] as number; i < end; i++) {
      const mark = markOf[forms[i] as number] as number;
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

/** The forms that a query matches, and which of its terms, packed: the matches of mark m are `starts[m - 1]` to `starts[m]`. */
interface Matches {
  forms: readonly number[];
  starts: Uint32Array;
  terms: Uint8Array;
  /** 1: the word itself. */
  strengths: Float64Array;
}

/** Marks the forms that the terms match. */
function matchesOf(queryTerms: readonly QueryTerm[]): Matches {
  const all = queryTerms.flatMap(({ forms }, term) => forms.map(({ form, strength }) => ({ form, term, strength })));
  const byForm = Map.groupBy(all, ({ form }) => form);
  const starts = new Uint32Array(byForm.size + 1);
  let mark = 0;
  for (const [form, { length }] of byForm) {
    marks[form] = ++mark;
    starts[mark] = (starts[mark - 1] as number) + length;
  }
  const packed = [...byForm.values()].flat();
  return {
    forms: [...byForm.keys()],
    starts,
    terms: Uint8Array.from(packed, ({ term }) => term),
    strengths: Float64Array.from(packed, ({ strength }) => strength),
  };
}

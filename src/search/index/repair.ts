import type { Vocabulary } from "../words/vocabulary.ts";
import { bytesOf, growColumns } from "./growable.ts";

/** Shorter words are not repaired: one slip often makes another word of them. */
const SHORTEST_REPAIRED = 4;
/** A word this long may hold two slips, a shorter one only one. */
const TWO_SLIPS_FROM = 8;
/** Longer tokens are not words. */
const LONGEST_REPAIRED = 40;
/** The most that a repaired word counts, since it is a guess. */
const REPAIR_STRENGTH = 0.8;

/** Only words are repaired: a similar number or identifier is a different one. */
const WORD = /^[\p{L}\p{M}]+$/u;

/** A form of the entries that a query term matches. */
export interface FormMatch {
  form: number;
  /** 1: the word itself; less: a related word, or one with a similar spelling. */
  strength: number;
}

/**
 * Finds words that differ from a misspelt one by a slip or two. The letters of every word are stored as a mask of 32
 * bits. A slip changes at most two of them, so one population count rules out nearly all words, and no index is needed.
 */
export class SpellingRepair {
  readonly #words = { form: new Uint32Array(0), letters: new Uint32Array(0), length: new Uint8Array(0) };
  #count = 0;
  /** How many forms were read so far. */
  #seen = 0;

  constructor(private readonly vocabulary: Vocabulary) {}

  get memoryBytes(): number {
    return bytesOf(this.#words);
  }

  /** Returns the words in use with a similar spelling, nearest first, equal ones in code unit order. */
  find(token: string): FormMatch[] {
    if (!isMisspellable(token)) return [];
    this.#update();
    const { vocabulary } = this;
    const slips = slipsOf(token);
    const found: FormMatch[] = [];
    for (const form of this.#plausible(token, slips)) {
      if (!vocabulary.isUsed(form)) continue;
      const spelling = vocabulary.spelling(form);
      const distance = editDistance(token, spelling, slips);
      if (distance > slips) continue;
      found.push({ form, strength: REPAIR_STRENGTH * (1 - distance / Math.max(token.length, spelling.length)) });
    }
    return found.sort(
      (a, b) => b.strength - a.strength || (vocabulary.spelling(a.form) < vocabulary.spelling(b.form) ? -1 : 1),
    );
  }

  /** Returns the forms that neither length nor letters rule out. */
  #plausible(token: string, slips: number): number[] {
    const wanted = letterMask(token);
    const { form, letters, length } = this.#words;
    const plausible: number[] = [];
    for (let i = 0; i < this.#count; i++) {
      if (Math.abs((length[i] as number) - token.length) > slips) continue;
      if (bitCount((letters[i] as number) ^ wanted) <= 2 * slips) plausible.push(form[i] as number);
    }
    return plausible;
  }

  /** Reads the forms that were added since the last search. */
  #update(): void {
    const { formCount } = this.vocabulary;
    for (; this.#seen < formCount; this.#seen++) {
      const spelling = this.vocabulary.spelling(this.#seen);
      if (!isRepairable(spelling, SHORTEST_REPAIRED - 1)) continue;
      growColumns(this.#words, this.#count + 1);
      this.#words.form[this.#count] = this.#seen;
      this.#words.letters[this.#count] = letterMask(spelling);
      this.#words.length[this.#count] = spelling.length;
      this.#count++;
    }
  }
}

/**
 * Returns the stems of the words that a token which {@link isMisspellable} may be a misspelling of,
 * nearest first, equal ones in code unit order. Besides the token's stem its beginning is compared, since
 * the stemmer does not remove an ending with a slip in it.
 */
export function misspeltStems(token: string, stem: string, stems: Iterable<string>): string[] {
  const slips = slipsOf(token);
  const found: { word: string; distance: number }[] = [];
  for (const word of stems) {
    if (word.length > token.length + slips || !isRepairable(word, SHORTEST_REPAIRED)) continue;
    const beginnings = [-1, 0, 1].map((more) => token.slice(0, word.length + more));
    const distance = Math.min(...[stem, ...beginnings].map((one) => editDistance(one, word, slips)));
    if (distance <= slips) found.push({ word, distance });
  }
  return found.sort((a, b) => a.distance - b.distance || (a.word < b.word ? -1 : 1)).map(({ word }) => word);
}

/** Reports whether a token may be a misspelt word. Numbers and identifiers are not repaired. */
export function isMisspellable(token: string): boolean {
  return isRepairable(token, SHORTEST_REPAIRED);
}

/** Returns how many slips a word may hold. */
function slipsOf(token: string): number {
  return token.length < TWO_SLIPS_FROM ? 1 : 2;
}

function isRepairable(token: string, shortest: number): boolean {
  return token.length >= shortest && token.length <= LONGEST_REPAIRED && WORD.test(token);
}

/** Returns the letters of a word as bits. Letters of other alphabets share bits. */
function letterMask(word: string): number {
  let mask = 0;
  for (let i = 0; i < word.length; i++) mask |= 1 << (word.charCodeAt(i) & 31);
  return mask;
}

function bitCount(bits: number): number {
  const pairs = bits - ((bits >>> 1) & 0x55555555);
  const nibbles = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((nibbles + (nibbles >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/**
 * Returns how many slips lead from one word to another: letters inserted, omitted, replaced, or swapped
 * with their neighbour (optimal string alignment). Returns `limit + 1` for anything above `limit`; only a
 * band of that width is computed.
 */
export function editDistance(one: string, other: string, limit: number): number {
  const tooFar = limit + 1;
  if (Math.abs(one.length - other.length) > limit) return tooFar;
  // Three rows of the usual table: i - 2, i - 1 and i, each over the prefixes of `other`.
  let older = new Array<number>(other.length + 1).fill(tooFar);
  let previous = Array.from({ length: other.length + 1 }, (_, j) => Math.min(j, tooFar));
  let current = new Array<number>(other.length + 1).fill(tooFar);
  for (let i = 1; i <= one.length; i++) {
    current.fill(tooFar);
    if (i <= limit) current[0] = i;
    let nearest = current[0] as number;
    const last = Math.min(other.length, i + limit);
    for (let j = Math.max(1, i - limit); j <= last; j++) {
      const same = one[i - 1] === other[j - 1];
      let distance = Math.min(
        (previous[j] as number) + 1,
        (current[j - 1] as number) + 1,
        (previous[j - 1] as number) + (same ? 0 : 1),
      );
      const swapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      if (swapped) distance = Math.min(distance, (older[j - 2] as number) + 1);
      current[j] = distance;
      nearest = Math.min(nearest, distance);
    }
    if (nearest > limit && (i === one.length || Math.min(...previous) > limit)) return tooFar;
    [older, previous, current] = [previous, current, older];
  }
  return Math.min(previous[other.length] as number, tooFar);
}

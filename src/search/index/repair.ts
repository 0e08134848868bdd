import { editDistance } from "../words/edit-distance.ts";
import type { Vocabulary } from "../words/vocabulary.ts";
import { growU8, growU32 } from "./growable.ts";

/** In a shorter word one slip makes another word as often as a typing error. */
const SHORTEST_REPAIRED = 4;
/** A word this long may hold two slips, a shorter one only one. */
const TWO_SLIPS_FROM = 8;
/** Longer tokens are not words. */
const LONGEST_REPAIRED = 40;
/** What a word that is spelt alike counts at most, since it is a guess. */
const REPAIR_STRENGTH = 0.8;

/** Only words are repaired: a number or an identifier that nearly fits is another one. */
const WORD = /^[\p{L}\p{M}]+$/u;

/** A word of the entries that is spelt nearly as a word of the query. */
export interface Resemblance {
  form: number;
  strength: number;
}

/**
 * Finds words that differ from a misspelt one by a slip or two. The letters of every word are kept as
 * a mask of 32 bits: as a slip changes at most two of them, nearly all words are ruled out by one
 * population count and no index has to be kept.
 */
export class SpellingRepair {
  readonly #vocabulary: Vocabulary;
  /** The words among the forms, their letters and their lengths. */
  #forms = new Uint32Array(0);
  #letters = new Uint32Array(0);
  #lengths = new Uint8Array(0);
  #count = 0;
  /** Forms looked at so far. */
  #seen = 0;

  constructor(vocabulary: Vocabulary) {
    this.#vocabulary = vocabulary;
  }

  get memoryBytes(): number {
    return this.#forms.byteLength + this.#letters.byteLength + this.#lengths.byteLength;
  }

  /** The words in use that are spelt nearly as a token, the nearest first; equals in code unit order. */
  find(token: string): Resemblance[] {
    if (!isMisspellable(token)) return [];
    this.#update();
    const vocabulary = this.#vocabulary;
    const slips = slipsOf(token);
    const found: Resemblance[] = [];
    for (const form of this.#plausible(token, slips)) {
      if (!vocabulary.isUsed(form)) continue;
      const spelling = vocabulary.spelling(form);
      const distance = editDistance(token, spelling, slips);
      if (distance > slips) continue;
      const strength = REPAIR_STRENGTH * (1 - distance / Math.max(token.length, spelling.length));
      found.push({ form, strength });
    }
    return found.sort(
      (a, b) =>
        b.strength - a.strength || (vocabulary.spelling(a.form) < vocabulary.spelling(b.form) ? -1 : 1),
    );
  }

  /** The forms that neither length nor letters rule out. */
  #plausible(token: string, slips: number): number[] {
    const wanted = letterMask(token);
    const letters = this.#letters;
    const lengths = this.#lengths;
    const plausible: number[] = [];
    for (let i = 0; i < this.#count; i++) {
      if (Math.abs((lengths[i] as number) - token.length) > slips) continue;
      if (bitCount((letters[i] as number) ^ wanted) <= 2 * slips) plausible.push(this.#forms[i] as number);
    }
    return plausible;
  }

  /** Takes in the forms that were added since. */
  #update(): void {
    const { formCount } = this.#vocabulary;
    for (; this.#seen < formCount; this.#seen++) {
      const spelling = this.#vocabulary.spelling(this.#seen);
      if (!isRepairable(spelling, SHORTEST_REPAIRED - 1)) continue;
      this.#forms = growU32(this.#forms, this.#count + 1);
      this.#letters = growU32(this.#letters, this.#count + 1);
      this.#lengths = growU8(this.#lengths, this.#count + 1);
      this.#forms[this.#count] = this.#seen;
      this.#letters[this.#count] = letterMask(spelling);
      this.#lengths[this.#count] = spelling.length;
      this.#count++;
    }
  }
}

/**
 * The stems of whose words a token that {@link isMisspellable} may be a misspelling, the nearest first, equals in code unit order.
 * Its beginning is compared besides its own stem, as an ending with a slip in it is not taken off.
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

/** Whether a token may be a misspelt word: an identifier or a number that nearly fits is another one. */
export function isMisspellable(token: string): boolean {
  return isRepairable(token, SHORTEST_REPAIRED);
}

/** How many slips a word may hold. */
function slipsOf(token: string): number {
  return token.length < TWO_SLIPS_FROM ? 1 : 2;
}

function isRepairable(token: string, shortest: number): boolean {
  return token.length >= shortest && token.length <= LONGEST_REPAIRED && WORD.test(token);
}

/** Which letters a word has; letters of other alphabets share bits. */
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

import { growI32 } from "./growable.ts";
import type { Vocabulary } from "./vocabulary.ts";

/** A shorter word has too few trigrams to tell a typing error from another word. */
const SHORTEST_REPAIRED = 4;
const SHORTEST_CANDIDATE = 3;
const MAX_LENGTH_DIFFERENCE = 3;
/** Dice coefficient of the trigrams from which on a word counts as resembling. */
const MIN_RESEMBLANCE = 0.45;
/** What a resembling word counts at most, since it is a guess. */
const REPAIR_STRENGTH = 0.8;

const DIGITS = /^\p{N}+$/u;

/** A word of the entries that resembles a word of the query. */
export interface Resemblance {
  form: number;
  strength: number;
}

/**
 * Finds words that differ from a misspelt one by a slip or two, by their trigrams. The trigrams of
 * every word are summed up in 64 bits, so that nearly all words are ruled out by two population
 * counts and no index by trigram has to be kept.
 */
export class SpellingRepair {
  readonly #vocabulary: Vocabulary;
  /** form → its signature, two words each. */
  #signatures = new Int32Array(0);
  #known = 0;

  constructor(vocabulary: Vocabulary) {
    this.#vocabulary = vocabulary;
  }

  get memoryBytes(): number {
    return this.#signatures.byteLength;
  }

  /** The words in use that resemble a token, the nearest first; equals in code unit order. */
  find(token: string): Resemblance[] {
    if (token.length < SHORTEST_REPAIRED || DIGITS.test(token)) return [];
    this.#update();
    const vocabulary = this.#vocabulary;
    const wanted = new Set(trigrams(token));
    const low = signature(token, 0);
    const high = signature(token, 1);
    const hidden = wanted.size - bitCount(low) - bitCount(high);
    const found: Resemblance[] = [];
    for (let form = 0; form < this.#known; form++) {
      const shared =
        hidden +
        bitCount(low & (this.#signatures[2 * form] as number)) +
        bitCount(high & (this.#signatures[2 * form + 1] as number));
      if (2 * shared < MIN_RESEMBLANCE * (wanted.size + shared) || !vocabulary.isUsed(form)) continue;
      const spelling = vocabulary.spelling(form);
      const difference = Math.abs(spelling.length - token.length);
      if (difference > MAX_LENGTH_DIFFERENCE || spelling.length < SHORTEST_CANDIDATE) continue;
      const dice = resemblance(wanted, spelling);
      if (dice >= MIN_RESEMBLANCE) found.push({ form, strength: REPAIR_STRENGTH * dice });
    }
    return found.sort(
      (a, b) =>
        b.strength - a.strength || (vocabulary.spelling(a.form) < vocabulary.spelling(b.form) ? -1 : 1),
    );
  }

  /** Brings the signatures up to the forms that were added since. */
  #update(): void {
    const forms = this.#vocabulary.formCount;
    this.#signatures = growI32(this.#signatures, 2 * forms);
    for (; this.#known < forms; this.#known++) {
      const spelling = this.#vocabulary.spelling(this.#known);
      this.#signatures[2 * this.#known] = signature(spelling, 0);
      this.#signatures[2 * this.#known + 1] = signature(spelling, 1);
    }
  }
}

/** Dice coefficient of two words' sets of trigrams. */
function resemblance(wanted: ReadonlySet<string>, spelling: string): number {
  const others = new Set(trigrams(spelling));
  let shared = 0;
  for (const trigram of others) if (wanted.has(trigram)) shared++;
  return (2 * shared) / (wanted.size + others.size);
}

function trigrams(word: string): string[] {
  const marked = `^${word}$`;
  return Array.from({ length: marked.length - 2 }, (_, i) => marked.slice(i, i + 3));
}

/** Half 0 or 1 of a word's signature: a bit for each trigram. */
function signature(word: string, half: 0 | 1): number {
  let bits = 0;
  const code = (i: number) => (i < 0 || i === word.length ? 1 : word.charCodeAt(i));
  for (let i = 0; i < word.length; i++) {
    const hash = Math.imul(code(i - 1) * 0x1f35 + code(i) * 0x3d7 + code(i + 1), 0x9e3779b1) >>> 26;
    if (hash >> 5 === half) bits |= 1 << (hash & 31);
  }
  return bits;
}

function bitCount(bits: number): number {
  let n = bits - ((bits >>> 1) & 0x55555555);
  n = (n & 0x33333333) + ((n >>> 2) & 0x33333333);
  return Math.imul((n + (n >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/**
 * Aho-Corasick: every word of a dictionary is found in one pass over the text, in time that depends on
 * the text's length alone. Words are matched on folded code units (fold.ts).
 */
import { FOLD, foldWord } from "./fold.ts";

/** Class of every code unit that no word contains. */
const OTHER = 0;
const MAX_STATES = 0x7fff;
/** Set in a transition whose target is the end of a word. */
export const ACCEPTS = 0x8000;
/**
 * Letters of other scripts share a few classes, or the table would be ten times as large. What is found
 * by such letters is compared once more.
 */
const FIRST_SHARED = 0x80;
const SHARED_CLASSES = 31;
const NOT_LATIN = /[^\x20-\x7e]/;

/** A compiled dictionary. Build once, use for every text. */
export class Automaton {
  /** Class of each raw code unit (folding included). */
  readonly classOf: Uint8Array;
  /** Next state, at `state * classes + class`; with {@link ACCEPTS} when words end there. */
  readonly next: Uint16Array;
  readonly classes: number;
  /** Ids of the words that end in each state, longest first; undefined for most states. */
  readonly output: readonly (readonly number[] | undefined)[];
  private readonly words: readonly (string | null)[];
  /** Length of each word as matched, in code units. */
  readonly lengths: Uint16Array;

  constructor(words: readonly string[]) {
    const folded = words.map(foldWord);
    this.words = folded.map((word) => (NOT_LATIN.test(word) ? word : null));
    this.lengths = Uint16Array.from(folded, (word) => word.length);
    const codes = [...new Set(folded.join("").split(""))].map((unit) => unit.charCodeAt(0));
    const plain = codes.filter((code) => code < FIRST_SHARED);
    const alphabet = new Map(plain.map((code, place) => [code, place + 1]));
    for (const code of codes) {
      if (code >= FIRST_SHARED) alphabet.set(code, plain.length + 1 + (code % SHARED_CLASSES));
    }
    this.classes = plain.length + 1 + SHARED_CLASSES;
    this.classOf = new Uint8Array(0x10000);
    for (let code = 0; code < 0x10000; code++) this.classOf[code] = alphabet.get(FOLD[code] as number) ?? OTHER;
    ({ next: this.next, output: this.output } = buildTrie(folded, alphabet, this.classes));
  }

  /** Whether the word `id` really ends before `end`; only words of other scripts can be mistaken. */
  confirms(id: number, text: string, end: number): boolean {
    const word = this.words[id];
    if (word == null) return true;
    const start = end - word.length;
    for (let i = 0; i < word.length; i++) {
      if (FOLD[text.charCodeAt(start + i)] !== word.charCodeAt(i)) return false;
    }
    return true;
  }
}

function buildTrie(words: readonly string[], alphabet: ReadonlyMap<number, number>, classes: number) {
  const total = words.reduce((sum, word) => sum + word.length, 1);
  let next = new Uint16Array(total * classes);
  const output: (number[] | undefined)[] = [undefined];
  let states = 1;
  for (const [id, word] of words.entries()) {
    let state = 0;
    for (let i = 0; i < word.length; i++) {
      const slot = state * classes + (alphabet.get(word.charCodeAt(i)) as number);
      if (next[slot] === 0) {
        if (states >= MAX_STATES) throw new Error("The anchor dictionary has more than 32,767 states.");
        next[slot] = states++;
        output.push(undefined);
      }
      state = next[slot] as number;
    }
    output[state] ??= [];
    (output[state] as number[]).push(id);
  }
  next = next.slice(0, states * classes);

  // Breadth first: a missing edge goes where the longest proper suffix would go.
  const fail = new Uint16Array(states);
  const queue: number[] = [];
  for (let c = 0; c < classes; c++) if (next[c] !== 0) queue.push(next[c] as number);
  for (let head = 0; head < queue.length; head++) {
    const state = queue[head] as number;
    const suffix = fail[state] as number;
    const inherited = output[suffix];
    if (inherited) output[state] = [...(output[state] ?? []), ...inherited];
    for (let c = 0; c < classes; c++) {
      const slot = state * classes + c;
      const target = next[slot] as number;
      const through = next[suffix * classes + c] as number;
      if (target === 0) next[slot] = through;
      else {
        fail[target] = through;
        queue.push(target);
      }
    }
  }
  return breadthFirst(next, output, [0, ...queue], classes);
}

/**
 * Numbers the states as they were met breadth first, so that the rows of the first letters, which nearly
 * every text stays in, lie together in the cache.
 */
function breadthFirst(
  next: Uint16Array,
  output: readonly (number[] | undefined)[],
  order: readonly number[],
  classes: number,
) {
  const transitionTo = new Uint16Array(order.length);
  for (const [number, state] of order.entries()) transitionTo[state] = output[state] ? number | ACCEPTS : number;
  const ordered = new Uint16Array(next.length);
  for (const [number, state] of order.entries()) {
    for (let c = 0; c < classes; c++)
      ordered[number * classes + c] = transitionTo[next[state * classes + c] as number] as number;
  }
  return { next: ordered, output: order.map((state) => output[state]) };
}

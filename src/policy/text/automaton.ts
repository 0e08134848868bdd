/**
 * Aho-Corasick: every word of a dictionary is found in one pass over the text, in time that depends on
 * the text's length alone. Words are matched on folded code units (fold.ts).
 */
import { FOLD, foldWord } from "./fold.ts";

/** Class of every code unit that no word contains. */
const OTHER = 0;
const MAX_STATES = 0xffff;

/** A compiled dictionary. Build once, use for every text. */
export class Automaton {
  /** Class of each raw code unit (folding included). */
  readonly classOf: Uint8Array;
  /** Next state, `state * classes + class`. */
  readonly next: Uint16Array;
  readonly classes: number;
  /** Ids of the words that end in each state, longest first; undefined for most states. */
  readonly output: readonly (readonly number[] | undefined)[];
  /** Length of each word as matched, in code units. */
  readonly lengths: Uint16Array;
  /** Whether a state has an output, in one byte. */
  readonly accepting: Uint8Array;

  constructor(words: readonly string[]) {
    const folded = words.map(foldWord);
    this.lengths = Uint16Array.from(folded, (word) => word.length);
    const alphabet = new Map<number, number>();
    for (const word of folded) {
      for (let i = 0; i < word.length; i++) {
        const code = word.charCodeAt(i);
        if (!alphabet.has(code)) alphabet.set(code, alphabet.size + 1);
      }
    }
    if (alphabet.size > 254) throw new Error("The anchor dictionary has more than 254 different characters.");
    this.classes = alphabet.size + 1;
    this.classOf = new Uint8Array(0x10000);
    for (let code = 0; code < 0x10000; code++) {
      this.classOf[code] = alphabet.get(FOLD[code] as number) ?? OTHER;
    }

    const trie = buildTrie(folded, alphabet, this.classes);
    this.next = trie.next;
    this.output = trie.output;
    this.accepting = new Uint8Array(trie.output.length);
    for (let state = 0; state < trie.output.length; state++)
      if (trie.output[state]) this.accepting[state] = 1;
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
        if (states >= MAX_STATES) throw new Error("The anchor dictionary has more than 65,535 states.");
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
  return { next, output };
}

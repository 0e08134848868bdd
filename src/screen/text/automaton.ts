/**
 * Aho-Corasick: every word of a dictionary is found in one pass over the text, in time that depends on
 * the text's length alone. Words are matched on folded code units (fold.ts).
 */
import { FOLD, type FoldedWords, foldWords } from "./fold.ts";

/** Class of every code unit that no word contains. */
const OTHER = 0;
const MAX_STATES = 0xffff;
/**
 * Letters of other scripts share a few classes, or the table would be ten times as large. What is found
 * by such letters is compared once more.
 */
const FIRST_SHARED = 0x80;
const SHARED_CLASSES = 31;
/** Words without letters beyond these need no second comparison. */
const FIRST_PLAIN = 0x20;
const LAST_PLAIN = 0x7e;

/** A compiled dictionary. Build once, use for every text. */
export class Automaton {
  /** Class of each raw code unit (folding included). */
  readonly classOf: Uint8Array;
  /** Next state, at `state * classes + class`. */
  readonly next: Uint16Array;
  readonly classes: number;
  /** Words end in this state and in those with higher numbers. */
  readonly firstAccepting: number;
  /** Ids of the words that end in each state, longest first; undefined for most states. */
  readonly output: readonly (readonly number[] | undefined)[];
  readonly #folded: FoldedWords;
  /** 1 for each word that has letters of a shared class. */
  readonly #isShared: Uint8Array;
  /** Length of each word as matched, in code units. */
  readonly lengths: Uint16Array;

  constructor(words: readonly string[]) {
    const folded = foldWords(words);
    const { units, ends } = folded;
    this.#folded = folded;
    this.#isShared = new Uint8Array(words.length);
    this.lengths = new Uint16Array(words.length);
    const isUsed = new Uint8Array(0x10000);
    const codes: number[] = [];
    for (let id = 0, at = 0; id < words.length; id++) {
      this.lengths[id] = (ends[id] as number) - at;
      for (; at < (ends[id] as number); at++) {
        const unit = units[at] as number;
        if (isUsed[unit] === 0) codes.push(unit);
        isUsed[unit] = 1;
        if (unit < FIRST_PLAIN || unit > LAST_PLAIN) this.#isShared[id] = 1;
      }
    }
    const plain = codes.filter((code) => code < FIRST_SHARED);
    this.classes = plain.length + 1 + SHARED_CLASSES;
    const classFor = new Uint8Array(0x10000).fill(OTHER);
    for (const code of codes) {
      classFor[code] = code < FIRST_SHARED ? plain.indexOf(code) + 1 : plain.length + 1 + (code % SHARED_CLASSES);
    }
    this.classOf = new Uint8Array(0x10000);
    for (let code = 0; code < 0x10000; code++) this.classOf[code] = classFor[FOLD[code] as number] as number;
    const { next, output, firstAccepting } = buildTransitions(new Trie(folded, classFor), this.classes);
    this.next = next;
    this.output = output;
    this.firstAccepting = firstAccepting;
  }

  /** Reports whether the word `id` really ends at `end`. Only words of other scripts can be mistaken. */
  confirms(id: number, text: string, end: number): boolean {
    if (this.#isShared[id] === 0) return true;
    const { units, ends } = this.#folded;
    for (let i = 1; i <= (this.lengths[id] as number); i++) {
      if (FOLD[text.charCodeAt(end - i)] !== units[(ends[id] as number) - i]) return false;
    }
    return true;
  }
}

/** The words as a tree: states by number, the root is 0. A state's children are a linked list; 0 ends it. */
class Trie {
  readonly firstChild: Uint16Array;
  readonly nextSibling: Uint16Array;
  /** Class of the transition that leads to each state. */
  readonly classInto: Uint8Array;
  /** Ids of the words that end in a state. */
  readonly ids: (number[] | undefined)[] = [undefined];

  /** `classFor`: class of each folded code unit. */
  constructor({ units, ends }: FoldedWords, classFor: Uint8Array) {
    const most = Math.min(units.length + 1, MAX_STATES);
    this.firstChild = new Uint16Array(most);
    this.nextSibling = new Uint16Array(most);
    this.classInto = new Uint8Array(most);
    for (let id = 0, at = 0; id < ends.length; id++) {
      let state = 0;
      for (; at < (ends[id] as number); at++) state = this.#child(state, classFor[units[at] as number] as number);
      this.ids[state] ??= [];
      (this.ids[state] as number[]).push(id);
    }
  }

  get states(): number {
    return this.ids.length;
  }

  #child(state: number, group: number): number {
    const { firstChild, nextSibling, classInto, ids } = this;
    let child = firstChild[state] as number;
    while (child !== 0 && classInto[child] !== group) child = nextSibling[child] as number;
    if (child !== 0) return child;
    const added = ids.length;
    if (added >= MAX_STATES) throw new Error("The anchor dictionary has more than 65,535 states.");
    ids.push(undefined);
    classInto[added] = group;
    nextSibling[added] = firstChild[state] as number;
    firstChild[state] = added;
    return added;
  }
}

/**
 * Returns the transitions, and the ids of each state. States are numbered breadth first, so that the rows of the first
 * letters, in which nearly every text stays, lie together in the cache. States in which words end are numbered from the
 * highest number down, so that one comparison identifies them.
 */
function buildTransitions({ firstChild, nextSibling, classInto, ids, states }: Trie, classes: number) {
  const next = new Uint16Array(states * classes);
  const output: (readonly number[] | undefined)[] = new Array(states).fill(undefined);
  /**
   * The states in the order in which they are met. Of each: its state in the trie, that of its longest proper suffix.
   */
  const order = new Uint16Array(states);
  const inTrie = new Uint16Array(states);
  const suffixOf = new Uint16Array(states);
  let nextPlain = 1;
  let firstAccepting = states;
  for (let turn = 0, met = 1; turn < met; turn++) {
    const state = order[turn] as number;
    const row = state * classes;
    const suffixRow = (suffixOf[state] as number) * classes;
    // A missing edge goes where the longest proper suffix would go; its row is complete, since it is shorter.
    if (state !== 0) next.copyWithin(row, suffixRow, suffixRow + classes);
    for (let child = firstChild[inTrie[state] as number] as number; child !== 0; child = nextSibling[child] as number) {
      const slot = row + (classInto[child] as number);
      const suffix = next[slot] as number;
      const own = ids[child];
      const inherited = output[suffix];
      const words = own && inherited ? [...own, ...inherited] : (own ?? inherited);
      const number = words ? --firstAccepting : nextPlain++;
      output[number] = words;
      inTrie[number] = child;
      suffixOf[number] = suffix;
      next[slot] = number;
      order[met++] = number;
    }
  }
  return { next, output, firstAccepting };
}

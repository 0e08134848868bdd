/** A set of many words, to look for one of them in a short text. A pattern with hundreds of alternatives is far slower. */
const LETTER = /\p{L}/u;
const BEGINNING = 2;

/** How a word must stand: anywhere, at the beginning of a word, or as a whole one. */
type Standing = "anywhere" | "beginning" | "whole";

interface Word {
  word: string;
  standing: Standing;
}

export class WordSet {
  /** By the first two code units of each word. */
  readonly #words = new Map<number, Word[]>();

  constructor(words: readonly string[], standingOf: (word: string) => Standing) {
    for (const written of words) {
      const word = written.toLowerCase();
      const entry = { word, standing: standingOf(word) };
      const known = this.#words.get(keyAt(word, 0));
      if (known === undefined) this.#words.set(keyAt(word, 0), [entry]);
      else known.push(entry);
    }
  }

  /** Whether one of the words is in `text`, in capitals or small letters. */
  isIn(text: string): boolean {
    const said = text.toLowerCase();
    for (let at = 0; at < said.length; at++) {
      const words = this.#words.get(keyAt(said, at));
      if (words?.some((one) => stands(said, at, one))) return true;
      const single = this.#words.get(said.charCodeAt(at) * UNITS);
      if (single?.some((one) => stands(said, at, one))) return true;
    }
    return false;
  }
}

const UNITS = 0x10000;
/** A word of one code unit has a key of its own. */
const keyAt = (text: string, at: number): number =>
  text.charCodeAt(at) * UNITS + (text.length - at < BEGINNING ? 0 : text.charCodeAt(at + 1));

function stands(text: string, at: number, { word, standing }: Word): boolean {
  if (!text.startsWith(word, at)) return false;
  if (standing === "anywhere") return true;
  if (at > 0 && LETTER.test(text[at - 1] as string)) return false;
  return standing === "beginning" || !LETTER.test(text[at + word.length] ?? " ");
}

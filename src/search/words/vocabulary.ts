import { stemmer } from "stemmer";
import { grow } from "../index/growable.ts";
import { hashOf } from "./fnv.ts";
import { lowerAscii, SpellingTable } from "./spelling-table.ts";
import { STOP_WORDS } from "./stop-words.ts";

/** Stands for "no such number": a word that the model lacks, a form that was never seen. */
export const NONE = -1;

/** Approximate memory of a JavaScript string in a `Map`, without its characters. */
const STRING_OVERHEAD_BYTES = 72;

const STEMMABLE = /^[a-z]{3,}$/;

/** Returns the row of a word in a table of word vectors, or `NONE`. */
export type RowFinder = (word: string) => number;

/**
 * The words of one agent. A **form** is a token as written; forms with the same stem share a **term**,
 * which BM25 counts. Agents share nothing here, so neither the numbers nor the frequencies of one agent
 * show in another.
 */
export class Vocabulary {
  readonly #forms = new SpellingTable();
  readonly #terms = new Map<string, number>();
  readonly #findRow: RowFinder;
  #characters = 0;
  /** form → term. */
  #termOf = new Uint32Array(0);
  /** form → row of the model, or `NONE`. */
  #rowOf = new Int32Array(0);
  /** Forms that the model knows, and their rows, in parallel. */
  #knownForms = new Uint32Array(0);
  #knownRows = new Int32Array(0);
  #known = 0;
  /** form → 1 for a stop word. */
  #stops = new Uint8Array(0);
  /** form → how many passages hold it. */
  #uses = new Uint32Array(0);
  /** form → the next form of the same term, or `NONE`; with `#firstForm` a list per term. */
  #nextForm = new Int32Array(0);
  #firstForm = new Int32Array(0);
  /** term → how many passages hold it: its document frequency. */
  #frequency = new Uint32Array(0);

  constructor(findRow: RowFinder) {
    this.#findRow = findRow;
  }

  get formCount(): number {
    return this.#forms.size;
  }

  get termCount(): number {
    return this.#terms.size;
  }

  get memoryBytes(): number {
    const arrays = [
      this.#termOf,
      this.#rowOf,
      this.#knownForms,
      this.#knownRows,
      this.#stops,
      this.#uses,
      this.#nextForm,
      this.#firstForm,
      this.#frequency,
    ];
    const strings = (this.#forms.size + this.#terms.size) * STRING_OVERHEAD_BYTES + this.#characters * 2;
    return arrays.reduce((sum, array) => sum + array.byteLength, strings + this.#forms.byteLength);
  }

  /** Returns the number of a form, which is added when it is new. */
  intern(token: string): number {
    const hash = hashOf(token);
    const form = this.#forms.find(token, hash);
    return form === NONE ? this.#add(token, hash) : form;
  }

  /**
   * The same for a part of an ASCII text in lower case, with its hash for `SpellingTable`. The spelling of a
   * new form is a copy, so that no word keeps its text in memory.
   */
  internLower(text: string, from: number, to: number, hash: number): number {
    const form = this.#forms.findLower(text, from, to, hash);
    return form === NONE ? this.#add(copyLower(text, from, to), hash) : form;
  }

  /** Returns the rows of the model for some forms. */
  rowsOf(forms: Uint32Array): Int32Array {
    const rows = new Int32Array(forms.length);
    for (let i = 0; i < rows.length; i++) rows[i] = this.#rowOf[forms[i] as number] as number;
    return rows;
  }

  /** Returns the number of the term with this stem, or `NONE`. */
  findTerm(stem: string): number {
    return this.#terms.get(stem) ?? NONE;
  }

  termOf(form: number): number {
    return this.#termOf[form] as number;
  }

  rowOf(form: number): number {
    return this.#rowOf[form] as number;
  }

  isStopWord(form: number): boolean {
    return this.#stops[form] === 1;
  }

  spelling(form: number): string {
    return this.#forms.spelling(form);
  }

  /** The forms that the model knows, used or not, and their rows. */
  get known(): { forms: Uint32Array; rows: Int32Array } {
    return { forms: this.#knownForms.subarray(0, this.#known), rows: this.#knownRows.subarray(0, this.#known) };
  }

  /** Reports whether a live entry holds the form. */
  isUsed(form: number): boolean {
    return (this.#uses[form] as number) > 0;
  }

  /** Returns how many passages hold the term. */
  frequency(term: number): number {
    return this.#frequency[term] as number;
  }

  /** Calls `visit` with every form of a term. */
  eachForm(term: number, visit: (form: number) => void): void {
    for (let form = this.#firstForm[term] as number; form !== NONE; form = this.#nextForm[form] as number) visit(form);
  }

  /** Adds a passage to (`by` 1) or removes one from (`by` -1) the count of a form. */
  countForm(form: number, by: 1 | -1): void {
    this.#uses[form] = (this.#uses[form] as number) + by;
  }

  /** The same for a term. */
  countTerm(term: number, by: 1 | -1): void {
    this.#frequency[term] = (this.#frequency[term] as number) + by;
  }

  #add(token: string, hash: number): number {
    const form = this.#forms.add(token, hash);
    const term = this.#internTerm(stemOf(token));
    this.#characters += token.length;
    this.#termOf = grow(this.#termOf, form + 1);
    this.#rowOf = grow(this.#rowOf, form + 1);
    this.#uses = grow(this.#uses, form + 1);
    this.#nextForm = grow(this.#nextForm, form + 1);
    this.#stops = grow(this.#stops, form + 1);
    this.#stops[form] = STOP_WORDS.has(token) ? 1 : 0;
    this.#termOf[form] = term;
    const row = this.#findRow(token);
    this.#rowOf[form] = row;
    if (row !== NONE) this.#addKnown(form, row);
    this.#nextForm[form] = this.#firstForm[term] as number;
    this.#firstForm[term] = form;
    return form;
  }

  #addKnown(form: number, row: number): void {
    this.#knownForms = grow(this.#knownForms, this.#known + 1);
    this.#knownRows = grow(this.#knownRows, this.#known + 1);
    this.#knownForms[this.#known] = form;
    this.#knownRows[this.#known] = row;
    this.#known++;
  }

  #internTerm(stem: string): number {
    const known = this.#terms.get(stem);
    if (known !== undefined) return known;
    const term = this.#terms.size;
    this.#terms.set(stem, term);
    this.#characters += stem.length;
    this.#firstForm = grow(this.#firstForm, term + 1);
    this.#frequency = grow(this.#frequency, term + 1);
    this.#firstForm[term] = NONE;
    return term;
  }
}

/** Returns Porter's stem of a word of Latin letters. Any other token is its own stem. */
export function stemOf(token: string): string {
  return STEMMABLE.test(token) ? stemmer(token) : token;
}

function copyLower(text: string, from: number, to: number): string {
  const units = Array.from({ length: to - from }, (_, i) => lowerAscii(text.charCodeAt(from + i)));
  return String.fromCharCode(...units);
}

import { stemmer } from "stemmer";
import { hashOf } from "../../fnv.ts";
import { bytesOf, growColumns } from "../index/growable.ts";
import { isHangul, withoutParticles } from "./particles.ts";
import { lowerAscii, SpellingTable } from "./spelling-table.ts";
import { STOP_WORDS } from "./stop-words.ts";

/** Stands for "no such number": a word that the model lacks, a form that was never seen. */
export const NONE = -1;

/** Approximate memory of a JavaScript string in a `Map`, without its characters. */
const STRING_OVERHEAD_BYTES = 72;

const STEMMABLE = /^[a-z]{3,}$/;

/**
 * The words of one agent. A **form** is a token as written; forms with the same stem share a **term**, which BM25
 * counts. Agents share nothing here, so neither the numbers nor the frequencies of one agent show in another.
 */
export class Vocabulary {
  readonly #forms = new SpellingTable();
  readonly #terms = new Map<string, number>();
  #characters = 0;
  /** The columns of the forms. */
  readonly #formColumns = {
    term: new Uint32Array(0),
    /** Its row of the model, or `NONE`. */
    row: new Int32Array(0),
    /** 1 for a stop word. */
    stop: new Uint8Array(0),
    /** How many passages hold it. */
    uses: new Uint32Array(0),
    /** The next form of the same term, or `NONE`. */
    next: new Int32Array(0),
  };
  /** The columns of the terms. */
  readonly #termColumns = {
    /** The first in the list of its forms. */
    form: new Int32Array(0),
    /** How many passages hold it: its document frequency. */
    frequency: new Uint32Array(0),
  };
  /** Forms that the model knows, and their rows. */
  readonly #knownColumns = { form: new Uint32Array(0), row: new Int32Array(0) };
  #known = 0;

  /** `findRow` returns the row of a word in a table of word vectors, or `NONE`. */
  constructor(private readonly findRow: (word: string) => number) {}

  get formCount(): number {
    return this.#forms.size;
  }

  get termCount(): number {
    return this.#terms.size;
  }

  get memoryBytes(): number {
    const columns = bytesOf(this.#formColumns) + bytesOf(this.#termColumns) + bytesOf(this.#knownColumns);
    const strings = (this.#forms.size + this.#terms.size) * STRING_OVERHEAD_BYTES + this.#characters * 2;
    return columns + strings + this.#forms.byteLength;
  }

  /** Returns the number of a form, which is added when it is new. */
  intern(token: string): number {
    return this.internLower(token, 0, token.length, hashOf(token));
  }

  /**
   * The same for a part of an ASCII text in lower case, with its hash for `SpellingTable`. The spelling of a
   * new form is a copy, so that no word keeps its text in memory.
   */
  internLower(text: string, from: number, to: number, hash: number): number {
    const form = this.#forms.find(text, from, to, hash);
    return form === NONE ? this.#add(copyLower(text, from, to), hash) : form;
  }

  /** Returns the rows of the model for some forms. */
  rowsOf(forms: Uint32Array): Int32Array {
    const rows = new Int32Array(forms.length);
    for (let i = 0; i < rows.length; i++) rows[i] = this.rowOf(forms[i] as number);
    return rows;
  }

  /** Returns the number of the term with this stem, or `NONE`. */
  findTerm(stem: string): number {
    return this.#terms.get(stem) ?? NONE;
  }

  termOf(form: number): number {
    return this.#formColumns.term[form] as number;
  }

  rowOf(form: number): number {
    return this.#formColumns.row[form] as number;
  }

  isStopWord(form: number): boolean {
    return this.#formColumns.stop[form] === 1;
  }

  spelling(form: number): string {
    return this.#forms.spelling(form);
  }

  /** The forms that the model knows, used or not, and their rows. */
  get known(): { forms: Uint32Array; rows: Int32Array } {
    const { form, row } = this.#knownColumns;
    return { forms: form.subarray(0, this.#known), rows: row.subarray(0, this.#known) };
  }

  /** Reports whether a live entry holds the form. */
  isUsed(form: number): boolean {
    return (this.#formColumns.uses[form] as number) > 0;
  }

  /** Returns how many passages hold the term. */
  frequency(term: number): number {
    return this.#termColumns.frequency[term] as number;
  }

  /** Calls `visit` with every form of a term. */
  eachForm(term: number, visit: (form: number) => void): void {
    const { next } = this.#formColumns;
    for (let form = this.#termColumns.form[term] as number; form !== NONE; form = next[form] as number) visit(form);
  }

  /** Adds a passage to (`by` 1) or removes one from (`by` -1) the count of a form. */
  countForm(form: number, by: 1 | -1): void {
    const { uses } = this.#formColumns;
    uses[form] = (uses[form] as number) + by;
  }

  /** The same for a term. */
  countTerm(term: number, by: 1 | -1): void {
    const { frequency } = this.#termColumns;
    frequency[term] = (frequency[term] as number) + by;
  }

  #add(token: string, hash: number): number {
    const form = this.#forms.add(token, hash);
    const term = this.#internTerm(stemOf(token));
    const row = this.findRow(token);
    this.#characters += token.length;
    const columns = this.#formColumns;
    growColumns(columns, form + 1);
    columns.term[form] = term;
    columns.row[form] = row;
    columns.stop[form] = STOP_WORDS.has(token) ? 1 : 0;
    columns.next[form] = this.#termColumns.form[term] as number;
    this.#termColumns.form[term] = form;
    if (row !== NONE) {
      growColumns(this.#knownColumns, this.#known + 1);
      this.#knownColumns.form[this.#known] = form;
      this.#knownColumns.row[this.#known] = row;
      this.#known++;
    }
    return form;
  }

  #internTerm(stem: string): number {
    const known = this.#terms.get(stem);
    if (known !== undefined) return known;
    const term = this.#terms.size;
    this.#terms.set(stem, term);
    this.#characters += stem.length;
    growColumns(this.#termColumns, term + 1);
    this.#termColumns.form[term] = NONE;
    return term;
  }
}

/** Returns Porter's stem of a word of Latin letters, and a Korean word without particles. Any other token is its own stem. */
export function stemOf(token: string): string {
  if (STEMMABLE.test(token)) return stemmer(token);
  return isHangul(token) ? withoutParticles(token) : token;
}

function copyLower(text: string, from: number, to: number): string {
  const units = Array.from({ length: to - from }, (_, i) => lowerAscii(text.charCodeAt(from + i)));
  return String.fromCharCode(...units);
}

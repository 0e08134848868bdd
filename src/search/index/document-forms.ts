import { appendForms } from "../words/text-forms.ts";
import type { Vocabulary } from "../words/vocabulary.ts";
import { metadataStrings, type SearchDocument } from "./document.ts";
import { FormList } from "./form-list.ts";

/** The tokens of an entry as forms of the vocabulary, field by field. */
export interface DocumentForms {
  key: Uint32Array;
  value: Uint32Array;
  metadata: Uint32Array;
}

/** Words of a key that say something; its numbers and letters are only for exact matching. */
const KEY_WORD = /^\p{L}{3,}$/u;

/** Turns entries into forms, in memory that it keeps from one to the next. */
export class DocumentReader {
  readonly #key = new FormList();
  readonly #value = new FormList();
  readonly #metadata = new FormList();

  /** The forms of an entry, valid until the next call. */
  read({ key, value, metadata }: SearchDocument, vocabulary: Vocabulary): DocumentForms {
    for (const list of [this.#key, this.#value, this.#metadata]) list.clear();
    appendForms(value, vocabulary, this.#value);
    if (metadata !== undefined) {
      for (const text of metadataStrings(metadata)) appendForms(text, vocabulary, this.#metadata);
    }
    appendForms(key, vocabulary, this.#key);
    return { key: this.#key.view(), value: this.#value.view(), metadata: this.#metadata.view() };
  }
}

/** The rows of the model that say what the key and the metadata of an entry mean. */
export function headerRows({ key, metadata }: DocumentForms, vocabulary: Vocabulary): Int32Array {
  const words = key.filter((form) => KEY_WORD.test(vocabulary.spelling(form)));
  const rows = new Int32Array(words.length + metadata.length);
  rows.set(vocabulary.rowsOf(words));
  rows.set(vocabulary.rowsOf(metadata), words.length);
  return rows;
}

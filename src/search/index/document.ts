/** The searched parts of an entry: its tokens, its passages, and the texts for embedding models. */
import { appendForms } from "../words/text-forms.ts";
import type { Vocabulary } from "../words/vocabulary.ts";
import { FormList } from "./growable.ts";

/** The searched parts of an entry. */
export interface SearchDocument {
  key: string;
  value: string;
  /** Its strings are searched, at any depth; its names and numbers are not. */
  metadata?: unknown;
}

/** Tokens of a value in one passage. Values of ordinary length are a single passage. */
const PASSAGE_TOKENS = 256;
/** Tokens that a passage shares with the previous one, so that no phrase is split. */
const PASSAGE_OVERLAP = 32;
/** Tokens of the metadata in every passage. Longer metadata also gets its own passages. */
export const HEADER_METADATA_TOKENS = 48;
/** Strings nested deeper are ignored. The API accepts no deeper metadata. */
const MAX_METADATA_DEPTH = 64;

/** Returns the strings of a metadata object, depth first. */
export function metadataStrings(metadata: unknown, into: string[] = [], depth = 0): string[] {
  if (typeof metadata === "string") into.push(metadata);
  else if (typeof metadata === "object" && metadata !== null && depth < MAX_METADATA_DEPTH) {
    for (const member of Object.values(metadata)) metadataStrings(member, into, depth + 1);
  }
  return into;
}

/** Splits tokens into overlapping ranges of `PASSAGE_TOKENS`: at least one, which may be empty. */
export function passageSpans(length: number): [start: number, end: number][] {
  const spans: [number, number][] = [];
  let start = 0;
  while (true) {
    const end = Math.min(length, start + PASSAGE_TOKENS);
    spans.push([start, end]);
    if (end === length) return spans;
    start = end - PASSAGE_OVERLAP;
  }
}

/** Characters of one text for a model. Most models read this much (512 tokens) without cutting. */
const EMBEDDING_TEXT_CHARACTERS = 1600;
/**
 * The most texts of one entry, so that a value of 1 MiB cannot keep a model busy. The built-in vectors cover all of it.
 */
const MAX_EMBEDDING_TEXTS = 16;

/** Returns the texts of an entry for an external model: key and value, a long value in pieces. */
export function embeddingTexts({ key, value }: SearchDocument): string[] {
  const texts: string[] = [];
  for (let from = 0; from < value.length && texts.length < MAX_EMBEDDING_TEXTS; ) {
    const end = wordBoundary(value, from + EMBEDDING_TEXT_CHARACTERS);
    texts.push(value.slice(from, end));
    from = end;
  }
  return [`${key}\n${texts[0] ?? ""}`, ...texts.slice(1)];
}

/** How many characters shorter a piece may be, to end between words. */
const BOUNDARY_CHARACTERS = 100;

/** Returns where to cut a text: after white space if possible, never inside a surrogate pair. */
function wordBoundary(text: string, end: number): number {
  if (end >= text.length) return text.length;
  const tail = text.slice(end - BOUNDARY_CHARACTERS, end);
  const space = tail.search(/\s\S*$/);
  if (space >= 0) return end - BOUNDARY_CHARACTERS + space + 1;
  return /[\ud800-\udbff]$/.test(tail) ? end - 1 : end;
}

/** The tokens of an entry as forms of the vocabulary, by field. */
export interface DocumentForms {
  key: Uint32Array;
  value: Uint32Array;
  metadata: Uint32Array;
}

/** Words of a key that have a meaning. Its numbers and single letters only match exactly. */
const KEY_WORD = /^\p{L}{3,}$/u;

// Reused from entry to entry.
const lists = { key: new FormList(), value: new FormList(), metadata: new FormList() };

/** Returns the forms of an entry, valid until the next call. */
export function documentForms({ key, value, metadata }: SearchDocument, vocabulary: Vocabulary): DocumentForms {
  for (const list of Object.values(lists)) list.clear();
  appendForms(value, vocabulary, lists.value);
  for (const text of metadataStrings(metadata)) appendForms(text, vocabulary, lists.metadata);
  appendForms(key, vocabulary, lists.key);
  return { key: lists.key.view(), value: lists.value.view(), metadata: lists.metadata.view() };
}

/** Returns the rows of the model for the key and the metadata of an entry. */
export function headerRows({ key, metadata }: DocumentForms, vocabulary: Vocabulary): Int32Array {
  const words = key.filter((form) => KEY_WORD.test(vocabulary.spelling(form)));
  const rows = new Int32Array(words.length + metadata.length);
  rows.set(vocabulary.rowsOf(words));
  rows.set(vocabulary.rowsOf(metadata), words.length);
  return rows;
}

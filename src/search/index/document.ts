import { tokenize } from "../words/tokenize.ts";

/** What of an entry is searched. */
export interface SearchDocument {
  key: string;
  value: string;
  /** Every string in it counts, at any depth; its names and numbers do not. */
  metadata?: unknown;
}

/** One unit of BM25: a stretch of the value with the entry's header, tokens beside their weights. */
export interface Passage {
  tokens: readonly string[];
  /** How many of the tokens, from the beginning, belong to the header (key and metadata). */
  headerLength: number;
  /** How much of the header is the key. */
  keyLength: number;
}

/** Tokens of a value in one passage. Values of ordinary length are a single passage. */
export const PASSAGE_TOKENS = 256;
/** Tokens that a passage shares with the one before it, so that no phrase is cut in two. */
export const PASSAGE_OVERLAP = 32;
/** Tokens of the metadata that count with every passage; a longer metadata counts as passages of its own too. */
export const HEADER_METADATA_TOKENS = 48;
/** Strings nested deeper than any metadata that the API accepts are not looked for. */
const MAX_METADATA_DEPTH = 64;

/** The strings of a metadata object, depth first. */
export function metadataStrings(metadata: unknown, into: string[] = [], depth = 0): string[] {
  if (typeof metadata === "string") into.push(metadata);
  else if (typeof metadata === "object" && metadata !== null && depth < MAX_METADATA_DEPTH) {
    for (const member of Object.values(metadata)) metadataStrings(member, into, depth + 1);
  }
  return into;
}

/** The tokens of an entry, field by field. */
export interface DocumentTokens {
  key: string[];
  value: string[];
  metadata: string[];
}

export function documentTokens(document: SearchDocument): DocumentTokens {
  const strings = document.metadata === undefined ? [] : metadataStrings(document.metadata);
  return {
    key: tokenize(document.key),
    value: tokenize(document.value),
    metadata: strings.length === 0 ? [] : strings.flatMap((text) => tokenize(text)),
  };
}

/** Cuts tokens into stretches of `PASSAGE_TOKENS` that overlap; always at least one, maybe empty. */
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

/** Characters of one text for a model: what most of them read without cutting (512 tokens). */
const EMBEDDING_TEXT_CHARACTERS = 1600;
/** Texts of one entry at most, so that a value of 1 MiB cannot keep a model busy; the built-in vectors cover it all. */
const MAX_EMBEDDING_TEXTS = 16;

/** The texts by which a model outside is to see an entry: key and value, a long value in pieces. */
export function embeddingTexts({ key, value }: SearchDocument): string[] {
  const texts: string[] = [];
  for (let from = 0; from < value.length && texts.length < MAX_EMBEDDING_TEXTS; ) {
    const end = wordBoundary(value, from + EMBEDDING_TEXT_CHARACTERS);
    texts.push(value.slice(from, end));
    from = end;
  }
  return [`${key}\n${texts[0] ?? ""}`, ...texts.slice(1)];
}

/** How far back a piece may end before its full length, to end between words. */
const BOUNDARY_CHARACTERS = 100;

/** Where to cut a text: behind white space if there is some, never inside a surrogate pair. */
function wordBoundary(text: string, end: number): number {
  if (end >= text.length) return text.length;
  const tail = text.slice(end - BOUNDARY_CHARACTERS, end);
  const space = tail.search(/\s\S*$/);
  if (space >= 0) return end - BOUNDARY_CHARACTERS + space + 1;
  return /[\ud800-\udbff]$/.test(tail) ? end - 1 : end;
}

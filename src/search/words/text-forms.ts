import { HASH_START, hashUnit } from "../../fnv.ts";
import type { FormList } from "../index/growable.ts";
import { isAscii } from "./fold.ts";
import { lowerAscii } from "./spelling-table.ts";
import { appendChunk, MAX_TOKEN_LENGTH, shorten, tokenize } from "./tokenize.ts";
import type { Vocabulary } from "./vocabulary.ts";

/** The kinds of ASCII characters. Those from `DIGIT` make words. */
const OTHER = 0;
const CONNECTOR = 1;
const COMMA = 2;
const APOSTROPHE = 3;
const DIGIT = 4;
const LOWER = 5;
const UPPER = 6;

const KINDS = Uint8Array.from({ length: 128 }, (_, unit) => {
  const character = String.fromCharCode(unit);
  if (/[a-z]/.test(character)) return LOWER;
  if (/[A-Z]/.test(character)) return UPPER;
  if (/[0-9]/.test(character)) return DIGIT;
  if (character === "'") return APOSTROPHE;
  if (character === ",") return COMMA;
  return /[._\-/:@#+\\&]/.test(character) ? CONNECTOR : OTHER;
});

/**
 * Appends the forms of the tokens of `tokenize` for a text, in the same order. Plain words and identifiers of an ASCII
 * text, by far the most common, are looked up in place; everything else uses the functions of `tokenize`.
 */
export function appendForms(text: string, vocabulary: Vocabulary, into: FormList): void {
  if (!isAscii(text)) {
    for (const token of tokenize(text)) into.push(vocabulary.intern(token));
    return;
  }
  const { length } = text;
  for (let at = 0; at < length; ) {
    if (kindAt(text, at) < DIGIT) {
      at++;
      continue;
    }
    const end = chunkEnd(text, at);
    appendChunkForms(text, at, end, vocabulary, into);
    appendMarked(text, at, end, vocabulary, into);
    at = end;
  }
}

const FULL_STOP = 46;
const PLUS = 43;
const HASH = 35;

/** Appends a chunk with the punctuation before and behind it that belongs to some names, as `tokenize` does. */
function appendMarked(text: string, from: number, to: number, vocabulary: Vocabulary, into: FormList): void {
  const isDotted =
    from > 0 &&
    text.charCodeAt(from - 1) === FULL_STOP &&
    kindAt(text, from) > DIGIT &&
    from + 1 < text.length &&
    kindAt(text, from + 1) > DIGIT &&
    (from === 1 || (kindAt(text, from - 2) < DIGIT && text.charCodeAt(from - 2) !== FULL_STOP));
  const next = text.charCodeAt(to);
  const behind = next === HASH ? 1 : next === PLUS && text.charCodeAt(to + 1) === PLUS ? 2 : 0;
  if (!isDotted && behind === 0) return;
  const marked = text.slice(isDotted ? from - 1 : from, to + behind).toLowerCase();
  into.push(vocabulary.intern(shorten(marked)));
}

function kindAt(text: string, at: number): number {
  return KINDS[text.charCodeAt(at)] as number;
}

/** Returns the end of the run of letters and digits that begins here. */
function runEnd(text: string, from: number): number {
  let at = from;
  while (at < text.length && kindAt(text, at) >= DIGIT) at++;
  return at;
}

/** Returns the end of the chunk that begins here: `ASCII_WORDS` of `tokenize`. */
function chunkEnd(text: string, from: number): number {
  let end = runEnd(text, from);
  while (true) {
    const next = connectorsEnd(text, end);
    if (next === end || next >= text.length || kindAt(text, next) < DIGIT) return end;
    end = runEnd(text, next);
  }
}

/** Returns the end of the punctuation that a chunk can contain. A comma counts only before a digit. */
function connectorsEnd(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const kind = kindAt(text, at);
    if (kind === CONNECTOR || kind === APOSTROPHE) continue;
    if (kind !== COMMA || at + 1 === text.length || kindAt(text, at + 1) !== DIGIT) return at;
  }
  return text.length;
}

/** The shapes of chunks. */
const HARD = 0;
const WORD = 1;
const HYPHENATED = 2;
const IDENTIFIER = 3;

function appendChunkForms(text: string, from: number, to: number, vocabulary: Vocabulary, into: FormList) {
  const shape = to - from > MAX_TOKEN_LENGTH ? HARD : shapeOf(text, from, to);
  if (shape === HARD) {
    const tokens: string[] = [];
    appendChunk(text.slice(from, to), tokens);
    for (const token of tokens) into.push(vocabulary.intern(token));
    return;
  }
  let hash = HASH_START;
  let pieceHash = HASH_START;
  let piece = from;
  for (let at = from; at < to; at++) {
    const unit = text.charCodeAt(at);
    const lower = lowerAscii(unit);
    hash = hashUnit(hash, lower);
    if ((KINDS[unit] as number) >= DIGIT) {
      pieceHash = hashUnit(pieceHash, lower);
      continue;
    }
    if (piece < at) into.push(vocabulary.internLower(text, piece, at, pieceHash));
    piece = at + 1;
    pieceHash = HASH_START;
  }
  into.push(vocabulary.internLower(text, piece, to, pieceHash));
  if (shape === IDENTIFIER) into.push(vocabulary.internLower(text, from, to, hash));
}

/**
 * Returns the shape of a chunk. `appendChunk` must split a `HARD` one: it has a change of case or from letters to
 * digits inside a piece, an apostrophe or a comma. Hyphenated words are joined by single hyphens or ampersands.
 */
function shapeOf(text: string, from: number, to: number): number {
  let shape = WORD;
  // A chunk ends with a run of letters and digits.
  for (let at = from; ; ) {
    const end = runEnd(text, at);
    const pieceKind = plainKind(text, at, end);
    if (pieceKind === OTHER) return HARD;
    if (end === to) return shape === WORD || (shape === HYPHENATED && pieceKind !== DIGIT) ? shape : IDENTIFIER;
    const next = connectorsEnd(text, end);
    for (let i = end; i < next; i++) if (kindAt(text, i) !== CONNECTOR) return HARD;
    const joiner = text.charCodeAt(end);
    const hyphen = next === end + 1 && (joiner === 45 || joiner === 38) && pieceKind !== DIGIT;
    shape = hyphen && shape !== IDENTIFIER ? HYPHENATED : IDENTIFIER;
    at = next;
  }
}

/** Returns `DIGIT` or `LOWER` for a plain number or word (`PLAIN` of `tokenize`), else `OTHER`. */
function plainKind(text: string, from: number, to: number): number {
  const first = kindAt(text, from);
  let kind = first;
  for (let at = from + 1; at < to; at++) {
    const next = kindAt(text, at);
    if (next === kind) continue;
    // Only small letters may follow, and only after a single capital.
    if (kind !== UPPER || next !== LOWER || at !== from + 1) return OTHER;
    kind = LOWER;
  }
  return kind === DIGIT ? DIGIT : LOWER;
}

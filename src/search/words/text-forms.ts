import type { FormList } from "../index/form-list.ts";
import { HASH_START, hashUnit } from "./fnv.ts";
import { isAscii } from "./fold.ts";
import { lowerAscii } from "./spelling-table.ts";
import { appendChunk, MAX_TOKEN_LENGTH, tokenize } from "./tokenize.ts";
import type { Vocabulary } from "./vocabulary.ts";

/** What an ASCII character is to the tokenizer. The digit is the lowest of those that make words. */
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
 * Appends the forms of a text: those of the tokens of `tokenize`, in the same order. Plain words and
 * identifiers of an ASCII text, by far the most common, are looked up where they stand; whatever is
 * harder goes through `tokenize`'s own functions.
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
    at = end;
  }
}

function kindAt(text: string, at: number): number {
  return KINDS[text.charCodeAt(at)] as number;
}

/** Where the run of letters and digits that begins here ends. */
function runEnd(text: string, from: number): number {
  let at = from;
  while (at < text.length && kindAt(text, at) >= DIGIT) at++;
  return at;
}

/** Where the chunk that begins here ends: `ASCII_CHUNK` of `tokenize`. */
function chunkEnd(text: string, from: number): number {
  let end = runEnd(text, from);
  while (true) {
    const next = connectorsEnd(text, end);
    if (next === end || next >= text.length || kindAt(text, next) < DIGIT) return end;
    end = runEnd(text, next);
  }
}

/** Where the punctuation that can stand inside a chunk ends; a comma only counts before a digit. */
function connectorsEnd(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const kind = kindAt(text, at);
    if (kind === CONNECTOR || kind === APOSTROPHE) continue;
    if (kind !== COMMA || at + 1 === text.length || kindAt(text, at + 1) !== DIGIT) return at;
  }
  return text.length;
}

/** What a chunk is made of. */
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
 * Tells what a chunk is. `HARD` is what `appendChunk` must take apart: a change of case or from letters
 * to digits inside a piece, an apostrophe, a comma. Hyphenated words are those joined by single hyphens
 * or ampersands.
 */
function shapeOf(text: string, from: number, to: number): number {
  let shape = WORD;
  // A chunk ends with a run of letters and digits.
  for (let at = from; ; ) {
    const end = runEnd(text, at);
    const pieceKind = plainKind(text, at, end);
    if (pieceKind === OTHER) return HARD;
    if (end === to)
      return shape === WORD || (shape === HYPHENATED && pieceKind !== DIGIT) ? shape : IDENTIFIER;
    const next = connectorsEnd(text, end);
    for (let i = end; i < next; i++) if (kindAt(text, i) !== CONNECTOR) return HARD;
    const joiner = text.charCodeAt(end);
    const hyphen = next === end + 1 && (joiner === 45 || joiner === 38) && pieceKind !== DIGIT;
    shape = hyphen && shape !== IDENTIFIER ? HYPHENATED : IDENTIFIER;
    at = next;
  }
}

/** `DIGIT` or `LOWER` for a plain number or word (`PLAIN` of `tokenize`), `OTHER` for anything else. */
function plainKind(text: string, from: number, to: number): number {
  const first = kindAt(text, from);
  let kind = first;
  for (let at = from + 1; at < to; at++) {
    const next = kindAt(text, at);
    if (next === kind) continue;
    // Only a single capital may be followed by something else: small letters.
    if (kind !== UPPER || next !== LOWER || at !== from + 1) return OTHER;
    kind = LOWER;
  }
  return kind === DIGIT ? DIGIT : LOWER;
}

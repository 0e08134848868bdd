import { foldAccents, foldCase, isAscii } from "./fold.ts";
import { appendHangul, isParticle } from "./particles.ts";

/**
 * The number of this way to split texts and to find stems. Stored indexes of words that another number made are dropped.
 */
export const TOKENS_VERSION = "2";

/** A longer token (in UTF-16 code units) is replaced by its beginning and a hash of the whole. */
export const MAX_TOKEN_LENGTH = 64;
const KEPT_OF_LONG_TOKEN = 48;

/**
 * A word, or several joined by the punctuation of identifiers, paths, addresses and numbers. ASCII texts,
 * by far the most common, use the first pattern, which is faster.
 */
const ASCII_WORDS = /[A-Za-z0-9]+(?:(?:[._\-/:@#+\\'&]|,(?=\d))+[A-Za-z0-9]+)*/;
const WORDS = /[\p{L}\p{M}\p{N}]+(?:(?:[._\-/:@#+\\'’&]|,(?=\p{N}))+[\p{L}\p{M}\p{N}]+)*/u;

/** The punctuation that belongs to some names, before a word and behind it: `.NET`, `C++`, `C#`. */
const BEFORE = /(?:(?<![\p{L}\p{M}\p{N}.])\.(?=\p{L}{2}))?/u;
const BEHIND = /(?:\+\+|#(?!\u20e3))?/u;
const MARKS = /^\.|(?:\+\+|#)$/g;
/** Whether a text may have such names. The patterns with these marks are slower. */
const HAS_MARKS = /\+\+|#|(?<![A-Za-z0-9.])\.\p{L}/u;
const withMarks = ({ source }: RegExp): string => `${BEFORE.source}${source}${BEHIND.source}`;

const PICTURE = /\p{Extended_Pictographic}[\u{e0020}-\u{e007f}]*/u;
/**
 * A keycap (of a digit it is a word), a flag, an emoji with those that are joined to it, or another symbol
 * (`€`, `✓`, `→`). The fraction slash of a folded `½`, and the lines and blocks that draw tables, are left out.
 */
const SYMBOL = new RegExp(
  `[#*]\\u20e3|[\\u{1f1e6}-\\u{1f1ff}]{2}|(?:(?![\\0-\\x7f])${PICTURE.source})(?:\\u200d${PICTURE.source})*|(?![\\0-\\x7f\\u2044\\u2500-\\u259f])[\\p{So}\\p{Sc}\\p{Sm}]`,
  "u",
);
/** The chunks of a text, without marks and with them. */
const CHUNKS = {
  ascii: [new RegExp(ASCII_WORDS, "g"), new RegExp(withMarks(ASCII_WORDS), "gu")],
  unicode: [WORDS.source, withMarks(WORDS)].map((words) => new RegExp(`${words}|${SYMBOL.source}`, "gu")),
} as const;
const IS_SYMBOL = new RegExp(`^(?:${SYMBOL.source})$`, "u");

/** An ordinary word or number, of one case and one kind of character, which needs no splitting. */
const PLAIN = /^(?:[A-Z]?[a-z]+|[A-Z]+|[0-9]+)$/;
const PLAIN_UNICODE = /^(?:\p{L}?[\p{Ll}\p{Lo}\p{M}]+|\p{Lu}+|\p{N}+)$/u;

const CONNECTORS = /[._\-/:@#+\\'’&,]+/;
/** Runs of letters or digits inside a chunk without connectors, split at a change of case as in `parseIsoDuration`. */
const PARTS = /\p{Lu}+(?=\p{Lu}\p{Ll}{2})|\p{Lu}?[\p{Ll}\p{Lo}\p{M}]+|\p{Lu}+|\p{N}+/gu;
/** English endings after an apostrophe, which say nothing about the subject. */
const CLITIC = /^(.+?)(?:n['’]t|['’](?:s|t|d|m|ll|re|ve))$/i;
/** Words joined only by hyphens or apostrophes are ordinary language, not an identifier. */
const HYPHENATED = /^[\p{L}\p{M}]+(?:[-'’&][\p{L}\p{M}]+)*$/u;

/**
 * Splits a text into the tokens that search compares: words in lower case without accents, numbers,
 * and identifiers both whole and in parts (`ERR-1093` gives `err`, `1093`, `err-1093`; `parseIso`
 * gives `parse`, `iso`, `parseiso`; `C++` gives `c`, `c++`). Scripts without spaces are split by dictionary.
 * Emoji and other symbols are tokens. Tokens keep the order of the text, since windows of it are embedded.
 * `appendForms` does the same for an index.
 */
export function tokenize(text: string): string[] {
  const ascii = isAscii(text);
  const folded = ascii ? text : foldAccents(text);
  const tokens: string[] = [];
  const [plain, marked] = CHUNKS[ascii ? "ascii" : "unicode"] as [RegExp, RegExp];
  const isMarked = HAS_MARKS.test(folded);
  for (const found of folded.match(isMarked ? marked : plain) ?? []) {
    const chunk = isMarked && !IS_SYMBOL.test(found) ? found.replace(MARKS, "") : found;
    if (ascii ? PLAIN.test(chunk) : PLAIN_UNICODE.test(chunk) && !IS_SPLIT.test(chunk)) {
      tokens.push(shorten(ascii ? chunk.toLowerCase() : foldCase(chunk)));
    } else if (!ascii && IS_SYMBOL.test(chunk)) {
      tokens.push(chunk);
    } else {
      appendChunk(chunk, tokens);
    }
    if (chunk !== found) tokens.push(shorten(foldCase(found)));
  }
  return tokens;
}

/** Splits a chunk that is not a plain word. Its accents are folded, its case is not. */
export function appendChunk(chunk: string, into: string[]): void {
  const base = CLITIC.exec(chunk)?.[1] ?? chunk;
  if (isUnspaced(base)) {
    appendMixedScripts(base, into);
    return;
  }
  const before = into.length;
  for (const piece of base.split(CONNECTORS)) appendPiece(piece, into);
  const oneToken = into.length === before + 1;
  if (oneToken || !CONNECTORS.test(base)) return;
  if (!HYPHENATED.test(base)) into.push(shorten(foldCase(base.replaceAll(",", ""))));
  else if (/['’]/.test(base)) into.push(shorten(foldCase(base.replace(/['’]/g, ""))));
}

/** Appends a chunk without connectors: whole, and its runs of letters and digits when it has several. */
function appendPiece(piece: string, into: string[]): void {
  if (HANGUL_RUN.test(piece)) {
    appendBesideHangul(piece, into);
    return;
  }
  const parts = piece.match(PARTS) ?? [];
  if (parts.length > 1) {
    for (const part of parts) if (part.length > 1) into.push(shorten(foldCase(part)));
  }
  if (piece !== "") into.push(shorten(foldCase(piece)));
}

/** Appends the runs of Korean syllables of a chunk, and the text between them, of which they may be particles (`API를`). */
function appendBesideHangul(piece: string, into: string[]): void {
  const [first, ...others] = piece.split(HANGUL_RUN);
  if (first) appendPiece(first, into);
  others.forEach((run, i) => {
    if (i % 2 === 1 && run !== "") appendPiece(run, into);
    else if (i % 2 === 0 && !(first && isParticle(run))) appendHangul(shorten(run), into);
  });
}

/** Separates the runs of scripts without spaces from the text between them (`iPhoneを買う`). */
function appendMixedScripts(chunk: string, into: string[]): void {
  const runs = chunk.match(
    /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}\u30fc\p{M}]+|[^\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}\u30fc\p{M}]+/gu,
  );
  for (const run of runs ?? []) {
    if (isUnspaced(run)) appendSegments(run, into);
    else for (const piece of run.split(CONNECTORS)) appendPiece(piece, into);
  }
}

/** Shortens very long tokens (encoded blobs) so that equal texts stay equal. */
export function shorten(token: string): string {
  if (token.length <= MAX_TOKEN_LENGTH) return token;
  return `${token.slice(0, KEPT_OF_LONG_TOKEN)}~${Bun.hash.wyhash(token).toString(36)}`;
}

/** Korean syllables. */
const HANGUL_RUN = /(\p{sc=Hangul}+)/u;

/** Scripts without spaces between words. */
const UNSPACED_RUN =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}\u30fc]+/u;

/** Letters of scripts whose words are split further. */
const IS_SPLIT = new RegExp(`${HANGUL_RUN.source}|${UNSPACED_RUN.source}`, "u");

/** A Han word this long or longer is also indexed by its character pairs. */
const PAIRED_FROM = 3;
const HAN = /^\p{sc=Han}+$/u;

/** Boundaries by dictionary (ICU); the locale does not matter for these scripts. */
const segmenter = new Intl.Segmenter("und", { granularity: "word" });

/** Reports whether a word holds letters of a script without spaces. */
const isUnspaced = (word: string): boolean => UNSPACED_RUN.test(word);

/**
 * Appends the words of a run of Chinese, Japanese, Thai, Lao, Khmer or Burmese text. Chinese boundaries
 * depend on the whole sentence, so longer words are also indexed by their character pairs: a query that
 * is split differently still matches.
 */
function appendSegments(run: string, into: string[]): void {
  for (const { segment, isWordLike } of segmenter.segment(run)) {
    if (isWordLike !== true) continue;
    into.push(segment);
    if (segment.length >= PAIRED_FROM && HAN.test(segment)) {
      const characters = [...segment];
      for (let i = 0; i + 1 < characters.length; i++) into.push(`${characters[i]}${characters[i + 1]}`);
    }
  }
}

/** The words of a search in its results, by their stems, as the daemon compares them. */
import { stemmer } from "stemmer";

/** A part of a text. */
interface Matched {
  text: string;
  /** Whether it is a word of the search. */
  isMatch: boolean;
}

const WORD = /[\p{L}\p{N}]+/gu;

/** Shorter words of a search are in most texts. */
const SHORTEST = 3;

/** How much of a text is shown before the first match. */
const BEFORE = 40;

/** Words that carry no meaning in a search. */
const COMMON = new Set(
  "the and for are was were with that this from has have what when where who how which not you".split(" "),
);

const stem = (word: string): string => stemmer(word.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase());

/** Returns the stems of a search. */
export function stemsOf(search: string): ReadonlySet<string> {
  const words = search.match(WORD) ?? [];
  const telling = words.filter(
    (word) => /\p{N}/u.test(word) || (word.length >= SHORTEST && !COMMON.has(word.toLowerCase())),
  );
  // A search that consists only of such words is for them.
  return new Set((telling.length > 0 ? telling : words).map(stem));
}

/** Returns a text in parts, those that match apart. */
export function matched(text: string, stems: ReadonlySet<string>): Matched[] {
  const parts: Matched[] = [];
  let at = 0;
  for (const { 0: word, index } of text.matchAll(WORD)) {
    if (!stems.has(stem(word))) continue;
    if (index > at) parts.push({ text: text.slice(at, index), isMatch: false });
    parts.push({ text: word, isMatch: true });
    at = index + word.length;
  }
  if (at < text.length) parts.push({ text: text.slice(at), isMatch: false });
  return parts;
}

/** Returns a piece of a text that has its first match in it. */
export function excerpt(text: string, stems: ReadonlySet<string>, length: number): string {
  const first = Array.from(text.matchAll(WORD)).find(([word]) => stems.has(stem(word)));
  const from = Math.max(0, (first?.index ?? 0) - BEFORE);
  return `${from > 0 ? "…" : ""}${text.slice(from, from + length)}${from + length < text.length ? "…" : ""}`;
}

/** Returns the words of texts that match, each once. */
export function wordsIn(texts: readonly string[], stems: ReadonlySet<string>): string[] {
  const found = new Map<string, string>();
  for (const text of texts) {
    for (const word of text.match(WORD) ?? []) {
      const own = stem(word);
      if (stems.has(own) && !found.has(own)) found.set(own, word.toLowerCase());
    }
  }
  return [...found.values()];
}

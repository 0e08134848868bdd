/** Scripts that are written without spaces between words. */
const UNSPACED_RUN =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}\u30fc]+/u;

/** A Han word this long or longer is also indexed by its character pairs. */
const PAIRED_FROM = 3;
const HAN = /^\p{sc=Han}+$/u;

/** Boundaries by dictionary (ICU); the locale does not matter for these scripts. */
const segmenter = new Intl.Segmenter("und", { granularity: "word" });

/** Whether a word holds letters of a script that is written without spaces. */
export function isUnspaced(word: string): boolean {
  return UNSPACED_RUN.test(word);
}

/**
 * Appends the words of a run of Chinese, Japanese, Thai, Lao, Khmer or Burmese text. Where dictionary
 * boundaries depend on the sentence around them (Chinese), longer words count by their character
 * pairs too, so that a query cut differently from the entry still meets it.
 */
export function appendSegments(run: string, into: string[]): void {
  for (const { segment, isWordLike } of segmenter.segment(run)) {
    if (isWordLike !== true) continue;
    into.push(segment);
    if (segment.length >= PAIRED_FROM && HAN.test(segment)) {
      const characters = [...segment];
      for (let i = 0; i + 1 < characters.length; i++) into.push(`${characters[i]}${characters[i + 1]}`);
    }
  }
}

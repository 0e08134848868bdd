/** Letters that Unicode does not decompose but that people type with plain ones. */
const PLAIN_LETTERS: Readonly<Record<string, string>> = {
  ß: "ss",
  æ: "ae",
  œ: "oe",
  ø: "o",
  đ: "d",
  ð: "d",
  ł: "l",
  þ: "th",
  ı: "i",
};

/** Longest text that is matched against `ASCII` whole; beyond it the general path costs no more. */
const ASCII = /^[\0-\x7f]*$/;
const COMBINING = /[\u0300-\u036f]/g;
const UNDECOMPOSED = /[ßæœøđðłþı]/g;

/** Whether the text has nothing that folding could change, apart from its case. */
export function isAscii(text: string): boolean {
  return ASCII.test(text);
}

/**
 * Brings a text into the form in which search compares it, its case left alone: NFKC (so full-width
 * letters and ligatures match plain ones), accents removed. Only U+0300 to U+036F count as accents:
 * the vowel signs of Indic scripts and the Japanese voicing marks change the word itself.
 */
export function foldAccents(text: string): string {
  if (isAscii(text)) return text;
  return text.normalize("NFKD").replace(COMBINING, "").normalize("NFC");
}

/** Lower case, with the letters that have no decomposition (`ß`, `ø`, `ł` …) written plainly. */
export function foldCase(text: string): string {
  const lower = text.toLowerCase();
  return isAscii(lower)
    ? lower
    : lower.replace(COMBINING, "").replace(UNDECOMPOSED, (c) => PLAIN_LETTERS[c] ?? c);
}

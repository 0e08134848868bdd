import letters from "./plain-letters.txt" with { type: "text" };

/** Letters that Unicode does not decompose but that people type as plain ones. */
const PLAIN_LETTERS: ReadonlyMap<string, string> = new Map(
  letters
    .trim()
    .split("\n")
    .map((line) => line.split(" ") as [string, string]),
);

const ASCII = /^[\0-\x7f]*$/;
const COMBINING = /[\u0300-\u036f]/g;
/** What changes only how a character looks: variation selectors, the colour of skin, and the sign of a gender. */
const LOOKS = /[\ufe00-\ufe0f\u{e0100}-\u{e01ef}\u{1f3fb}-\u{1f3ff}]|\u200d[\u2640\u2642]\ufe0f?/gu;
const UNDECOMPOSED = new RegExp(`[${[...PLAIN_LETTERS.keys()].join("")}]`, "g");

/** Reports whether folding changes nothing but the case. */
export const isAscii = (text: string): boolean => ASCII.test(text);

/**
 * Returns the form of a text that search compares, with its case kept: NFKC (so full-width letters and
 * ligatures match plain ones), without accents. Only U+0300 to U+036F are accents: the vowel signs of
 * Indic scripts and the Japanese voicing marks change the word. An emoji is the same one in every colour.
 */
export function foldAccents(text: string): string {
  if (isAscii(text)) return text;
  return text.normalize("NFKD").replace(COMBINING, "").replace(LOOKS, "").normalize("NFC");
}

/** Returns a text in lower case, with letters that have no decomposition (`ß`, `ø`, `ł` …) as plain ones. */
export function foldCase(text: string): string {
  const lower = text.toLowerCase();
  return isAscii(lower) ? lower : lower.replace(COMBINING, "").replace(UNDECOMPOSED, (c) => PLAIN_LETTERS.get(c) ?? c);
}

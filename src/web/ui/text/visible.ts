/** Texts in which invisible characters, and characters that change the direction of text, are escapes. */

/** Text of these characters alone hides nothing. */
const PLAIN = /^[\t\n\r\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff\u2010-\u2027]*$/;

/** The scripts in which joiners change letters: Arabic and those of South Asia. */
const JOINED = String.raw`[\p{sc=Arab}\p{sc=Beng}\p{sc=Deva}\p{sc=Gujr}\p{sc=Guru}\p{sc=Knda}\p{sc=Mlym}\p{sc=Orya}\p{sc=Sinh}\p{sc=Taml}\p{sc=Telu}]`;

/** Characters without a sign of their own, and lone halves of a pair. */
const HIDDEN = new RegExp(
  [
    // Joiners, but in a compound emoji or between letters that they join.
    String.raw`(?<!\p{Extended_Pictographic}[\ufe0f\p{Emoji_Modifier}]?|${JOINED})[\u200c\u200d]`,
    String.raw`[\u200c\u200d](?!\p{Extended_Pictographic}|${JOINED})`,
    // The choice of a form, but of an emoji or a Chinese character.
    String.raw`(?<![\p{Emoji}\p{sc=Han}])[\ufe00-\ufe0f]`,
    // Formats, except the joiners and the signs that stand before numbers.
    String.raw`(?![\u200c\u200d\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2])\p{Cf}`,
    String.raw`(?![\t\n\r])\p{Cc}`,
    String.raw`[\p{Cs}\p{Zl}\p{Zp}]`,
    // Fillers, blanks and other choices of a form.
    String.raw`[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\u{e0100}-\u{e01ef}]`,
  ].join("|"),
  "gu",
);

const escapeOf = (character: string): string =>
  `⟨U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}⟩`;

/** Returns a text with escapes such as `⟨U+202E⟩` in place of invisible characters. */
export const visible = (text: string): string => (PLAIN.test(text) ? text : text.replace(HIDDEN, escapeOf));

/** Returns the escapes of a text's invisible characters, each once. */
export const hiddenIn = (text: string): string[] =>
  PLAIN.test(text) ? [] : [...new Set([...text.matchAll(HIDDEN)].map(([character]) => escapeOf(character)))];

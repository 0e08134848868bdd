/** The Latin view: letters of other scripts that are drawn like Latin ones, read as those. */
import { LOOK_ALIKE_CODES } from "./fold.ts";

/** A Latin and a Cyrillic or Greek letter in one word: no language writes so. */
const MIXED = /[A-Za-z][\u0370-\u052f]|[\u0370-\u052f][A-Za-z]/;

/** `text` with its look-alikes made Latin, unit for unit; null when no word mixes scripts. */
export function latinText(text: string): string | null {
  if (!MIXED.test(text)) return null;
  const units = new Uint16Array(text.length);
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    units[i] = code < 0x80 ? code : (LOOK_ALIKE_CODES.get(code) ?? code);
  }
  return new TextDecoder("utf-16le").decode(units);
}

/** The lines at the foot of a passport or an identity card that machines read (ICAO 9303). */
import { type Check, hitOf, spend } from "../check.ts";
import { isAlphanumeric, matchEnd } from "../text/ascii.ts";

/** The cost of a check, units. */
const CHECK_UNITS = 10;
/** The kind of the document, who issued it, the holder's names with fillers; then the number. */
const NAMES = /[A-Z]<[A-Z]{1,3}<{0,2}(?:[A-Z]{2,30}<)[A-Z<]{20,40}(?:\s{1,2}[A-Z0-9<]{28,44})?/y;
/** The first line of a card. */
const NUMBER = /[A-Z]<[A-Z]{3}[A-Z0-9<]{9}[0-9<][A-Z0-9<]{15}(?:\s{1,2}\d{6}\d[MFX<]\d{6}\d[A-Z]{3})?/y;

export const machineReadable: Check = (text, start) => {
  spend(CHECK_UNITS);
  if (isAlphanumeric(text.charCodeAt(start - 1))) return null;
  const names = matchEnd(NAMES, text, start);
  const end = names >= 0 ? names : matchEnd(NUMBER, text, start);
  return end < 0 || !text.slice(start + 2, end).includes("<<") ? null : hitOf("passport", start, end);
};

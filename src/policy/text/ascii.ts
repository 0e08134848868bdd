/** Classes of ASCII code units, and matching at a position. */

export function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

export function isLetter(code: number): boolean {
  return (code >= 65 && code <= 90) || (code >= 97 && code <= 122);
}

export function isAlphanumeric(code: number): boolean {
  return isDigit(code) || isLetter(code);
}

/** Whether `text[from, to)` has a digit; the bounds may lie outside the text. */
export function hasDigit(text: string, from: number, to: number): boolean {
  const end = Math.min(text.length, to);
  for (let i = Math.max(0, from); i < end; i++) if (isDigit(text.charCodeAt(i))) return true;
  return false;
}

/** Returns where the match of a sticky pattern at `at` ends; -1 when there is none. */
export function matchEnd(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : -1;
}

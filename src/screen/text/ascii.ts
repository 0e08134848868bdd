/** Classes of ASCII code units, runs of them, and matching at a position. */

export function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

export function isUpper(code: number): boolean {
  return code >= 65 && code <= 90;
}

export function isLower(code: number): boolean {
  return code >= 97 && code <= 122;
}

export function isLetter(code: number): boolean {
  return (code >= 65 && code <= 90) || (code >= 97 && code <= 122);
}

export function isAlphanumeric(code: number): boolean {
  return isDigit(code) || isLetter(code);
}

/** A digit of Base64 (RFC 4648 section 4). */
export function isBase64(code: number): boolean {
  return isAlphanumeric(code) || code === 43 || code === 47;
}

/** A digit of Base64 in either alphabet (RFC 4648 sections 4 and 5). */
export function isAnyBase64(code: number): boolean {
  return isAlphanumeric(code) || code === 43 || code === 47 || code === 45 || code === 95;
}

const HEX_VALUES = Int8Array.from({ length: 128 }, (_, code) =>
  "0123456789abcdef".indexOf(String.fromCharCode(code).toLowerCase()),
);

/** Returns the value of a hexadecimal digit, -1 for another code unit. */
export const hexValue = (code: number): number => HEX_VALUES[code] ?? -1;

/** Returns the number that `count` hexadecimal digits at `at` are; -1 when they are none. */
export function hexAt(text: string, at: number, count: number): number {
  let value = 0;
  for (let i = at; i < at + count; i++) {
    const digit = hexValue(text.charCodeAt(i));
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

/** Whether `text[from, to)` has a digit; the bounds may lie outside the text. */
export function hasDigit(text: string, from: number, to: number): boolean {
  const end = Math.min(text.length, to);
  for (let i = Math.max(0, from); i < end; i++) if (isDigit(text.charCodeAt(i))) return true;
  return false;
}

/** Returns `[start, end)` extended on both sides by up to `reach` code units of a class. */
export function runAround(
  text: string,
  start: number,
  end: number,
  isMember: (code: number) => boolean,
  reach: number,
): [from: number, to: number] {
  let from = start;
  while (from > 0 && start - from < reach && isMember(text.charCodeAt(from - 1))) from--;
  let to = end;
  while (to < text.length && to - end < reach && isMember(text.charCodeAt(to))) to++;
  return [from, to];
}

/** Returns where the match of a sticky pattern at `at` ends; -1 when there is none. */
export function matchEnd(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : -1;
}

/** Returns the match of a sticky pattern at `at`, which ends at its `lastIndex`; null when there is none. */
export function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

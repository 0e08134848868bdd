/** Classes of ASCII code units. */

export function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

export function isLetter(code: number): boolean {
  return (code >= 65 && code <= 90) || (code >= 97 && code <= 122);
}

export function isAlphanumeric(code: number): boolean {
  return isDigit(code) || isLetter(code);
}

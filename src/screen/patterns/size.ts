/**
 * Estimates how large the program of a regular expression is, without compiling it: counted repetitions are copies, so a
 * short expression can make a program of millions of steps, and compiling it takes as long.
 */

/** Returns about how many steps the program of an expression in RE2 syntax has, never much fewer: a character is one. */
export function regexSize(regex: string): number {
  // Every program also has a step with which it fails.
  return new Sizes(regex).alternatives() + 1;
}

/** `\Q…\E`, a class, a group of escapes with braces, any other escape, or one character. */
const ATOM = /\\Q.*?(?:\\E|$)|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]|\\[pPxo]\{[^}]*\}|\\.|[^()|]/suy;
const QUANTIFIER = /[*+?]\??|\{(\d+)(,(\d*))?\}\??/y;
const BAR = /\|/y;
const GROUP = /\((?:\?(?:P?<\w+>|[a-zA-Z-]*:))?/y;

/** Reads an expression from left to right. */
class Sizes {
  #at = 0;

  constructor(private readonly regex: string) {}

  /** Returns the size of what stands before the end of the group, or of the expression. */
  alternatives(): number {
    let size = 1;
    while (this.#at < this.regex.length && this.regex[this.#at] !== ")") {
      if (this.#take(BAR) === null) size += this.#repeated();
      else size++;
    }
    return size;
  }

  #repeated(): number {
    const size = this.#one();
    const quantifier = this.#take(QUANTIFIER);
    if (quantifier === null) return size;
    const [, least, comma, most] = quantifier;
    // An open end takes one more copy. Copies that may be absent take a step each, beside their own.
    const isOpen = least === undefined || (comma !== undefined && !most);
    const copies = least === undefined ? 1 : Math.max(1, Number(most || least) + (isOpen ? 1 : 0));
    const optional = isOpen ? 1 : copies - Math.min(copies, Number(least));
    // The repetition of a group that may be empty is compiled as an optional repetition.
    return size * copies + optional * (size > 1 ? 2 : 1);
  }

  #one(): number {
    if (this.#take(GROUP) === null) {
      const [text = ""] = this.#take(ATOM) ?? [];
      this.#at += text === "" ? 1 : 0; // a bracket that nothing opens or closes
      return text.startsWith("\\Q") ? text.length : 1;
    }
    const size = this.alternatives() + 1;
    this.#at++; // the closing bracket
    return size;
  }

  #take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.regex);
    if (found !== null) this.#at += found[0].length;
    return found;
  }
}

/**
 * Estimates how large the program of a regular expression is, without compiling it: counted repetitions are copies, so a
 * short expression can make a program of millions of steps, and compiling it takes as long.
 */

/** Returns about how many steps the program of an expression in RE2 syntax has, never much fewer. */
export function regexSize(regex: string): number {
  return new Sizes(regex).alternatives();
}

/** `\Q…\E`, a class, a group of escapes with braces, any other escape, or one character. */
const ATOM = /\\Q.*?(?:\\E|$)|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]|\\[pPxo]\{[^}]*\}|\\.|[^()|]/suy;
const QUANTIFIER = /[*+?]\??|\{(\d+)(,(\d*))?\}\??/y;
const GROUP = /\((?:\?(?:P?<\w+>|[a-zA-Z-]*:))?/y;

/** Reads an expression from left to right. */
class Sizes {
  #at = 0;

  constructor(private readonly regex: string) {}

  /** Returns the size of what stands before the end of the group, or of the expression. */
  alternatives(): number {
    let size = 1;
    while (this.#at < this.regex.length && this.regex[this.#at] !== ")") {
      if (this.regex[this.#at] === "|") this.#at++;
      else size += this.#repeated();
      size++;
    }
    return size;
  }

  #repeated(): number {
    const size = this.#one();
    const quantifier = this.#take(QUANTIFIER);
    const [, least, comma, most] = quantifier ?? [];
    // An open end takes one more copy.
    const copies =
      least === undefined ? 1 : Math.max(1, Number(most || least) + (comma !== undefined && !most ? 1 : 0));
    return size * copies + (quantifier === null ? 0 : copies);
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

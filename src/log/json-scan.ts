/**
 * Finds the pieces of one large JSON object as it arrives in chunks: its members, and the elements
 * of one member that is a long array. Only one piece is in memory at a time. Each piece is handed
 * out as text; that it is valid JSON is for JSON.parse to say.
 */

/** A text that is not one JSON object. */
export class JsonScanError extends Error {
  override readonly name = "JsonScanError";
}

/** Receives the pieces in the order in which they stand. */
export interface JsonPieces {
  member(name: string, text: string): void;
  element(text: string): void;
}

type State =
  | "start"
  | "first-name"
  | "name"
  | "colon"
  | "value"
  | "first-element"
  | "element"
  | "after-element"
  | "after-value"
  | "end";

const SPACE = /[ \t\n\r]*/y;
const PRIMITIVE_END = /[,\]} \t\n\r]/g;
const STRUCTURE = /["{}[\]]/g;

/** Feed with {@link push}, then {@link end}. */
export class JsonScanner {
  readonly #pieces: JsonPieces;
  readonly #listName: string;
  readonly #maxChars: number;
  #state: State = "start";
  #text = "";
  #at = 0;
  #name = "";
  readonly #names = new Set<string>();
  /** Where the search for the end of the present value goes on, and how deep it is. */
  #seek = 0;
  #depth = 0;

  /**
   * @param listName the member whose elements are handed out one by one
   * @param maxChars the longest piece that is taken in
   */
  constructor(pieces: JsonPieces, listName: string, maxChars: number) {
    this.#pieces = pieces;
    this.#listName = listName;
    this.#maxChars = maxChars;
  }

  /** Takes the next chunk. @throws JsonScanError when this cannot become one JSON object */
  push(chunk: string): void {
    this.#text = this.#text.slice(this.#at) + chunk;
    this.#seek -= this.#at;
    this.#at = 0;
    while (this.#step());
    if (this.#text.length - this.#at > this.#maxChars) throw new JsonScanError("a part of it is too long");
  }

  /** Whether nothing is pending and an element of the list is what may come next. */
  get atElement(): boolean {
    return this.#at === this.#text.length && (this.#state === "first-element" || this.#state === "element");
  }

  /** In place of an element that was read otherwise, where {@link atElement}; `more`: with its comma. */
  skipElement(more: boolean): void {
    this.#state = more ? "element" : "after-element";
  }

  /** Whether the object is closed. */
  get complete(): boolean {
    return this.#state === "end";
  }

  /** Takes one step; false when more text is needed. */
  #step(): boolean {
    if (this.#depth === 0 && this.#seek <= this.#at) this.#skipSpace();
    const next = this.#text[this.#at];
    if (next === undefined) return false;
    switch (this.#state) {
      case "start":
        return this.#expect(next, "{", "first-name");
      case "first-name":
      case "name":
        if (next === "}" && this.#state === "first-name") return this.#expect(next, "}", "end");
        if (next !== '"') throw new JsonScanError("a member has no name");
        return this.#value((text) => this.#named(text));
      case "colon":
        return this.#expect(next, ":", "value");
      case "value":
        if (this.#name === this.#listName && next === "[" && this.#depth === 0) {
          return this.#expect(next, "[", "first-element");
        }
        return this.#value((text) => {
          this.#pieces.member(this.#name, text);
          this.#state = "after-value";
        });
      case "first-element":
        if (next === "]") return this.#expect(next, "]", "after-value");
        this.#state = "element";
        return true;
      case "element":
        return this.#value((text) => {
          this.#pieces.element(text);
          this.#state = "after-element";
        });
      case "after-element":
        return next === "]" ? this.#expect(next, "]", "after-value") : this.#expect(next, ",", "element");
      case "after-value":
        return next === "}" ? this.#expect(next, "}", "end") : this.#expect(next, ",", "name");
      case "end":
        throw new JsonScanError("something follows its end");
    }
  }

  #skipSpace(): void {
    SPACE.lastIndex = this.#at;
    SPACE.exec(this.#text);
    this.#at = SPACE.lastIndex;
  }

  #expect(next: string, wanted: string, state: State): boolean {
    if (next !== wanted) throw new JsonScanError(`"${wanted}" is missing`);
    this.#at += 1;
    this.#state = state;
    return true;
  }

  #named(text: string): void {
    try {
      this.#name = JSON.parse(text) as string;
    } catch {
      throw new JsonScanError("a member's name is no JSON string");
    }
    if (this.#names.has(this.#name)) throw new JsonScanError("a member is there twice");
    this.#names.add(this.#name);
    this.#state = "colon";
  }

  #value(take: (text: string) => void): boolean {
    const end = this.#valueEnd();
    if (end < 0) return false;
    const text = this.#text.slice(this.#at, end);
    this.#at = end;
    this.#seek = end;
    this.#depth = 0;
    take(text);
    return true;
  }

  /** The end of the value that begins at #at, or -1 when it has not arrived yet. */
  #valueEnd(): number {
    const text = this.#text;
    const opening = text[this.#at] as string;
    if (this.#seek < this.#at) this.#seek = this.#at;
    if (opening !== '"' && opening !== "{" && opening !== "[") {
      PRIMITIVE_END.lastIndex = this.#at;
      return PRIMITIVE_END.exec(text)?.index ?? -1;
    }
    for (;;) {
      STRUCTURE.lastIndex = this.#seek;
      const found = STRUCTURE.exec(text);
      if (found === null) {
        this.#seek = text.length;
        return -1;
      }
      const character = found[0];
      if (character === '"') {
        const end = stringEnd(text, found.index);
        if (end < 0) {
          this.#seek = found.index; // looked through again with the next chunk
          return -1;
        }
        this.#seek = end;
      } else {
        this.#depth += character === "{" || character === "[" ? 1 : -1;
        this.#seek = found.index + 1;
      }
      if (this.#depth <= 0) return this.#seek;
    }
  }
}

/** The place after the quote that closes the string beginning at `start`; -1 when there is none. */
function stringEnd(text: string, start: number): number {
  let quote = start;
  for (;;) {
    quote = text.indexOf('"', quote + 1);
    if (quote < 0) return -1;
    let backslashes = 0;
    while (text[quote - 1 - backslashes] === "\\") backslashes += 1;
    if (backslashes % 2 === 0) return quote + 1;
  }
}

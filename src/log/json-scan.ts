/** Scans JSON text for errors that `JSON.parse` does not report. */
import type { JsonValue } from "../json.ts";

/** The text is not the expected JSON. The message never repeats the text. */
export class JsonTextError extends Error {
  override readonly name: string = "JsonTextError";
}

/** A member name that appears twice in one object. */
export class RepeatedMember extends JsonTextError {
  override readonly name = "RepeatedMember";

  constructor() {
    super("a member is there twice");
  }
}

/** Something other than white space after the end of the object. */
export class TrailingText extends JsonTextError {
  override readonly name = "TrailingText";

  constructor() {
    super("something follows its end");
  }
}

/** Returns the position after the closing quote of the string that begins at `start`; -1 when there is none. */
export function stringEnd(text: string, start: number): number {
  let quote = start;
  for (;;) {
    quote = text.indexOf('"', quote + 1);
    if (quote < 0) return -1;
    let backslashes = 0;
    while (text.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return quote + 1;
  }
}

/** Returns the number of colons outside the strings of a JSON text: one for each member of its objects. */
export function countColons(text: string): number {
  let colons = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === COLON) colons += 1;
    else if (code === QUOTE) at = stringEnd(text, at) - 1;
  }
  return colons;
}

/** JSON.parse with an error that does not quote the text. @throws JsonTextError */
export function parseJson(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    throw new JsonTextError("not JSON");
  }
}

/** Parses JSON without repeated members, of which parsers do not agree which to take. @throws JsonTextError */
export function parseStrictJson(text: string): JsonValue {
  const value = parseJson(text);
  if (hasRepeatedMember(text, value)) throw new RepeatedMember();
  return value;
}

/** Reports whether a text is JSON. */
export function isJson(text: string): boolean {
  if (text === "{}") return true;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Reports whether an object in `text`, which is the JSON of `value`, has the same member twice. */
export function hasRepeatedMember(text: string, value: JsonValue): boolean {
  // JSON.parse keeps the last one of a repeated member, so there is a colon too many.
  return countColons(text) !== countMembers(value);
}

/** Counts members, without recursion, since the nesting may be deeper than the stack. */
function countMembers(value: JsonValue): number {
  const pending = [value];
  let members = 0;
  for (let one = pending.pop(); one !== undefined; one = pending.pop()) {
    if (one === null || typeof one !== "object") continue;
    const parts = Object.values(one);
    if (!Array.isArray(one)) members += parts.length;
    for (const part of parts) pending.push(part);
  }
  return members;
}

/** Receives the pieces in the order of the text. */
interface JsonPieces {
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

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const SPACE = /[ \t\n\r]*/y;
const PRIMITIVE_END = /[,\]} \t\n\r]/g;
const STRUCTURE = /["{}[\]]/g;

/**
 * Finds the pieces of one large JSON object as it arrives in chunks: its members, and the elements of one member that
 * is a long array. Only one piece is in memory at a time. Each piece is passed on as text, which may not be valid JSON.
 */
export class JsonScanner {
  #state: State = "start";
  #text = "";
  #at = 0;
  #name = "";
  readonly #names = new Set<string>();
  /** Where the search for the end of the current value continues, and the depth there. */
  #seek = 0;
  #depth = 0;

  /**
   * @param listName the member whose elements are passed on one by one
   * @param maxChars the longest piece that is accepted
   */
  constructor(
    private readonly pieces: JsonPieces,
    private readonly listName: string,
    private readonly maxChars: number,
  ) {}

  /** Scans the next chunk. @throws JsonTextError when the text cannot become one JSON object */
  push(chunk: string): void {
    this.#text = this.#text.slice(this.#at) + chunk;
    this.#seek -= this.#at;
    this.#at = 0;
    while (this.#step());
    if (this.#text.length - this.#at > this.maxChars) throw new JsonTextError("a part of it is too long");
  }

  /** Whether nothing is pending and an element of the list may come next. */
  get atElement(): boolean {
    return this.#at === this.#text.length && (this.#state === "first-element" || this.#state === "element");
  }

  /** Skips an element that was read by other means; only when {@link atElement}. `more`: a comma follows it. */
  skipElement(more: boolean): void {
    this.#state = more ? "element" : "after-element";
  }

  /** Whether the object is complete. */
  get complete(): boolean {
    return this.#state === "end";
  }

  /** Takes one step. Returns false when more text is needed. */
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
        if (next !== '"') throw new JsonTextError("a member has no name");
        return this.#value((text) => this.#named(text));
      case "colon":
        return this.#expect(next, ":", "value");
      case "value":
        if (this.#name === this.listName && next === "[" && this.#depth === 0) {
          return this.#expect(next, "[", "first-element");
        }
        return this.#value((text) => {
          this.pieces.member(this.#name, text);
          this.#state = "after-value";
        });
      case "first-element":
        if (next === "]") return this.#expect(next, "]", "after-value");
        this.#state = "element";
        return true;
      case "element":
        return this.#value((text) => {
          this.pieces.element(text);
          this.#state = "after-element";
        });
      case "after-element":
        return next === "]" ? this.#expect(next, "]", "after-value") : this.#expect(next, ",", "element");
      case "after-value":
        return next === "}" ? this.#expect(next, "}", "end") : this.#expect(next, ",", "name");
      case "end":
        throw new TrailingText();
    }
  }

  #skipSpace(): void {
    SPACE.lastIndex = this.#at;
    SPACE.exec(this.#text);
    this.#at = SPACE.lastIndex;
  }

  #expect(next: string, wanted: string, state: State): boolean {
    if (next !== wanted) throw new JsonTextError(`"${wanted}" is missing`);
    this.#at += 1;
    this.#state = state;
    return true;
  }

  #named(text: string): void {
    try {
      this.#name = JSON.parse(text) as string;
    } catch {
      throw new JsonTextError("a member's name is not a JSON string");
    }
    if (this.#names.has(this.#name)) throw new RepeatedMember();
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

  /** Returns the end of the value that begins at #at; -1 when it has not arrived yet. */
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
          this.#seek = found.index; // scanned again with the next chunk
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

/** A second reader of JSON (RFC 8259), slow and plain, that the quick ones are compared with. */

export interface ReadJson {
  /** Some object names a member twice. */
  repeated: boolean;
  /** Half of a surrogate pair stands in some string. */
  halfPair: boolean;
  /** An integer that a double does not hold exactly, or one that is printed without an exponent and is too large. */
  inexact: boolean;
  /** The deepest nesting; a scalar has none. */
  depth: number;
  isObject: boolean;
}

class NotJson extends Error {}

/** Null when the text is not JSON. */
export function readJson(text: string): ReadJson | null {
  const found: ReadJson = { repeated: false, halfPair: false, inexact: false, depth: 0, isObject: false };
  let at = 0;
  const fail = (): never => {
    throw new NotJson();
  };
  const match = (pattern: RegExp): string | null => {
    pattern.lastIndex = at;
    const piece = pattern.exec(text)?.[0] ?? null;
    if (piece !== null) at += piece.length;
    return piece;
  };
  const space = () => match(/[ \t\n\r]*/y);
  const take = (character: string): boolean => {
    if (text[at] !== character) return false;
    at++;
    return true;
  };

  const string = (): string => {
    const literal = match(/"(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y) ?? fail();
    const value = literal
      .slice(1, -1)
      .replace(/\\(?:u(....)|(.))/g, (_, code?: string, simple?: string) =>
        code === undefined
          ? ({ b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" }[simple as string] ?? (simple as string))
          : String.fromCharCode(Number.parseInt(code, 16)),
      );
    if (!value.isWellFormed()) found.halfPair = true;
    return value;
  };
  const number = (): void => {
    const literal = match(/-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y) ?? fail();
    const value = Math.abs(Number(literal));
    const isInteger = /^-?[0-9]+$/.test(literal);
    if (value > Number.MAX_SAFE_INTEGER && (isInteger || value < 1e21 || value === Number.POSITIVE_INFINITY))
      found.inexact = true;
  };
  const value = (depth: number): void => {
    space();
    found.depth = Math.max(found.depth, depth - 1);
    if (text[at] === '"') string();
    else if (take("{")) members(depth);
    else if (take("[")) elements(depth);
    else if (match(/null|true|false/y) === null) number();
    space();
  };
  const members = (depth: number): void => {
    found.depth = Math.max(found.depth, depth);
    const names = new Set<string>();
    space();
    if (take("}")) return;
    do {
      space();
      const name = string();
      if (names.has(name)) found.repeated = true;
      names.add(name);
      space();
      if (!take(":")) fail();
      value(depth + 1);
    } while (take(","));
    if (!take("}")) fail();
  };
  const elements = (depth: number): void => {
    found.depth = Math.max(found.depth, depth);
    space();
    if (take("]")) return;
    do value(depth + 1);
    while (take(","));
    if (!take("]")) fail();
  };

  try {
    space();
    found.isObject = text[at] === "{";
    value(1);
    return at === text.length ? found : null;
  } catch (error) {
    if (error instanceof NotJson) return null;
    throw error;
  }
}

/**
 * Strict parsing of request bodies: JSON (RFC 8259) in the I-JSON profile (RFC 7493).
 *
 * `JSON.parse` parses the text. What it accepts although I-JSON does not is found afterwards, mostly in the parsed
 * value:
 * - invalid UTF-8 and a byte order mark: by the decoder and by `JSON.parse` itself;
 * - duplicate members: each member of the text has one colon outside strings, so more colons than parsed members means
 *   that a member was overwritten;
 * - lone surrogates: the decoded text has none, so only a `\u` escape can make one;
 * - numbers that a double does not hold, and nesting: in one walk over the value.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json.ts";
import { countColons, stringEnd } from "../../../log/json-scan.ts";

/** Deepest nesting of a body; the body itself is level 1. */
export const MAX_DEPTH = 64;

/** Integers of at least this magnitude print with an exponent, so they are returned as written. */
const EXPONENT_FORM = 1e21;

const QUOTE = 0x22;

/** The body is not valid. The message is for the caller and never quotes the body. */
export class JsonProblem extends Error {
  override readonly name = "JsonProblem";
}

/** The body is JSON, but no object. */
export class NotAnObject extends JsonProblem {}

/** A decoder that refuses invalid UTF-8 and keeps a byte order mark, which the parser refuses. */
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Returns the JSON object in the bytes of a body. @throws {JsonProblem} when it is not an object or not I-JSON */
export function parseStrictJson(bytes: Uint8Array): JsonObject {
  return strictObject(decode(bytes));
}

/** Returns the JSON object in the text of a body. @throws {JsonProblem} as {@link parseStrictJson} does */
export function strictObject(text: string): JsonObject {
  const value = parse(text);
  if (!isJsonObject(value)) throw new NotAnObject("The body must be a JSON object.");
  requireStrict(text, value, 0);
  return value;
}

/** Returns a JSON value that is nested in `depth` arrays and objects of a body. @throws {JsonProblem} */
export function strictValue(text: string, depth: number): JsonValue {
  const value = parse(text);
  requireStrict(text, value, depth);
  return value;
}

/** @throws {JsonProblem} when the text of a value, at this depth of a body, is not I-JSON */
function requireStrict(text: string, value: JsonValue, depth: number): void {
  const walk = new Walk(text.includes("\\u"));
  walk.value(value, depth);
  if (walk.hugeNumbers && hasHugeInteger(text)) throw new JsonProblem(INTEGER_PROBLEM);
  if (countColons(text) !== walk.members) {
    throw new JsonProblem("The body has an object with a repeated member. Send each member once.");
  }
}

const INTEGER_PROBLEM =
  "The body has an integer beyond 9007199254740991 in magnitude, which would lose digits. Send it as a string.";

/** Returns the text of a body. @throws {JsonProblem} when it is not UTF-8 */
export function decode(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new JsonProblem("The body is not valid UTF-8.");
  }
}

function parse(text: string): JsonValue {
  if (text.charCodeAt(0) === 0xfeff) throw new JsonProblem("The body begins with a byte order mark. Leave it out.");
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    // The parser's message quotes the text, so it is not passed on.
    throw new JsonProblem("The body is not valid JSON.");
  }
}

/** One pass over a parsed value, which counts members and refuses what I-JSON does not allow. */
class Walk {
  members = 0;
  /** There is a number whose spelling in the text decides whether it is an integer. */
  hugeNumbers = false;

  constructor(private readonly checkStrings: boolean) {}

  object(value: JsonObject, depth: number): void {
    if (depth > MAX_DEPTH) throw new JsonProblem(`The body is nested more than ${MAX_DEPTH} levels deep.`);
    // `for … in` visits exactly the own members of a parsed object, and allocates no array.
    for (const name in value) {
      this.members++;
      if (this.checkStrings) checkWellFormed(name);
      this.value(value[name] as JsonValue, depth);
    }
  }

  value(value: JsonValue, depth: number): void {
    if (typeof value === "string") {
      if (this.checkStrings) checkWellFormed(value);
    } else if (typeof value === "number") {
      this.number(value);
    } else if (Array.isArray(value)) {
      if (depth >= MAX_DEPTH) throw new JsonProblem(`The body is nested more than ${MAX_DEPTH} levels deep.`);
      for (const item of value) this.value(item, depth + 1);
    } else if (value !== null && typeof value === "object") {
      this.object(value, depth + 1);
    }
  }

  number(value: number): void {
    if (!Number.isFinite(value)) {
      throw new JsonProblem("The body has a number that is too large for a double. Send it as a string.");
    }
    const magnitude = Math.abs(value);
    if (magnitude <= Number.MAX_SAFE_INTEGER) return;
    // Below 1e21 the value would be returned as an integer literal, however it was written.
    if (magnitude < EXPONENT_FORM) throw new JsonProblem(INTEGER_PROBLEM);
    this.hugeNumbers = true;
  }
}

function checkWellFormed(text: string): void {
  if (!text.isWellFormed()) {
    throw new JsonProblem("The body has an escaped lone surrogate, which is not a character.");
  }
}

/** Reports whether JSON text holds an integer literal that a double cannot hold exactly. */
function hasHugeInteger(text: string): boolean {
  const literal = /-?\d[\d.eE+-]*/y;
  for (let at = 0; at < text.length; at++) {
    if (text.charCodeAt(at) === QUOTE) {
      at = stringEnd(text, at) - 1;
      continue;
    }
    literal.lastIndex = at;
    const [number] = literal.exec(text) ?? [""];
    if (number === "") continue;
    if (/^-?\d+$/.test(number) && !Number.isSafeInteger(Number(number))) return true;
    at += number.length - 1;
  }
  return false;
}

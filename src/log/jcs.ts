/**
 * Canonical JSON after RFC 8785 (JCS): one text for each value, so that a hash of the text stands for the value.
 *
 * Strings and numbers are written as in ECMAScript (RFC 8785, 3.2.2), members are sorted by the UTF-16 code units of
 * their names (3.2.3), and there is no white space. Values that I-JSON (RFC 7493) excludes have no canonical form and
 * are refused: lone surrogates, NaN and the infinities.
 */
import { orNull } from "../failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";

/** The deepest nesting that is accepted: far above the API's limit, far below the stack's. */
export const MAX_JSON_DEPTH = 128;

/** A value has no canonical form, or a text is not canonical. The message never repeats the value. */
export class CanonicalJsonError extends Error {
  override readonly name = "CanonicalJsonError";
}

/**
 * Returns the canonical text of a JSON value (RFC 8785).
 * @throws CanonicalJsonError for lone surrogates, non-finite numbers, nesting beyond
 *   {@link MAX_JSON_DEPTH}, and whatever is not JSON at all (undefined, functions, bigint).
 */
export const canonicalJson = (value: JsonValue): string => write(value, 1);

/**
 * Parses a text that must be canonical, as it is stored and hashed.
 * @throws CanonicalJsonError when the text is not JSON, or is not the canonical text of its value
 *   (white space, order, escapes, number forms and duplicate members all show up here).
 */
export function parseCanonicalJson(text: string): JsonValue {
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    throw new CanonicalJsonError("not JSON");
  }
  if (canonicalJson(value) !== text) throw new CanonicalJsonError("not in canonical form (RFC 8785)");
  return value;
}

/** Parses the canonical text of an object; null for any other text. */
export function parseCanonicalObject(text: string): JsonObject | null {
  const value = orNull(CanonicalJsonError, () => parseOrdered(text) ?? parseCanonicalJson(text));
  return isJsonObject(value) ? value : null;
}

/**
 * Parses the usual canonical text: without escapes, which may be those of lone surrogates. One call writes such a value
 * as ECMAScript does, so that only the order of its members is left to be looked at. Null for any other text.
 */
function parseOrdered(text: string): JsonValue {
  if (text.includes("\\")) return null;
  // What is nested too deep for the parser is a RangeError.
  const value = orNull(Error, () => JSON.parse(text) as JsonValue);
  return isOrdered(value, 1) && JSON.stringify(value) === text ? value : null;
}

function isOrdered(value: JsonValue, depth: number): boolean {
  if (value === null || typeof value !== "object") return true;
  if (depth > MAX_JSON_DEPTH) return false;
  if (Array.isArray(value)) return value.every((item) => isOrdered(item, depth + 1));
  let before = "";
  for (const name in value) {
    if (name < before || !isOrdered(value[name] as JsonValue, depth + 1)) return false;
    before = name;
  }
  return true;
}

/** Returns the canonical text of one string (RFC 8785, 3.2.2.2). */
export function canonicalString(text: string): string {
  // ECMAScript would write a lone surrogate as an escape; JCS has no form for it.
  if (!text.isWellFormed()) throw new CanonicalJsonError("a string holds a lone surrogate");
  return JSON.stringify(text);
}

function write(value: JsonValue, depth: number): string {
  if (value === null) return "null";
  switch (typeof value) {
    case "string":
      return canonicalString(value);
    case "boolean":
      return value ? "true" : "false";
    case "number":
      if (!Number.isFinite(value)) throw new CanonicalJsonError("a number is not finite");
      return String(value); // -0 becomes 0, as ECMAScript and RFC 8785 have it
    case "object":
      if (depth > MAX_JSON_DEPTH) throw new CanonicalJsonError(`nested deeper than ${MAX_JSON_DEPTH} levels`);
      return Array.isArray(value) ? writeArray(value, depth) : writeObject(value, depth);
    default:
      throw new CanonicalJsonError(`a ${typeof value} is not a JSON value`);
  }
}

function writeArray(values: readonly JsonValue[], depth: number): string {
  let text = "[";
  for (let index = 0; index < values.length; index++) {
    if (index > 0) text += ",";
    text += write(values[index] as JsonValue, depth + 1);
  }
  return `${text}]`;
}

function writeObject(object: JsonObject, depth: number): string {
  const names = Object.keys(object);
  if (!isSorted(names)) names.sort(); // the default order is that of UTF-16 code units
  let text = "{";
  let separator = "";
  for (const name of names) {
    text += `${separator}${canonicalString(name)}:${write(object[name] as JsonValue, depth + 1)}`;
    separator = ",";
  }
  return `${text}}`;
}

function isSorted(names: readonly string[]): boolean {
  for (let i = 1; i < names.length; i++) if ((names[i - 1] as string) > (names[i] as string)) return false;
  return true;
}

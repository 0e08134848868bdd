/** The text of an export: from bytes, and what makes it unreadable. */
import type { JsonObject, JsonValue } from "../../json.ts";
import { ExportFormatError } from "../../log/export-format.ts";
import { JsonTextError } from "../../log/json-scan.ts";

/** Ends a line of an export. */
export const NEW_LINE = 0x0a;
/** Follows an event of a json export. */
export const COMMA = 0x2c;

/** @throws TypeError when it is not UTF-8 */
export function decode(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
}

/** Whether there is nothing but JSON's white space. */
export function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === NEW_LINE || byte === 0x0d);
}

/** Joins two pieces. */
export function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  return a.length === 0 ? b : Buffer.concat([a, b]);
}

/** Why an export cannot be read, from what was thrown; anything else is thrown on. */
export function unreadable(error: unknown): string {
  if (error instanceof ExportFormatError) return error.message;
  if (error instanceof JsonTextError) {
    return `this is not a json or ndjson export: ${error.message}`;
  }
  if (error instanceof TypeError && "code" in error && error.code === "ERR_ENCODING_INVALID_ENCODED_DATA") {
    return "this is not a json or ndjson export: it is not UTF-8 text";
  }
  throw error;
}

/** Whether a text is JSON. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Whether a first line is that of an ndjson export, or meant to be. */
export function isNdjsonHeader(line: string): boolean {
  try {
    return Object.hasOwn(asObject(JSON.parse(line) as JsonValue, "the first line"), "type");
  } catch {
    return false;
  }
}

/** @throws ExportFormatError when a value is no object */
export function asObject(value: JsonValue, what: string): JsonObject {
  if (value !== null && typeof value === "object" && !Array.isArray(value)) return value;
  throw new ExportFormatError(`${what} is not a JSON object`);
}

/** Reads JSON in which every member name stands once, since readers differ about which one counts. */
import type { JsonValue } from "../json.ts";

/** A text that is not JSON, or has an object with a member twice. Never repeats the text. */
export class StrictJsonError extends Error {
  override readonly name = "StrictJsonError";
}

/** @throws StrictJsonError */
export function parseStrictJson(text: string): JsonValue {
  const value = parseJson(text);
  if (hasRepeatedMember(text, value)) throw new StrictJsonError("a member is there twice");
  return value;
}

/** JSON.parse with an error that does not quote the text. @throws StrictJsonError */
export function parseJson(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    throw new StrictJsonError("not JSON");
  }
}

/** Whether `text`, which is the JSON of `value`, names a member of one object twice. */
export function hasRepeatedMember(text: string, value: JsonValue): boolean {
  // JSON.parse keeps the last one of a repeated member, so there is a colon too many.
  return colonsOutsideStrings(text) !== countMembers(value);
}

function colonsOutsideStrings(text: string): number {
  let colons = 0;
  for (const [piece] of text.matchAll(/"(?:[^"\\]|\\.)*"|:/g)) if (piece === ":") colons += 1;
  return colons;
}

function countMembers(value: JsonValue): number {
  if (value === null || typeof value !== "object") return 0;
  const parts = Object.values(value);
  return parts.reduce<number>(
    (sum, part) => sum + countMembers(part),
    Array.isArray(value) ? 0 : parts.length,
  );
}

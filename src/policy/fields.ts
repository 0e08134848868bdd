/** Every text of a write that is screened, with the words around it that tell what it is. */
import type { JsonObject, JsonValue } from "../json.ts";

/** One text to screen. */
export interface Field {
  /** The path's parts: `["value"]`, `["metadata", "user", "ssn"]`; array positions are numbers in decimal. */
  path: readonly string[];
  text: string;
  /** Words that stand for this text's label: the entry's key, or the metadata names above it. */
  context: string;
  /** The text is itself the last name in `path`. */
  isName: boolean;
}

/** The fields of a write, in the order in which findings are reported: key, value, metadata. */
export function* fieldsOf(key: string, value: string, metadata: JsonObject): Generator<Field> {
  yield { path: ["key"], text: key, context: "", isName: false };
  yield { path: ["value"], text: value, context: key, isName: false };
  yield* inside(metadata, ["metadata"], "");
}

function* inside(value: JsonValue, path: readonly string[], context: string): Generator<Field> {
  if (typeof value === "string") {
    yield { path, text: value, context, isName: false };
  } else if (typeof value === "number") {
    // A card number without quotes is still a card number.
    yield { path, text: String(value), context, isName: false };
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* inside(item, [...path, String(index)], context);
  } else if (value !== null && typeof value === "object") {
    for (const [name, member] of Object.entries(value)) {
      const below = [...path, name];
      yield { path: below, text: name, context: "", isName: true };
      yield* inside(member, below, context === "" ? name : `${context} ${name}`);
    }
  }
}

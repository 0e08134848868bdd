/** The texts to screen, each with the words that label it. */
import type { JsonValue } from "../json.ts";
import type { Content } from "./policy.ts";

/** One text to screen. */
export interface Field {
  /** The path's parts: `["value"]`, `["metadata", "user", "ssn"]`; array positions are numbers in decimal. */
  path: readonly string[];
  text: string;
  /** The label of the text: the entry's key, or the metadata names above it. */
  context: string;
  /** The text is itself the last name in `path`. */
  isName: boolean;
}

/** The fields of some content, in the order in which findings are reported: key, value, metadata. */
export function fieldsOf({ key, value, metadata }: Content): Field[] {
  const fields: Field[] = [
    { path: KEY_PATH, text: key, context: "", isName: false },
    { path: VALUE_PATH, text: value, context: key, isName: false },
  ];
  collect(metadata, METADATA_PATH, "", fields);
  return fields;
}

const KEY_PATH = ["key"];
const VALUE_PATH = ["value"];
const METADATA_PATH = ["metadata"];

function collect(value: JsonValue, path: readonly string[], context: string, fields: Field[]): void {
  if (typeof value === "string") {
    fields.push({ path, text: value, context, isName: false });
  } else if (typeof value === "number") {
    // A card number without quotes is still a card number.
    fields.push({ path, text: String(value), context, isName: false });
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) collect(item, [...path, String(index)], context, fields);
  } else if (value !== null && typeof value === "object") {
    for (const name of Object.keys(value)) {
      const below = [...path, name];
      fields.push({ path: below, text: name, context: "", isName: true });
      collect(value[name] as JsonValue, below, context === "" ? name : `${context} ${name}`, fields);
    }
  }
}

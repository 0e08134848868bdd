/** The texts of some content that are screened, and the names of their places. */
import type { JsonValue } from "../json.ts";
import { joinedParts } from "./parts.ts";
import type { Content, Finding } from "./policy.ts";

/** One text to screen. */
export interface Field {
  /** The path's parts: `["value"]`, `["metadata", "user", "ssn"]`; array positions are numbers in decimal. */
  path: readonly string[];
  text: string;
  /** The label of the text: the entry's key, or the metadata names above it. */
  context: string;
  /** The text is itself the last name in `path`. */
  isName: boolean;
  /**
   * The joined texts of which this text may be the first part, as the first item of an array. A finding in one covers
   * the text.
   */
  joined?: readonly string[];
}

/** A finding. `isFixed`: its text cannot be replaced. */
export interface Match {
  finding: Finding;
  isFixed: boolean;
}

/** The matches in one field; the field is null for what a policy with its own function finds in the whole. */
export interface FieldMatches {
  field: Field | null;
  matches: readonly Match[];
}

/** The fields of some content, in the order in which findings are reported: key, value, metadata. */
export function fieldsOf({ key, value, metadata, valueName = "value" }: Content): Field[] {
  const fields: Field[] = [
    { path: ["key"], text: key, context: "", isName: false },
    { path: [valueName], text: value, context: key, isName: false },
  ];
  collect(metadata, ["metadata"], "", fields);
  return fields;
}

function collect(value: JsonValue, path: readonly string[], context: string, fields: Field[]): void {
  if (typeof value === "string" || typeof value === "number") {
    // A card number without quotes is still a card number.
    fields.push({ path, text: String(value), context, isName: false });
  } else if (Array.isArray(value)) {
    const joined = joinedParts(value);
    const first = fields.length;
    for (const [index, item] of value.entries()) collect(item, [...path, String(index)], context, fields);
    if (joined.length > 0) (fields[first] as Field).joined = joined;
  } else if (value !== null && typeof value === "object") {
    for (const name of Object.keys(value)) {
      const below = [...path, name];
      fields.push({ path: below, text: name, context: "", isName: true });
      collect(value[name] as JsonValue, below, context === "" ? name : `${context} ${name}`, fields);
    }
  }
}

/** The most characters of paths that are screened for one content. */
const MOST_IN_PATHS = 1 << 15;

/**
 * Returns a function that shows the path of a field in findings, with `*` for each name that itself matched.
 * `matches` reports whether something is found in a text: names of which none matched may together be an address, so
 * all of them become one `*`, as they do when they are too long to be screened.
 */
export function pathShower(matched: readonly Field[], matches: (text: string) => boolean): (field: Field) => string {
  const names = new Set(matched.filter(({ isName }) => isName).map(({ path }) => pathKey(path)));
  let left = MOST_IN_PATHS;
  return ({ path }) => {
    const shown =
      names.size === 0 ? path : path.map((part, i) => (names.has(pathKey(path.slice(0, i + 1))) ? "*" : part));
    const text = shown.join(".");
    if (path.length <= 2) return text;
    left -= text.length;
    return left < 0 || readingsOf(shown.slice(1)).some(matches) ? `${path[0]}.*` : text;
  };
}

/** Returns the texts that the names of a path are together: words, and with the dots that are shown between them. */
export const readingsOf = (path: readonly string[]): string[] => [path.join(" "), path.join(".")];

const pathKey = (path: readonly string[]): string => JSON.stringify(path);

/** The texts of some content that are screened, and the names of their places. */
import type { JsonObject, JsonValue } from "../json.ts";
import type { Span } from "./near.ts";
import { joinedParts, type ListText, listText } from "./parts.ts";
import type { Content, Finding } from "./policy.ts";

/**
 * A path, as its last part and the path above: `value`, `metadata` / `user` / `ssn`. Positions in arrays are numbers in
 * decimal. Paths share what is above, since metadata may be nested thousands of levels deep.
 */
interface Path {
  part: string;
  above: Path | null;
}

/** How much of a context is read, from its end, which is nearest to the text, UTF-16 code units. */
export const LONGEST_CONTEXT = 96;

/** One text to screen. */
export interface Field {
  path: Path;
  text: string;
  /** The label of the text: the entry's key, or the metadata names above it, of which the last characters suffice. */
  context: string;
  /** The text is itself the last name in `path`. */
  isName: boolean;
  /**
   * The joined texts of which this text may be the first part, as the first item of an array. A finding in one covers
   * the text.
   */
  joined?: readonly string[];
  /** The array of which the text is an item, and where it begins in the text of that. */
  list?: { whole: ListText; at: number };
}

/** Whether the text of a field is a part of the content's JSON, so that it is a string and no JSON of its own. */
export const isPart = ({ path }: Field): boolean => path.above !== null;

/** A finding. `isFixed`: its text cannot be replaced. */
export interface Match {
  finding: Finding;
  isFixed: boolean;
}

/** The matches in one field; the field is null for what a policy with its own function finds in the whole. */
export interface FieldMatches {
  field: Field | null;
  /** The position of the field in `fieldsOf`; -1 without a field. */
  index: number;
  matches: readonly Match[];
  /** Where anything was found, also what is no match because of an exception. Not in order. */
  places: readonly Span[];
}

/** The fields of some content, in the order in which findings are reported: key, value, metadata. */
export function fieldsOf({ key, value, metadata, valueName = "value" }: Content): Field[] {
  const fields: Field[] = [
    { path: { part: "key", above: null }, text: key, context: "", isName: false },
    { path: { part: valueName, above: null }, text: value, context: key, isName: false },
  ];
  collect(metadata, { part: "metadata", above: null }, "", fields);
  return fields;
}

function collect(value: JsonValue, path: Path, context: string, fields: Field[]): void {
  if (typeof value === "string" || typeof value === "number") {
    // A card number without quotes is still a card number.
    fields.push({ path, text: String(value), context, isName: false });
  } else if (Array.isArray(value)) {
    const joined = joinedParts(value);
    const first = fields.length;
    for (const [index, item] of value.entries()) collect(item, { part: String(index), above: path }, context, fields);
    if (joined.length > 0) (fields[first] as Field).joined = joined;
    const whole = context === "" ? null : listText(value);
    for (const [index, at] of whole?.starts.entries() ?? [])
      (fields[first + index] as Field).list = { whole: whole as ListText, at };
  } else if (value !== null && typeof value === "object") {
    for (const name of Object.keys(value)) {
      const below = { part: name, above: path };
      fields.push({ path: below, text: name, context: "", isName: true });
      const names = context === "" ? name : `${context} ${name}`;
      collect(value[name] as JsonValue, below, names.slice(-LONGEST_CONTEXT), fields);
    }
  }
}

/** Returns the content with other texts in some fields; `texts` has their positions in `fieldsOf`. */
export function withTexts<C extends { value: string; metadata: JsonObject }>(
  content: C,
  texts: ReadonlyMap<number, string>,
): C {
  let index = 1;
  const value = texts.get(index) ?? content.value;
  const rebuilt = (member: JsonValue): JsonValue => {
    if (typeof member === "string" || typeof member === "number") return texts.get(++index) ?? member;
    if (Array.isArray(member)) return member.map(rebuilt);
    if (member === null || typeof member !== "object") return member;
    const copy: JsonObject = Object.create(null);
    for (const name of Object.keys(member)) {
      index++;
      copy[name] = rebuilt(member[name] as JsonValue);
    }
    return copy;
  };
  const isSame = [...texts.keys()].every((at) => at <= index);
  return { ...content, value, metadata: isSame ? content.metadata : (rebuilt(content.metadata) as JsonObject) };
}

/** The most characters of paths that are screened for one content. */
const MOST_IN_PATHS = 1 << 15;

/**
 * Returns a function that shows the path of a field in findings, with `*` for each name that itself matched.
 * `matches` reports whether something is found in a text: names of which none matched may together be an address, so
 * all of them become one `*`, as they do when they are too long to be screened.
 */
export function pathShower(matched: readonly Field[], matches: (text: string) => boolean): (field: Field) => string {
  const names = new Set(matched.filter(({ isName }) => isName).map(({ path }) => path));
  let left = MOST_IN_PATHS;
  return ({ path }) => {
    if (left < 0) return path.above === null ? path.part : `${partsOf(path)[0]}.*`;
    const shown = partsOf(path, (one) => names.has(one));
    const text = shown.join(".");
    if (shown.length <= 2) return text;
    left -= text.length;
    return left < 0 || readingsOf(shown.slice(1)).some(matches) ? `${shown[0]}.*` : text;
  };
}

/** Returns the parts of a path, the first one first, with `*` for those that are hidden. */
function partsOf(path: Path, isHidden: (path: Path) => boolean = () => false): string[] {
  const parts: string[] = [];
  for (let one: Path | null = path; one !== null; one = one.above) parts.push(isHidden(one) ? "*" : one.part);
  return parts.reverse();
}

/** Returns the texts that the names of a path are together: words, and with the dots that are shown between them. */
export const readingsOf = (path: readonly string[]): string[] => [path.join(" "), path.join(".")];

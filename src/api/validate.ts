/** Validators compiled from schemas, and their messages for invalid requests. */
import type { Static, TObject, TSchema } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";
import { Value } from "@sinclair/typebox/value";
import type { JsonObject, JsonValue } from "../json.ts";
import { invalid, type Problem } from "../problem.ts";
import { withoutNulls } from "./nulls.ts";
import { parseQuery, quoteName, shortName } from "./query.ts";
import { lacksOffset } from "./timestamp.ts";

/** The most unknown names that one error lists. */
const MAX_LISTED_NAMES = 5;

/** How clients write a boolean: as JSON, as Python prints it, and as a number. */
const FLAGS: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["True", true],
  ["1", true],
  ["false", false],
  ["False", false],
  ["0", false],
]);

const INTEGER_TEXT = /^(0|[1-9][0-9]{0,15})$/;

/** Returns a problem with a better message for a refused value, or null. */
export type Explain = (value: JsonObject) => Problem | null;

/** A compiled object schema. */
export class Validator<T extends TObject> {
  #check: TypeCheck<T> | null = null;
  readonly #members: Map<string, TSchema>;
  /** The members that are lists, or can be. */
  readonly lists: ReadonlySet<string>;

  /** `noun` names a member of the object in errors. */
  constructor(
    readonly schema: T,
    private readonly noun: "member" | "query parameter" | "argument",
  ) {
    this.#members = new Map(Object.entries(schema.properties));
    this.lists = new Set([...this.#members].filter(([, member]) => takesList(member)).map(([name]) => name));
  }

  /**
   * Returns the value when it is valid.
   * @throws {Problem} `invalid_request` that names the first unknown, missing or wrong member
   */
  parse(value: JsonObject, explain?: Explain): Static<T> {
    // Compiled when first needed: compiling all of them would make a start 20 ms longer.
    this.#check ??= TypeCompiler.Compile(this.schema);
    if (this.#check.Check(value)) return value as Static<T>;
    const meant = withoutNulls(this.schema, value) as JsonObject;
    if (this.#check.Check(meant)) return meant as Static<T>;
    throw this.#unknown(meant) ?? this.#missing(meant) ?? explain?.(meant) ?? this.#wrong(meant);
  }

  /**
   * Returns the parameters of a query string, with words, integers and booleans converted from text.
   * @throws {Problem}
   */
  parseQuery(queryText: string): Static<T> {
    const value: JsonObject = {};
    for (const [name, text] of parseQuery(queryText, this.lists)) {
      const schema = this.#members.get(name);
      // Not assigned, since a parameter may be called __proto__.
      Object.defineProperty(value, name, { value: fromText(text, schema), enumerable: true });
    }
    return this.parse(value);
  }

  #unknown(value: JsonObject): Problem | null {
    if (this.schema.additionalProperties !== false) return null;
    const names = Object.keys(value).filter((name) => !this.#members.has(name));
    const [first] = names;
    if (first === undefined) return null;
    const shown = names.slice(0, MAX_LISTED_NAMES).map(quoteName).join(", ");
    const more = names.length > MAX_LISTED_NAMES ? ` and ${names.length - MAX_LISTED_NAMES} more` : "";
    const known = [...this.#members.keys()].map((name) => `"${name}"`).join(", ");
    const allowed = known === "" ? "None is taken here." : `Known here: ${known}.`;
    return invalid(
      `Unknown ${this.noun}${names.length === 1 ? "" : "s"} ${shown}${more}. ${allowed}`,
      shortName(first),
    );
  }

  #missing(value: JsonObject): Problem | null {
    for (const [name, schema] of this.#members) {
      if (this.schema.required?.includes(name) && !Object.hasOwn(value, name)) {
        return invalid(`The ${this.noun} "${name}" is missing. ${this.#expectation(schema)}`, name);
      }
    }
    return null;
  }

  #wrong(value: JsonObject): Problem {
    for (const [name, schema] of this.#members) {
      // Not compiled, since few requests are refused.
      if (Object.hasOwn(value, name) && !Value.Check(schema, value[name])) {
        const what =
          schema.format === "date-time" && lacksOffset(value[name]) ? "has no offset from UTC" : "is not valid";
        return invalid(`The ${this.noun} "${name}" ${what}. ${this.#expectation(schema)}`, name);
      }
    }
    return invalid("The request does not have the documented form.");
  }

  #expectation(schema: TSchema): string {
    return expectation(this.noun === "query parameter" ? inQuery(schema) : schema);
  }
}

const takesList = ({ type, anyOf = [] }: TSchema): boolean => type === "array" || anyOf.some(takesList);

/** Returns a schema that says how a query parameter takes several words, if it does. */
export function inQuery<S extends TSchema>(schema: S): S {
  const { type, description } = schema;
  return type === "array" ? { ...schema, description: description?.replace(/\.$/, ", separated by commas.") } : schema;
}

/** Returns what a field accepts: its description, which the documentation also shows, and the words or names in it. */
export function expectation({ description, items, patternProperties }: TSchema): string {
  const named = Object.keys(patternProperties ?? {}).flatMap(
    (each) => /^\^\((.*)\)\$$/.exec(each)?.[1]?.split("|") ?? [],
  );
  const words = ((items as TSchema | undefined)?.anyOf ?? [])
    .flatMap((each: TSchema) => each.const ?? [])
    .concat(named);
  const known = words.length === 0 ? "" : ` Known here: ${words.join(", ")}.`;
  return `${description ?? "See the API documentation for its form."}${known}`;
}

/** Converts a query parameter's text to the schema's type. Other text stays text, and is then refused. */
function fromText(text: string, schema: TSchema | undefined): JsonValue {
  if (schema?.type === "integer" && INTEGER_TEXT.test(text)) return Number(text);
  if (schema?.type === "boolean") return FLAGS.get(text) ?? text;
  if (schema?.type === "array") return text.split(",");
  // An unencoded `+02:00` of a time arrives as a space, which has no other meaning there.
  if (schema?.format === "date-time") return text.replace(" ", "+");
  return text;
}

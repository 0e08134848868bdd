/** The components of one document: everything that its operations refer to, each described once. */
import type { TSchema } from "@sinclair/typebox";
import type { JsonObject, JsonValue } from "../../../json.ts";
import { PROBLEMS, type ProblemCode } from "../../../problem.ts";
import { componentOf } from "../../shapes.ts";
import { COMPONENT_NAMES, HEADERS, type HeaderName, REQUEST_ID } from "./headers.ts";
import { ProblemSchema } from "./problem-schema.ts";

const SECTIONS = ["schemas", "responses", "parameters", "headers"] as const;
type Section = (typeof SECTIONS)[number];

/** What operations may have in common. */
export interface OperationParts {
  operationId: string;
  parameters?: JsonObject[];
  requestBody?: JsonObject;
  responses: Record<string, JsonObject>;
}

/** Where something is that may be elsewhere as well. */
interface Place {
  /** What a component of it is called. */
  name: string;
  value: JsonObject;
  /** Puts a reference in its place. */
  put(reference: JsonObject): void;
}

/** The problems of operations that are recorded. With others the request is refused before its operation. */
const RECORDED_PROBLEMS: ReadonlySet<ProblemCode> = new Set<ProblemCode>([
  "agent_suspended",
  "agent_not_found",
  "config_not_found",
  "version_not_found",
  "checkpoint_not_found",
  "entry_not_found",
  "audit_event_not_found",
  "seal_not_found",
  "blocked",
  "restore_blocked",
  "count_mismatch",
  "version_conflict",
  "quota_exceeded",
  // A recorded stream that could not start.
  "unavailable",
]);

export class Components {
  readonly #sections: Record<Section, Record<string, JsonObject>> = {
    schemas: {},
    responses: {},
    parameters: {},
    headers: {},
  };

  /** Returns the sections that are not empty. */
  get all(): JsonObject {
    const used = SECTIONS.filter((section) => Object.keys(this.#sections[section]).length > 0);
    return Object.fromEntries(used.map((section) => [section, this.#sections[section]]));
  }

  /** Refers to a component, which `describe` describes when it is new. */
  #refer(section: Section, name: string, describe: () => JsonObject): JsonObject {
    const components = this.#sections[section];
    if (!Object.hasOwn(components, name)) {
      components[name] = {};
      components[name] = describe();
    }
    return { $ref: `#/components/${section}/${name}` };
  }

  /** Describes a schema as JSON Schema, with references to those that have names. */
  schema(schema: TSchema): JsonObject {
    return this.#plain(schema) as JsonObject;
  }

  /** Describes a schema: an object by a reference, with this name unless it has its own. */
  namedSchema(name: string, schema: TSchema): JsonObject {
    if (componentOf(schema) !== undefined || schema.properties === undefined) return this.schema(schema);
    return this.#refer("schemas", name, () => this.schema(schema));
  }

  #plain(value: unknown): JsonValue {
    if (Array.isArray(value)) return value.map((each) => this.#plain(each));
    if (typeof value !== "object" || value === null) return value as JsonValue;
    const named = componentOf(value);
    if (named === undefined) return this.#members(value);
    const reference = this.#refer("schemas", named.name, () => this.#members(named.original));
    const { description } = value as TSchema;
    return description === named.original.description
      ? reference
      : { ...reference, description: description as string };
  }

  /** Operations have examples of their own; of schemas, only an object as a whole keeps its example. */
  #members(schema: object): JsonObject {
    const isOwn = (name: string, value: unknown) =>
      name === "examples" && Array.isArray(value) && !("properties" in schema);
    const members = Object.entries(describedOnce(orNull(withWords(schema)))).filter(
      ([name, value]) => !isOwn(name, value),
    );
    return Object.fromEntries(members.map(([name, value]) => [name, this.#plain(value)]));
  }

  /** Returns the `headers` of a response, which refer to their descriptions: those, and that of every response. */
  headers(names: readonly HeaderName[]): JsonObject {
    const refer = (name: HeaderName) =>
      this.#refer("headers", COMPONENT_NAMES[name] ?? name.replaceAll(/^X-|-/g, ""), () => HEADERS[name]);
    return { headers: Object.fromEntries([REQUEST_ID, ...names].map((name) => [name, refer(name)])) };
  }

  /** Refers to a response that another operation has as well. */
  response(name: string, describe: () => JsonObject): JsonObject {
    return this.#refer("responses", name, describe);
  }

  /**
   * Returns one response for each status that an operation has problems of its own with, and `default` for all other
   * problems. `usual`: those of any request.
   */
  problems(specific: readonly ProblemCode[], usual: readonly ProblemCode[]): JsonObject {
    const responses: JsonObject = {};
    for (const status of [...new Set(specific.map(statusOf))].sort()) {
      const named = specific.filter((code) => statusOf(code) === status).sort();
      const codes = [...new Set([...named, ...usual.filter((code) => statusOf(code) === status)])];
      const isRecorded = status === NOT_FOUND || codes.some((code) => RECORDED_PROBLEMS.has(code));
      const headers = [...(isRecorded ? RECORDED : []), ...codes.flatMap(headersOf)];
      responses[status] =
        status === NOT_FOUND
          ? {
              ...this.response("NotFound", () => this.#problem([MISSING], headers)),
              description: `${named.map((code) => `\`${code}\``).join(" or ")}.`,
            }
          : this.response(named.map(responseName).join("Or"), () => this.#problem(codes.map(shown), headers));
    }
    const words = usual.map((code) => `${statusOf(code)} ${shown(code)}`);
    responses.default = this.response("Other", () => this.#problem(words, usual.flatMap(headersOf)));
    return responses;
  }

  /** Makes components of the parameters and answers that several operations have. Answers keep their descriptions. */
  share(operations: readonly OperationParts[]): void {
    const parameters = operations.flatMap(({ parameters: all = [] }) =>
      all.map((value, at) => ({
        name: value.name === "Idempotency-Key" ? "Retry" : (value.name as string),
        value,
        put: (it: JsonObject) => void all.splice(at, 1, it),
      })),
    );
    const answers = operations.flatMap(({ operationId, responses }) =>
      Object.entries(responses).flatMap(([status, response]) => {
        if ("$ref" in response) return [];
        const { description = null } = response;
        const put = (it: JsonObject) => {
          responses[status] = { ...it, description };
        };
        return { name: pascalCase(`${operationId}_answer`), value: { ...response, description: "Done." }, put };
      }),
    );
    this.#shareAll("parameters", parameters);
    this.#shareAll("responses", answers);
  }

  /** Lets objects that only answers have take further members, which a later version may add. */
  openAnswers(operations: readonly OperationParts[]): void {
    const ofRequests = new Set<JsonObject>();
    const visit = (value: unknown): void => {
      if (typeof value !== "object" || value === null) return;
      if ("$ref" in value) {
        const [section, name] = String(value.$ref).split("/").slice(-2) as [Section, string];
        const component = this.#sections[section][name] as JsonObject;
        if (ofRequests.has(component)) return;
        ofRequests.add(component);
        visit(component);
      }
      for (const each of Object.values(value)) visit(each);
    };
    for (const { parameters, requestBody } of operations) visit([parameters, requestBody]);
    for (const schema of Object.values(this.#sections.schemas)) if (!ofRequests.has(schema)) open(schema);
  }

  #shareAll(section: Section, places: readonly Place[]): void {
    for (const same of Map.groupBy(places, ({ value }) => JSON.stringify(value)).values()) {
      const [{ name, value }] = same as [Place];
      if (same.length === 1) continue;
      const taken = this.#sections[section];
      let free = name;
      for (let number = 2; Object.hasOwn(taken, free); number++) free = `${name}.${number}`;
      const reference = this.#refer(section, free, () => value);
      for (const { put } of same) put(reference);
    }
  }

  #problem(words: readonly string[], headers: readonly HeaderName[]): JsonObject {
    return {
      description: words.join(" "),
      ...this.headers([...new Set(headers)]),
      content: { "application/problem+json": { schema: this.schema(ProblemSchema) } },
    };
  }
}

/** Shorter names of the responses that most operations have: each refers to them. */
const RESPONSE_NAMES: Readonly<Partial<Record<ProblemCode, string>>> = {
  invalid_request: "Invalid",
  quota_exceeded: "Full",
  agent_suspended: "Suspended",
};

const responseName = (code: ProblemCode): string => RESPONSE_NAMES[code] ?? pascalCase(code);

/** The status for which nearly every operation has its own code. */
const NOT_FOUND = 404;
const MISSING = "What the request names is not there.";

const statusOf = (code: ProblemCode): number => PROBLEMS[code][0];
const shown = (code: ProblemCode): string => `\`${code}\`: ${PROBLEMS[code][1]}.`;

/** Headers of problems that are recorded. */
const RECORDED: readonly HeaderName[] = ["X-Audit-Id", "Idempotent-Replayed"];

/** Further headers of responses with a problem. */
function headersOf(code: ProblemCode): readonly HeaderName[] {
  const status = statusOf(code);
  if (status === 401) return ["WWW-Authenticate"];
  return status === 429 || status === 503 || code === "idempotency_in_progress" ? ["Retry-After"] : [];
}

/** Returns a union of words as an `enum`, which generators understand better; any other schema as it is. */
function withWords(schema: object): object {
  const { anyOf, ...rest } = schema as { anyOf?: { const?: unknown }[] };
  if (anyOf === undefined || !anyOf.every((each) => typeof each.const === "string")) return schema;
  return { type: "string", enum: [...new Set(anyOf.map((each) => each.const))], ...rest };
}

/** Returns a plain type or null as JSON Schema writes it shortest. */
function orNull(schema: object): object {
  const { anyOf, ...outer } = schema as { anyOf?: TSchema[] };
  const [one, other] = anyOf ?? [];
  if (anyOf?.length !== 2 || one === undefined || other?.type !== "null") return schema;
  if (componentOf(one) !== undefined || !PLAIN_TYPES.includes(one.type) || one.enum !== undefined) return schema;
  return { ...one, type: [one.type, "null"], ...outer };
}

const PLAIN_TYPES: readonly unknown[] = ["string", "integer", "number", "boolean"];

/**
 * Returns a schema whose description does not repeat its other members, as the sentence of a problem must: the words that
 * it allows, or its range.
 */
function describedOnce<S extends object>(schema: S): S {
  const { type, enum: words, minimum, maximum, description } = schema as JsonObject;
  if (typeof description !== "string") return schema;
  const told = Array.isArray(words)
    ? `: ${words.join(", ")}.`
    : type === "boolean"
      ? ": true or false."
      : `: an integer from ${minimum} to ${maximum}.`;
  return description.endsWith(told) ? { ...schema, description: `${description.slice(0, -told.length)}.` } : schema;
}

/** Removes from a schema, and from all below it, that objects have no other members. */
function open(schema: unknown): void {
  if (typeof schema !== "object" || schema === null) return;
  if ("additionalProperties" in schema && schema.additionalProperties === false) delete schema.additionalProperties;
  for (const each of Object.values(schema)) open(each);
}

/** Returns `DataReadFull` for `data.read_full`. */
export const pascalCase = (name: string): string =>
  name.replace(/(?:^|[._])(.)/g, (_match, letter: string) => letter.toUpperCase());

/** The components of one document: everything to which its operations refer, each described once. */
import type { TSchema } from "@sinclair/typebox";
import { EVERY_RESPONSE, HEADERS, type HeaderName } from "../../../../api/headers.ts";
import { componentOf } from "../../../../api/shapes.ts";
import type { JsonObject, JsonValue } from "../../../../json.ts";
import { PROBLEMS, type ProblemCode } from "../../../../problem.ts";
import { ProblemSchema } from "./problem-schema.ts";
import { describedOnce, shortened, withDefaultInWords, without } from "./schema-words.ts";

const SECTIONS = ["schemas", "responses", "parameters", "headers"] as const;
type Section = (typeof SECTIONS)[number];

/** The parts that operations may share. */
export interface OperationParts {
  operationId: string;
  parameters?: JsonObject[];
  requestBody?: JsonObject;
  responses: Record<string, JsonObject>;
}

/** A place in the document whose value may also be elsewhere. */
interface Place {
  /** The name of a component with this value. */
  name: string;
  value: JsonObject;
  /** Replaces the value by a reference. */
  put(reference: JsonObject): void;
}

/** The problems of recorded operations. With other problems, a request is refused before its operation. */
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
  // This is for a recorded stream that could not start.
  "unavailable",
]);

export class Components {
  readonly #sections: Record<Section, Record<string, JsonObject>> = {
    schemas: {},
    responses: {},
    parameters: {},
    headers: {},
  };

  /** The codes of problems that the document names, and those of paths that it does not have. */
  readonly #codes = new Set<string>(["not_found", "method_not_allowed"]);

  /** Returns the sections that are not empty. The problem has the codes that the document names. */
  get all(): JsonObject {
    const { properties } = this.#sections.schemas.Problem as { properties: { code: { enum: string[] } } };
    properties.code.enum = properties.code.enum.filter((each) => this.#codes.has(each));
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
    const { description, default: usual } = value as TSchema;
    return description === named.original.description && usual === undefined
      ? reference
      : { ...reference, description: withDefaultInWords(describedOnce(value as TSchema)).description as string };
  }

  #members(schema: object): JsonObject {
    const members = Object.entries(shortened(schema));
    return Object.fromEntries(members.map(([name, value]) => [name, this.#plain(value)]));
  }

  /**
   * Returns the `headers` of a response as references: those of every response, and `names`. The components have
   * letters as names, since there are hundreds of references, each of which is under the name of its header anyway.
   */
  headers(names: readonly HeaderName[]): JsonObject {
    const refer = (name: HeaderName) => this.#refer("headers", LETTERS.get(name) as string, () => HEADERS[name]);
    return { headers: Object.fromEntries([...EVERY_RESPONSE, ...names].map((name) => [name, refer(name)])) };
  }

  /** Refers to a response that other operations also have. */
  response(name: string, describe: () => JsonObject): JsonObject {
    return this.#refer("responses", name, describe);
  }

  /**
   * Returns one response for each status of an operation's specific problems, and `default` for all other problems.
   * @param usual the problems of any request
   */
  problems(specific: readonly ProblemCode[], usual: readonly ProblemCode[]): JsonObject {
    const responses: JsonObject = {};
    for (const code of [...specific, ...usual]) this.#codes.add(code);
    for (const status of [...new Set(specific.map(statusOf))].sort()) {
      const named = specific.filter((code) => statusOf(code) === status).sort();
      const codes = [...new Set([...named, ...usual.filter((code) => statusOf(code) === status)])];
      const isRecorded = status === NOT_FOUND || codes.some((code) => RECORDED_PROBLEMS.has(code));
      const further = [...new Set(codes.flatMap(headersOf))];
      const headers = [...(isRecorded ? RECORDED : []), ...further];
      const own = named.length === 1 ? OWN_RESPONSES[named[0] as ProblemCode] : undefined;
      responses[status] =
        own === undefined
          ? {
              ...this.response(nameOf(isRecorded, further), () => this.#problem(["Refused."], headers)),
              description: status === NOT_FOUND ? `${named.map(quoted).join(" or ")}.` : codes.map(shown).join(" "),
            }
          : this.response(own, () => this.#problem(codes.map(shown), headers));
    }
    const words = usual.map((code) => `${statusOf(code)} ${shown(code)}`);
    responses.default = this.response("Other", () => this.#problem(words, usual.flatMap(headersOf)));
    return responses;
  }

  /** Replaces parameters and answers that several operations share by references to components. */
  share(operations: readonly OperationParts[]): void {
    for (const operation of operations) if (operation.parameters?.length === 0) delete operation.parameters;
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

  /**
   * Distinguishes schemas of answers and of requests. Objects that are only in answers allow further members, which a
   * later version may add. Each request has a complete example, so only schemas of answers keep their examples.
   */
  divide(operations: readonly OperationParts[]): void {
    const asked = this.#reached(operations.map(({ parameters, requestBody }) => [parameters, requestBody]));
    const answered = this.#reached(operations.map(({ responses }) => responses));
    for (const schema of Object.values(this.#sections.schemas)) {
      if (!asked.has(schema)) without(schema, "additionalProperties", false);
      if (!answered.has(schema)) without(schema, "examples");
    }
  }

  /** Returns the components that a part of the document refers to, directly or not. */
  #reached(part: unknown): Set<JsonObject> {
    const found = new Set<JsonObject>();
    const visit = (value: unknown): void => {
      if (typeof value !== "object" || value === null) return;
      if ("$ref" in value) {
        const [section, name] = String(value.$ref).split("/").slice(-2) as [Section, string];
        const component = this.#sections[section][name] as JsonObject;
        if (found.has(component)) return;
        found.add(component);
        visit(component);
      }
      for (const each of Object.values(value)) visit(each);
    };
    visit(part);
    return found;
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

/**
 * The names of responses that most operations have, which are components with a description. All others with the same
 * headers share a component, and each reference has its own description.
 */
const OWN_RESPONSES: Readonly<Partial<Record<ProblemCode, string>>> = {
  invalid_request: "Invalid",
  quota_exceeded: "Full",
  agent_suspended: "Suspended",
};

/** Returns the name of the component for a problem without its own response. */
const nameOf = (isRecorded: boolean, further: readonly HeaderName[]): string =>
  [isRecorded ? "Recorded" : "Refused", ...further].join("").replaceAll("-", "");

/** The status for which nearly every operation has its own code, whose name is descriptive enough. */
const NOT_FOUND = 404;

const LETTERS = new Map(Object.keys(HEADERS).map((name, at) => [name, String.fromCharCode("A".charCodeAt(0) + at)]));

const statusOf = (code: ProblemCode): number => PROBLEMS[code][0];
const quoted = (code: ProblemCode): string => `\`${code}\``;
const shown = (code: ProblemCode): string => `${quoted(code)}: ${PROBLEMS[code][1]}.`;

/** Headers of problems that are recorded. */
const RECORDED: readonly HeaderName[] = ["X-Audit-Id", "Idempotent-Replayed"];

/** Further headers of responses with a problem. */
function headersOf(code: ProblemCode): readonly HeaderName[] {
  const status = statusOf(code);
  if (status === 401) return ["WWW-Authenticate"];
  return status === 429 || status === 503 || code === "idempotency_in_progress" ? ["Retry-After"] : [];
}

/** Returns `DataReadFull` for `data.read_full`. */
export const pascalCase = (name: string): string =>
  name.replace(/(?:^|[._])(.)/g, (_match, letter: string) => letter.toUpperCase());

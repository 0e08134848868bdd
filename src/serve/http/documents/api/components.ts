/** The components of one document: everything to which its operations refer, each described once. */
import type { TSchema } from "@sinclair/typebox";
import { EVERY_RESPONSE, HEADERS, type HeaderName } from "../../../../api/headers.ts";
import { componentOf } from "../../../../api/shapes.ts";
import type { JsonObject, JsonValue } from "../../../../json.ts";
import { PROBLEMS, type ProblemCode } from "../../../../problem.ts";
import { ProblemSchema } from "./problem-schema.ts";
import { inWords, withDefaultInWords } from "./schema-words.ts";

const SECTIONS = ["schemas", "responses", "headers"] as const;
type Section = (typeof SECTIONS)[number];

/** The parts of an operation that refer to components. */
export type OperationParts = { parameters?: JsonObject[]; requestBody?: JsonObject; responses: JsonObject };

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
  "version_gone",
  "version_quarantined",
  "already_quarantined",
  "preview_changed",
  "not_a_write",
  "blocked",
  "version_present",
  "version_gone",
  "moment_gone",
  "restore_blocked",
  "count_mismatch",
  "not_a_write",
  "version_conflict",
  "quota_exceeded",
  // This is for a recorded stream that could not start.
  "unavailable",
]);

export class Components {
  readonly #sections: Record<Section, Record<string, JsonObject>> = { schemas: {}, responses: {}, headers: {} };

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
      : { ...reference, description: withDefaultInWords(value as TSchema).description as string };
  }

  #members(schema: object): JsonObject {
    const members = Object.entries(inWords(schema));
    return Object.fromEntries(members.map(([name, value]) => [name, this.#plain(value)]));
  }

  /** Returns the `headers` of a response as references: those of every response, and `names`. */
  headers(names: readonly HeaderName[]): JsonObject {
    const refer = (name: HeaderName) => this.#refer("headers", name, () => HEADERS[name]);
    return {
      headers: Object.fromEntries([...new Set([...EVERY_RESPONSE, ...names])].map((name) => [name, refer(name)])),
    };
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
    for (const code of [...specific, ...usual]) this.#codes.add(code);
    const responses: JsonObject = {};
    for (const [status, named] of Map.groupBy([...new Set(specific)].sort(), statusOf)) {
      const others = usual.filter((code) => statusOf(code) === status && !named.includes(code));
      const codes = [...named, ...others];
      // Nearly every operation records that it did not find something, or that it is gone.
      const recorded =
        status === 404 || status === 410 || codes.some((code) => RECORDED_PROBLEMS.has(code)) ? RECORDED : [];
      const name = [...named.map(pascalCase), ...(others.length > 0 ? ["Other"] : [])].join("Or");
      responses[status] = this.response(name, () =>
        this.#problem(codes.map(shown), [...recorded, ...codes.flatMap(headersOf)]),
      );
    }
    const words = usual.map((code) => `${statusOf(code)} ${shown(code)}`);
    responses.default = this.response("OtherProblem", () => this.#problem(words, usual.flatMap(headersOf)));
    return responses;
  }

  /** Lets objects that are only in answers have further members, which a later version may add. */
  openAnswers(operations: readonly OperationParts[]): void {
    const asked = this.#reached(operations.map(({ parameters, requestBody }) => [parameters, requestBody]));
    for (const schema of Object.values(this.#sections.schemas)) if (!asked.has(schema)) open(schema);
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

  #problem(words: readonly string[], headers: readonly HeaderName[]): JsonObject {
    return {
      description: words.join(" "),
      ...this.headers(headers),
      content: { "application/problem+json": { schema: this.schema(ProblemSchema) } },
    };
  }
}

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

/** Removes from a schema, and from those in it, that it has no other members. */
function open(schema: unknown): void {
  if (typeof schema !== "object" || schema === null) return;
  const members = schema as Record<string, unknown>;
  if (members.additionalProperties === false) delete members.additionalProperties;
  for (const each of Object.values(members)) open(each);
}

/** Returns `DataReadFull` for `data.read_full`. */
export const pascalCase = (name: string): string =>
  name.replace(/(?:^|[._])(.)/g, (_match, letter: string) => letter.toUpperCase());

/** The components of one document: everything that its operations refer to, each described once. */
import { isDeepStrictEqual } from "node:util";
import type { TSchema } from "@sinclair/typebox";
import type { JsonObject, JsonValue } from "../../../json.ts";
import { PROBLEMS, type ProblemCode } from "../../../problem.ts";
import { componentOf } from "../../shapes.ts";
import { HEADERS, type HeaderName } from "./headers.ts";
import { ProblemSchema } from "./problem-schema.ts";

const SECTIONS = ["schemas", "responses", "parameters", "headers"] as const;
type Section = (typeof SECTIONS)[number];

/** The headers of every response. */
export const EVERYWHERE: readonly HeaderName[] = [
  "X-Request-Id",
  "Cache-Control",
  "X-Content-Type-Options",
  "RateLimit-Policy",
  "RateLimit",
];

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

/** `Retry-After` of a status that also has codes without it. */
const RETRY_AFTER_SOME: JsonObject = {
  "Retry-After": {
    ...HEADERS["Retry-After"],
    description: "With `idempotency_in_progress`: seconds to wait.",
    required: false,
  },
};

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
    const members = Object.entries(withWords(schema)).filter(([name, value]) => !isOwn(name, value));
    return Object.fromEntries(members.map(([name, value]) => [name, this.#plain(value)]));
  }

  /** Refers to headers of a response. */
  headers(names: readonly HeaderName[]): JsonObject {
    const refer = (name: HeaderName) => this.#refer("headers", name.replaceAll(/^X-|-/g, ""), () => HEADERS[name]);
    return Object.fromEntries(names.map((name) => [name, refer(name)]));
  }

  /** Refers to a parameter that is the same in other operations, or returns it if another one has its name. */
  parameter(parameter: JsonObject): JsonObject {
    const name = `${parameter.in}.${parameter.name}`;
    const known = this.#sections.parameters[name];
    if (known !== undefined && !isDeepStrictEqual(known, parameter)) return parameter;
    return this.#refer("parameters", name, () => parameter);
  }

  /** Refers to a response that another operation has as well. */
  response(name: string, describe: () => JsonObject): JsonObject {
    return this.#refer("responses", name, describe);
  }

  /** Returns one response per status of these problems. `usual` are those that give a response no name of its own. */
  problems(specific: readonly ProblemCode[], usual: readonly ProblemCode[]): JsonObject {
    const codes = [...new Set([...specific].sort().concat(usual))];
    const responses: JsonObject = {};
    for (const status of [...new Set(codes.map((code) => PROBLEMS[code][0]))].sort()) {
      const ofStatus = codes.filter((code) => PROBLEMS[code][0] === status);
      const named = ofStatus.filter((code) => !usual.includes(code));
      const firstUsual = ofStatus.find((code) => usual.includes(code));
      const name = [...named, ...(firstUsual === undefined ? [] : [firstUsual])].map(pascalCase).join("Or");
      responses[status] = this.response(name, () => this.#problem(status, ofStatus));
    }
    return responses;
  }

  #problem(status: number, codes: readonly ProblemCode[]): JsonObject {
    const isRecorded = codes.some((code) => RECORDED_PROBLEMS.has(code));
    const headers: HeaderName[] = [...EVERYWHERE];
    if (isRecorded) headers.push("X-Audit-Id", "Idempotent-Replayed");
    if (status === 429 || status === 503) headers.push("Retry-After");
    if (status === 401) headers.push("WWW-Authenticate");
    return {
      description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code][1]}.`).join(" "),
      headers: { ...this.headers(headers), ...(codes.includes("idempotency_in_progress") && RETRY_AFTER_SOME) },
      content: { "application/problem+json": { schema: this.schema(ProblemSchema) } },
    };
  }
}

/** Returns a union of words as an `enum`, which generators understand better; any other schema as it is. */
function withWords(schema: object): object {
  const { anyOf, ...rest } = schema as { anyOf?: { const?: unknown }[] };
  if (anyOf === undefined || !anyOf.every((each) => typeof each.const === "string")) return schema;
  return { type: "string", enum: [...new Set(anyOf.map((each) => each.const))], ...rest };
}

/** Returns `DataReadFull` for `data.read_full`. */
export const pascalCase = (name: string): string =>
  name.replace(/(?:^|[._])(.)/g, (_match, letter: string) => letter.toUpperCase());

/**
 * The common parts of the OpenAPI documents, which are made from the schemas that validate requests. One document is
 * about `/v1`, for programs with an API key, and one about `/account`, for the sessions of people. They are separate,
 * so that a client that is generated from the first has only one way to authenticate.
 */
import { swagger } from "@elysiajs/swagger";
import { Elysia } from "elysia";
import { exampleOf } from "../../../../api/example.ts";
import type { AnyRoute, CompiledEndpoint } from "../../../../api/route.ts";
import type { JsonObject } from "../../../../json.ts";
import { Components, type OperationParts, pascalCase } from "./components.ts";
import { parametersOf, withNames } from "./parameters.ts";
import { responsesOf } from "./responses.ts";

/** The beginning of both documents. */
const HEAD = {
  // JSON Schema 2020-12, which is what the schemas are.
  openapi: "3.1.0",
  servers: [{ url: "/", description: "This daemon." }],
};

/** The `info` of both documents. */
export const INFO = {
  version: "1",
  contact: { name: "The operator of this daemon" },
  license: { name: "Apache-2.0", identifier: "Apache-2.0" },
};

/** An operation of a document. */
export interface Described {
  method: string;
  path: string;
  describe(components: Components): JsonObject;
}

/** Where the application that only collects the operations of a document has it. */
const SPEC_PATH = "/document.json";

/**
 * Returns a document as JSON text, which the plugin makes from the routes of an application. That application gets no
 * other requests: the plugin's page would load its program from elsewhere.
 * @param about its `info`, `tags` and `security`
 */
export async function documentJson(
  about: JsonObject,
  securitySchemes: JsonObject,
  operations: readonly Described[],
): Promise<string> {
  const components = new Components();
  const described = operations.map(({ method, path, describe }) => ({ method, path, detail: describe(components) }));
  components.openAnswers(described.map(({ detail }) => detail as OperationParts));
  const documentation = { ...HEAD, ...about, components: { ...components.all, securitySchemes } };
  const app = new Elysia({ aot: false }).use(swagger({ specPath: SPEC_PATH, documentation: documentation as never }));
  for (const { method, path, detail } of described)
    app.route(method, withNames(path), () => "", { detail: detail as never });
  return (await app.handle(new Request(`http://localhost${SPEC_PATH}`))).text();
}

/** Returns the operation of a route. `more` follows its description. */
export function describedRoute(route: AnyRoute, tag: string, more: string): Described {
  const { method, path, name, summary, description, by } = route;
  const describe = (components: Components) => ({
    operationId: camelCase(name),
    tags: [tag],
    summary,
    description: more === "" ? description : `${description}\n\n${more}`,
    ...((by === "anyone" || by === "issuer") && { security: [] }),
    parameters: parametersOf({ ...route, query: route.query?.schema }, components),
    ...requestBodyOf(route, components),
    responses: responsesOf(route, components),
  });
  return { method, path, describe };
}

/** Describes the body of a request. Its schema is a component, called after the operation unless it has a name. */
export function requestBodyOf({ body, bodyOptional, name }: CompiledEndpoint, components: Components) {
  if (body === null) return {};
  const schema = components.namedSchema(`${pascalCase(name)}Request`, body.schema);
  const content = { "application/json": { schema, example: exampleOf(body.schema, name) } };
  return { requestBody: { required: !bodyOptional, content } };
}

/** Returns `dataReadFull` for `data.read_full`. */
export const camelCase = (name: string): string =>
  name.replace(/[._](.)/g, (_match, letter: string) => letter.toUpperCase());

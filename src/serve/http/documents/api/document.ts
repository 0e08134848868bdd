/**
 * The common parts of the OpenAPI documents, which are made from the schemas that validate requests. One document is
 * about `/v1`, for programs with an API key, and one about `/account`, for the sessions of people. They are separate,
 * so that a client that is generated from the first has only one way to authenticate.
 */

import { exampleOf } from "../../../../api/example.ts";
import type { CompiledEndpoint } from "../../../../api/route.ts";
import type { JsonObject } from "../../../../json.ts";
import { Components, type OperationParts, pascalCase } from "./components.ts";
import { templateOf } from "./parameters.ts";

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

/** Returns a document as JSON text. `about` has its `info`, `tags` and `security`. */
export function documentJson(about: JsonObject, securitySchemes: JsonObject, operations: readonly Described[]): string {
  const components = new Components();
  const paths: Record<string, JsonObject> = {};
  for (const { method, path, describe } of operations) {
    const template = templateOf(path);
    paths[template] ??= {};
    paths[template][method.toLowerCase()] = describe(components);
  }
  const described = Object.values(paths).flatMap((each) => Object.values(each)) as unknown as OperationParts[];
  components.share(described);
  components.divide(described);
  return JSON.stringify({ ...HEAD, ...about, paths, components: { ...components.all, securitySchemes } });
}

/** Describes the body of a request. Its schema is a component, called after the operation unless it has a name. */
export function requestBodyOf({ body, bodyOptional }: CompiledEndpoint, name: string, components: Components) {
  if (body === null) return {};
  const schema = components.namedSchema(`${pascalCase(name)}Request`, body.schema);
  const content = { "application/json": { schema, example: exampleOf(body.schema, name) } };
  return { requestBody: { required: !bodyOptional, content } };
}

/** Returns `dataReadFull` for `data.read_full`. */
export const camelCase = (name: string): string =>
  name.replace(/[._](.)/g, (_match, letter: string) => letter.toUpperCase());

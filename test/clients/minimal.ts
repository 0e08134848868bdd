/** A program that calls every operation of the API's document with only what the document requires. */
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/json.ts";
import { document, exampleIn, resolved } from "../http/support/openapi.ts";

type Schema = JsonObject & { properties?: Record<string, JsonObject>; required?: string[]; anyOf?: JsonObject[] };

/** Returns the members of an example that a schema of the document requires, in it and in what it contains. */
function required(schema: JsonObject, example: JsonValue): JsonValue {
  const { properties = {}, required: needed = [], anyOf, items } = resolved(document, schema) as Schema;
  if (anyOf?.[0] !== undefined) return required(anyOf[0], example);
  if (Array.isArray(example)) return example.map((each) => required((items ?? {}) as JsonObject, each));
  if (!isJsonObject(example) || Object.keys(properties).length === 0) return example;
  return Object.fromEntries(
    needed.map((name) => [name, required(properties[name] as JsonObject, example[name] as JsonValue)]),
  );
}

/** The arguments of a call, as both clients take them, in the parts of a request. */
interface Call {
  method: string;
  path: string;
  operationId: string;
  parts: { path?: JsonObject; query?: JsonObject; body?: JsonValue };
}

function calls(): Call[] {
  return Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { operationId, parameters = [], requestBody }]) => {
      const parts: Call["parts"] = {};
      for (const parameter of parameters.map((each) => resolved(document, each))) {
        const { name, in: where, schema, example } = parameter;
        if (!("required" in parameter) || (where !== "path" && where !== "query")) continue;
        parts[where] = { ...parts[where], [name]: (example ?? exampleIn(document, schema)) as JsonValue };
      }
      const body = requestBody as (typeof requestBody & { required?: boolean }) | undefined;
      const content = body?.content["application/json"];
      if (content !== undefined && body?.required === true)
        parts.body = required(content.schema as JsonObject, exampleIn(document, content.schema) as JsonValue);
      return { method, path, operationId, parts };
    }),
  );
}

/** Returns the program. It compiles exactly if the types of both clients require nothing more. */
export function minimalProgram(): string {
  const all = calls();
  const ofFetch = all.map(({ method, path, parts: { body, ...params } }) => {
    const parts = { ...(Object.keys(params).length > 0 && { params }), ...(body !== undefined && { body }) };
    const rest = Object.keys(parts).length === 0 ? "" : `, ${JSON.stringify(parts)}`;
    return `  () => fetching.${method.toUpperCase()}(${JSON.stringify(path)}${rest}),`;
  });
  const ofHeyApi = all.map(({ operationId, parts }) => `  () => heyApi.${operationId}(${JSON.stringify(parts)}),`);
  return [
    'import createClient from "openapi-fetch";',
    'import * as heyApi from "../generated/hey-api/index.ts";',
    'import type { paths } from "../generated/openapi-typescript.ts";',
    "const fetching = createClient<paths>();",
    "export const calls = [",
    ...ofFetch,
    ...ofHeyApi,
    "];",
  ].join("\n");
}

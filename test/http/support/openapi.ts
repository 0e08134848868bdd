/** Checks real answers against the OpenAPI document that the daemon serves. */
import { expect } from "bun:test";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { actions, apiRoutes } from "../../../src/http/app.ts";
import { openApiJson } from "../../../src/http/documents/api/openapi.ts";

interface Document {
  paths: Record<string, Record<string, OperationDoc>>;
}

export interface OperationDoc {
  operationId: string;
  description?: string;
  responses: Record<string, ResponseDoc>;
}

interface ResponseDoc {
  headers?: Record<string, object>;
  content?: Record<string, { schema: object }>;
}

export const document = JSON.parse(await openApiJson(apiRoutes, actions)) as Document;

const DOCUMENT_ID = "urn:governd:openapi";
const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
ajv.addSchema(document, DOCUMENT_ID);
const validators = new Map<string, ValidateFunction>();

/** The documented path of a real one, fixed paths before those with parameters. */
export function documentedPath(path: string): string | undefined {
  const bare = path.replace(/\?.*$/, "");
  if (bare in document.paths) return bare;
  return Object.keys(document.paths).find((template) =>
    new RegExp(`^${template.replace(/\{[a-z_]+\}/g, "[^/]+")}$`).test(bare),
  );
}

/** Fails unless the document describes this answer and the body (parsed JSON) is of the described form. */
export function assertMatchesOpenApi(method: string, path: string, status: number, body: unknown): void {
  const template = documentedPath(path);
  const operation = template === undefined ? undefined : document.paths[template]?.[method.toLowerCase()];
  expect(operation, `${method} ${path} is documented`).toBeDefined();
  const response = operation?.responses[status];
  expect(response, `${method} ${path} documents ${status}`).toBeDefined();
  const type = status >= 400 ? "application/problem+json" : "application/json";
  const pointer = [
    "paths",
    template as string,
    method.toLowerCase(),
    "responses",
    String(status),
    "content",
    type,
    "schema",
  ];
  const reference = `${DOCUMENT_ID}#/${pointer.map(escapePointer).join("/")}`;
  let validate = validators.get(reference);
  if (validate === undefined) {
    validate = ajv.compile({ $ref: reference });
    validators.set(reference, validate);
  }
  const valid = validate(body);
  expect(validate.errors ?? [], `${method} ${path} ${status} is as documented`).toEqual([]);
  expect(valid).toBe(true);
}

/** Whether the document says of this answer that `X-Audit-Id` may come with it. */
export function documentsAuditId(method: string, path: string, status: number): boolean {
  const operation = document.paths[documentedPath(path) ?? ""]?.[method.toLowerCase()];
  return operation?.responses[status]?.headers?.["X-Audit-Id"] !== undefined;
}

function escapePointer(part: string): string {
  return encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1"));
}

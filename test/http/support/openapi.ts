/** Checks real answers against the OpenAPI documents that the daemon serves. */
import { expect } from "bun:test";
import type { TSchema } from "@sinclair/typebox";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { exampleOf } from "../../../src/api/example.ts";
import { accountRoutes, apiRoutes } from "../../../src/serve/http/app.ts";
import { accountJson } from "../../../src/serve/http/documents/api/account.ts";
import { openApiJson } from "../../../src/serve/http/documents/api/openapi.ts";

export interface Document {
  info: { description: string };
  paths: Record<string, Record<string, OperationDoc>>;
  components: Record<string, Record<string, unknown>>;
  security: object[];
}

export interface OperationDoc {
  operationId: string;
  summary?: string;
  description?: string;
  security?: object[];
  parameters?: { name: string; in: string; schema: object; example?: unknown }[];
  requestBody?: { content: Record<string, ContentDoc> };
  responses: Record<string, ResponseDoc>;
}

export interface ContentDoc {
  schema: object;
  example?: unknown;
}

export interface ResponseDoc {
  description?: string;
  headers?: Record<string, object>;
  content?: Record<string, ContentDoc>;
}

/** The document of `/v1`, and that of `/account`. */
export const document = JSON.parse(await openApiJson(apiRoutes)) as Document;
export const accountDocument = JSON.parse(await accountJson(accountRoutes)) as Document;

const ID_OF = new Map([
  [document, "urn:governd:openapi"],
  [accountDocument, "urn:governd:openapi-account"],
]);
const validators = new Map<string, ValidateFunction>();
let ajv: Ajv2020 | null = null;

/** Returns what compiles the schemas of both documents. Made when first needed: many tests look only at headers. */
function compiler(): Ajv2020 {
  if (ajv !== null) return ajv;
  ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  for (const [each, id] of ID_OF) ajv.addSchema(closed(each), id);
  return ajv;
}

/** Returns a copy in which no object has other members than those that are described: an answer has none of them. */
function closed<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(closed) as T;
  const members = Object.fromEntries(Object.entries(value).map(([name, each]) => [name, closed(each)]));
  const isObject = "type" in value && value.type === "object" && "properties" in value;
  return (isObject ? { additionalProperties: false, ...members } : members) as T;
}

const documentOf = (path: string): Document => (path.startsWith("/account") ? accountDocument : document);

/** The documented path of a real one, fixed paths before those with parameters. */
export function documentedPath(path: string): string | undefined {
  const bare = path.replace(/\?.*$/, "");
  const { paths } = documentOf(path);
  if (bare in paths) return bare;
  return Object.keys(paths).find((template) => new RegExp(`^${template.replace(/\{[a-z_]+\}/g, "[^/]+")}$`).test(bare));
}

/** The operation that documents a request, undefined for one that is not documented. */
const documented = (method: string, path: string): OperationDoc | undefined =>
  documentOf(path).paths[documentedPath(path) ?? ""]?.[method.toLowerCase()];

/** Returns what a reference of a document refers to; anything else as it is. */
export function resolved<T extends object>(of: Document, value: T): T {
  if (!("$ref" in value)) return value;
  const names = String(value.$ref).slice("#/components/".length).split("/") as [string, string];
  return of.components[names[0]]?.[names[1]] as T;
}

const wholes = new Map<object, TSchema>();

/** Returns a schema of a document with what it refers to in place of the references. */
function whole(of: Document, schema: object): TSchema {
  const found = resolved(of, schema) as TSchema;
  let made = wholes.get(found);
  if (made === undefined) {
    made = (Array.isArray(found) ? [] : {}) as unknown as TSchema;
    // A schema may refer to itself.
    wholes.set(found, made);
    const inside = (value: unknown) => (typeof value === "object" && value !== null ? whole(of, value) : value);
    for (const [name, value] of Object.entries({ ...madeUp(found), ...found })) made[name] = inside(value);
  }
  return made;
}

/** Returns the example that readers make of any text, of null, and of an object with any members. */
function madeUp({ type, pattern, format, properties, enum: words, const: word }: TSchema): { examples?: unknown[] } {
  if ([type].flat().includes("null")) return { examples: [null] };
  if (type === "object" && properties === undefined) return { examples: [{}] };
  return type === "string" && (pattern ?? format ?? words ?? word) === undefined ? { examples: ["string"] } : {};
}

/** Returns the example that a reader makes of a schema of a document. @throws {TypeError} where nothing makes one */
export const exampleIn = (of: Document, schema: object): unknown => exampleOf(whole(of, schema));

/** Returns under which name an operation has the response with a status. Problems of any request are the `default`. */
const answerName = (operation: OperationDoc | undefined, status: number): string =>
  operation?.responses[status] === undefined && status >= 400 ? "default" : String(status);

/** Returns the documented response with a status, and where it stands in the document. */
function responseAt(method: string, path: string, status: number) {
  const operation = documented(method, path);
  expect(operation, `${method} ${path} is documented`).toBeDefined();
  const name = answerName(operation, status);
  const found = operation?.responses[name] as ResponseDoc;
  expect(found, `${method} ${path} documents ${status}`).toBeDefined();
  const pointer =
    "$ref" in found
      ? String(found.$ref)
      : `#/${["paths", documentedPath(path) as string, method.toLowerCase(), "responses", name].map(escapePointer).join("/")}`;
  const response = resolved(documentOf(path), found);
  // A reference may have words of its own.
  return { response, pointer, words: found.description ?? response.description };
}

/** Fails unless the document describes this answer and the body (parsed JSON) is of the described form. */
export function assertMatchesOpenApi(method: string, path: string, status: number, body: unknown): void {
  const type = status >= 400 ? "application/problem+json" : "application/json";
  const { pointer, words } = responseAt(method, path, status);
  if (status >= 400) expect(words, path).toContain(`\`${(body as { code: string }).code}\``);
  const reference = `${ID_OF.get(documentOf(path))}${pointer}/content/${escapePointer(type)}/schema`;
  let validate = validators.get(reference);
  if (validate === undefined) {
    validate = compiler().compile({ $ref: reference });
    validators.set(reference, validate);
  }
  const valid = validate(body);
  expect(validate.errors ?? [], `${method} ${path} ${status} is as documented`).toEqual([]);
  expect(valid).toBe(true);
}

/** Headers that frame a message of HTTP rather than belong to an operation. */
const FRAMING: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "content-type",
  "date",
  "keep-alive",
  "transfer-encoding",
]);

/** Fails unless the document declares every header of an answer, and its media type. Other paths are not its matter. */
export function assertDeclaresHeaders(method: string, path: string, status: number, headers: Headers): void {
  if (documented(method, path) === undefined) return;
  const { response } = responseAt(method, path, status);
  const declared = new Set(Object.keys(response.headers ?? {}).map((name) => name.toLowerCase()));
  const undeclared = [...headers.keys()].filter((name) => !declared.has(name) && !FRAMING.has(name));
  expect(undeclared, `${method} ${path} ${status} sends undeclared headers`).toEqual([]);
  const types = Object.keys(response.content ?? {});
  const type = headers.get("content-type")?.replace(/;.*/, "");
  if (types.length > 0) expect(types, `${method} ${path} ${status}`).toContain(type as string);
}

/** Whether the document says of this answer that `X-Audit-Id` may come with it. */
export function documentsAuditId(method: string, path: string, status: number): boolean {
  const operation = documented(method, path);
  const response = operation?.responses[answerName(operation, status)];
  return response !== undefined && resolved(documentOf(path), response).headers?.["X-Audit-Id"] !== undefined;
}

function escapePointer(part: string): string {
  return encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1"));
}

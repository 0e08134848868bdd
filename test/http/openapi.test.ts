import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Validator } from "@seriousme/openapi-schema-validator";
import { exampleOf } from "../../src/api/example.ts";
import type { CompiledEndpoint } from "../../src/api/route.ts";
import type { JsonObject } from "../../src/json.ts";
import { PROBLEMS } from "../../src/problem.ts";
import { accountRoutes, apiRoutes } from "../../src/serve/http/app.ts";
import {
  accountDocument,
  assertMatchesOpenApi,
  type Document,
  document,
  exampleIn,
  type OperationDoc,
  resolved,
} from "./support/openapi.ts";
import { serveTls, type TestServer } from "./support/serve.ts";

let server: TestServer;
beforeAll(async () => {
  server = await serveTls();
});
afterAll(() => server[Symbol.asyncDispose]());

test.each(["/v1/openapi.json", "/account/openapi.json"])("%s is valid OpenAPI 3.1", async (path) => {
  const answer = await server.send({ path, key: null });
  expect(answer.status).toBe(200);
  const validator = new Validator();
  const result = await validator.validate(answer.json);
  expect(result.errors ?? []).toEqual([]);
  expect(result.valid).toBe(true);
  expect(validator.version).toBe("3.1");
});

/** Both documents with the routes that they are about. */
const DOCUMENTS = [
  { name: "/v1", of: document, routes: apiRoutes as readonly CompiledEndpoint[] },
  { name: "/account", of: accountDocument, routes: accountRoutes as readonly CompiledEndpoint[] },
];

const OPERATIONS = DOCUMENTS.flatMap(({ of }) =>
  Object.entries(of.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      of,
      name: `${method.toUpperCase()} ${path}`,
      operation,
    })),
  ),
);

test("every route is documented", () => {
  for (const { of, routes: some } of DOCUMENTS) {
    for (const { method, path } of some) {
      const template = path.replace(/:([a-z_]+)/g, "{$1}").replace("*", "{tile}");
      const operation = of.paths[template]?.[method.toLowerCase()];
      expect(operation, `${method} ${template}`).toBeDefined();
      const { parameters = [] } = operation as OperationDoc;
      const inPath = parameters.filter((each) => resolved(of, each).in === "path");
      expect(inPath.length).toBe((path.match(/[:*]/g) ?? []).length);
    }
  }
});

/** Whether something has an example of its own, or one that follows from its schema as the document shows it. */
function hasExample(of: Document, { schema, example }: { schema: object; example?: unknown }): boolean {
  try {
    return (example ?? exampleIn(of, schema)) !== undefined;
  } catch (error) {
    if (error instanceof TypeError) return false;
    throw error;
  }
}

/** What a generator or a reader stumbles over, in one operation. */
function flaws(
  of: Document,
  { summary, description, parameters = [], requestBody, responses }: OperationDoc,
): string[] {
  const found: string[] = [];
  if (!summary || !description) found.push("no words");
  for (const each of parameters.map((parameter) => resolved(of, parameter)))
    if (!hasExample(of, each)) found.push(`the parameter ${each.name} has no example`);
  for (const { schema, example } of Object.values(requestBody?.content ?? {})) {
    if (!("$ref" in schema)) found.push("a body without a name");
    if (example === undefined) found.push("a body without an example");
  }
  for (const [status, response] of Object.entries(responses)) {
    const isProblem = status === "default" || Number(status) >= 400;
    if (isProblem && !("$ref" in response)) found.push(`${status} is not a component`);
    const { content = {} } = resolved(of, response);
    const [main] = Object.entries(content);
    if (main === undefined) continue;
    const [type, { schema }] = main;
    if (!isProblem && !hasExample(of, main[1])) found.push(`${status} has no example`);
    if (type === "application/json" && !("$ref" in schema)) found.push(`the answer ${status} has no name`);
  }
  return found;
}

test("every operation has words, examples, named bodies and answers, and errors that are described once", () => {
  const all = OPERATIONS.map(({ of, name, operation }) => [name, flaws(of, operation)] as const);
  expect(all.filter(([, found]) => found.length > 0)).toEqual([]);
});

test("every response declares the headers that any response can have", () => {
  const general = ["X-Request-Id", "Cache-Control", "X-Content-Type-Options", "RateLimit-Policy", "RateLimit"];
  const without = OPERATIONS.flatMap(({ of, name, operation: { responses } }) =>
    Object.entries(responses).flatMap(([status, response]) => {
      const { headers = {} } = resolved(of, response);
      return general.filter((header) => !(header in headers)).map((header) => `${name} ${status}: ${header}`);
    }),
  );
  expect(without).toEqual([]);
});

test("requests have no members that are not described, and what only answers have may get more", () => {
  const { schemas = {} } = document.components;
  const isClosed = (name: string) => (schemas[name] as JsonObject).additionalProperties === false;
  const [requests, answers] = [
    ["DataWriteRequest", "Policies", "BatchWrite"],
    ["AuditEvent", "FullEntry", "Agent"],
  ];
  expect([requests.map(isClosed), answers.map(isClosed)]).toEqual([
    [true, true, true],
    [false, false, false],
  ]);
});

test("no schema states a default, since some generators then require the member in every request", () => {
  const stating: string[] = [];
  const visit = (value: unknown, where: string): void => {
    if (typeof value !== "object" || value === null) return;
    const isSchema = ["type", "enum", "$ref", "anyOf", "oneOf"].some((keyword) => keyword in value);
    if (isSchema && "default" in value) stating.push(where);
    for (const [name, member] of Object.entries(value)) visit(member, `${where}/${name}`);
  };
  for (const { name, of } of DOCUMENTS) visit(of, name);
  expect(stating).toEqual([]);
});

test("what a request may leave out says what is then meant, where that is a value", () => {
  const absent = (of: Document) => JSON.stringify(of).match(/If absent: [^."]+\./g) ?? [];
  for (const { of, routes: some } of DOCUMENTS) {
    const members = some.flatMap(({ query, body }) =>
      [query, body].flatMap((each) => Object.values(each?.schema.properties ?? {})),
    );
    const told = new Set(absent(of));
    for (const { default: usual } of members as { default?: unknown }[])
      if (usual !== undefined) expect([...told]).toContain(`If absent: ${usual}.`);
  }
  // What a change leaves out stays as it is.
  expect(JSON.stringify(document.components.schemas?.SinkChangeRequest)).not.toContain("If absent");
});

test("the items of every list have a name", () => {
  const unnamed: string[] = [];
  const visit = (value: unknown, where: string): void => {
    if (typeof value !== "object" || value === null) return;
    if ("items" in value && (value.items as { properties?: object }).properties !== undefined) unnamed.push(where);
    for (const [name, member] of Object.entries(value)) visit(member, `${where}/${name}`);
  };
  for (const { name, of } of DOCUMENTS) visit(of, name);
  expect(unnamed).toEqual([]);
});

test("a client of /v1 has one way to authenticate, and one of /account another", () => {
  expect(document.security).toEqual([{ ApiKey: [] }]);
  expect(Object.keys(document.components.securitySchemes ?? {})).toEqual(["ApiKey"]);
  expect(accountDocument.security).toEqual([{ Session: [] }]);
  for (const [path, operations] of Object.entries(document.paths))
    for (const { security } of Object.values(operations))
      expect(security, path).toEqual(path.startsWith("/v1/") ? undefined : []);
});

test("components have names that a generated client can show", () => {
  for (const { of } of DOCUMENTS) {
    const names = Object.entries(of.components).flatMap(([, section]) => Object.keys(section));
    expect(names.filter((name) => !/^[A-Z][A-Za-z-]{3,}$/.test(name))).toEqual([]);
  }
});

test("examples of requests are valid requests", () => {
  for (const { body } of DOCUMENTS.flatMap((each) => each.routes)) {
    if (body !== null) expect(body.parse(exampleOf(body.schema) as JsonObject)).toBeDefined();
  }
});

test("examples of answers are valid answers", () => {
  for (const { of, name, operation } of OPERATIONS) {
    const [method, path] = name.split(" ") as [string, string];
    for (const [status, response] of Object.entries(operation.responses)) {
      const { content } = resolved(of, response);
      const { schema } = content?.["application/json"] ?? {};
      if (schema !== undefined && Number(status) < 400)
        assertMatchesOpenApi(method, path.replace(/\{[a-z_]+\}/g, "x"), Number(status), exampleIn(of, schema));
    }
  }
});

test("the page loads nothing from elsewhere", async () => {
  const page = await server.send({ path: "/v1/docs", key: null });
  expect(page.status).toBe(200);
  expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
  expect(page.text).not.toMatch(/https?:|<script>|<style|style=/);
  // The plugin that makes the document has a page of its own, which would.
  for (const path of ["/swagger", "/swagger/json", "/document.json"])
    expect((await server.send({ path, key: null })).status).toBe(404);
  const assets = [...page.text.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path]) => path as string);
  expect(assets).toContain("/v1/docs/swagger-ui-bundle.js");
  for (const path of assets) {
    const asset = await server.send({ path, key: null });
    expect(asset.status).toBe(200);
    expect(asset.text.length).toBeGreaterThan(50);
    if (!path.endsWith(".css")) continue;
    const loaded = [...asset.text.matchAll(/@import.{40}|url\(.{9}/g)].map(([found]) => found.replace(/["'\\]/g, ""));
    const own = ["url(data:", "url(/assets"];
    expect(loaded.filter((found) => !own.some((start) => found.startsWith(start)))).toEqual([]);
  }
});

test("the pages for users of the API name every error code, and its status where they have a table", () => {
  const page = (name: string) => readFileSync(join(import.meta.dir, "../../docs", name), "utf8");
  const [api, accounts] = [page("api.md"), page("accounts.md")];
  for (const [code, [status]] of Object.entries(PROBLEMS)) {
    const row = api.split("\n").find((line) => /^\| \d{3} /.test(line) && line.includes(`\`${code}\``));
    if (row === undefined) expect(accounts, code).toContain(`\`${code}\``);
    else expect(row, code).toStartWith(`| ${status} `);
  }
});

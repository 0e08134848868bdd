import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Validator } from "@seriousme/openapi-schema-validator";
import { actions, routes } from "../../src/http/app.ts";
import { exampleOf } from "../../src/http/shapes.ts";
import { PROBLEMS } from "../../src/problem.ts";
import { assertMatchesOpenApi, document } from "./support/openapi.ts";
import { serveTls, type TestServer } from "./support/serve.ts";

let server: TestServer;
beforeAll(async () => {
  server = await serveTls();
});
afterAll(() => server[Symbol.asyncDispose]());

test("the document is valid OpenAPI 3.1", async () => {
  const answer = await server.send({ path: "/v1/openapi.json", key: null });
  expect(answer.status).toBe(200);
  const validator = new Validator();
  const result = await validator.validate(answer.json);
  expect(result.errors ?? []).toEqual([]);
  expect(result.valid).toBe(true);
  expect(validator.version).toBe("3.1");
});

test("every operation is documented with words, examples, errors and the key", () => {
  for (const route of routes) {
    const path = route.path.replace(/:([a-z_]+)/g, "{$1}").replace("*", "{tile}");
    // biome-ignore lint/suspicious/noExplicitAny: the document has every form
    const operation = document.paths[path]?.[route.method.toLowerCase()] as any;
    expect(operation?.summary, `${route.method} ${path}`).toBeString();
    expect(operation.responses[401].content["application/problem+json"].examples.unauthenticated).toBeDefined();
    for (const status of [400, 403, 429, 500, 503]) expect(operation.responses[status]).toBeDefined();
    if (route.body !== null) {
      expect(operation.requestBody.content["application/json"].example).toBeDefined();
      expect(operation.responses[413]).toBeDefined();
    }
    const inPath = operation.parameters.filter((parameter: { in: string }) => parameter.in === "path");
    expect(inPath.length).toBe((route.path.match(/[:*]/g) ?? []).length);
  }
});

test("every route of accounts is documented with words, examples and errors", () => {
  for (const action of actions) {
    const path = action.path.replace(/:([a-z_]+)/g, "{$1}");
    // biome-ignore lint/suspicious/noExplicitAny: the document has every form
    const operation = document.paths[path]?.[action.method.toLowerCase()] as any;
    expect(operation?.summary, `${action.method} ${path}`).toBeString();
    expect(operation.responses[401] !== undefined || action.isPublic).toBe(true);
    for (const status of [400, 403, 429, 500, 503]) expect(operation.responses[status]).toBeDefined();
    if (action.body !== null) expect(action.body.parse(exampleOf(action.body.schema))).toBeDefined();
    const inPath = operation.parameters.filter((parameter: { in: string }) => parameter.in === "path");
    expect(inPath.length).toBe((path.match(/\{/g) ?? []).length);
  }
});

test("examples of requests are valid requests", () => {
  for (const { body } of routes) {
    if (body !== null) expect(body.parse(exampleOf(body.schema))).toBeDefined();
  }
});

test("examples of answers are valid answers", () => {
  for (const { method, path, status, response } of routes) {
    if (response.example !== undefined) {
      assertMatchesOpenApi(method, path.replace(/:[a-z_]+/g, "x"), status, response.example);
    }
  }
});

test("the page loads nothing from elsewhere", async () => {
  const page = await server.send({ path: "/v1/docs", key: null });
  expect(page.status).toBe(200);
  expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
  expect(page.text).not.toMatch(/https?:|<script>|<style|style=/);
  const assets = [...page.text.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path]) => path as string);
  expect(assets).toContain("/v1/docs/swagger-ui-bundle.js");
  for (const path of assets) {
    const asset = await server.send({ path, key: null });
    expect(asset.status).toBe(200);
    expect(asset.text.length).toBeGreaterThan(50);
    if (!path.endsWith(".css")) continue;
    const loaded = [...asset.text.matchAll(/@import.{40}|url\(.{9}/g)].map(([found]) => found.replace(/["'\\]/g, ""));
    expect(loaded.filter((found) => !found.startsWith("url(data:"))).toEqual([]);
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

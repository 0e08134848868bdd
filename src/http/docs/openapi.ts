/** The OpenAPI document, made from the same schemas that validate requests. */
import { swagger } from "@elysiajs/swagger";
import type { TObject } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { JsonObject } from "../../json.ts";
import { isInspection } from "../../workspace/contract.ts";
import type { Route } from "../route.ts";
import { scopesOf } from "../scopes.ts";
import { componentSchemas } from "../shapes.ts";
import { OPENAPI_PATH } from "./page.ts";
import { problemResponses, responsesOf } from "./responses.ts";

const DOCUMENTATION = {
  // JSON Schema 2020-12, which is what the schemas are.
  openapi: "3.1.0",
  info: {
    title: "governd",
    version: "1",
    summary: "Governance for software agents.",
    description:
      "Versioned configs with enforced policies, governed key-value data, checkpoints, and a hash-chained audit trail. Every operation is recorded; `X-Audit-Id` names the event. Errors are problem documents (RFC 9457).",
    license: { name: "Apache-2.0", identifier: "Apache-2.0" },
  },
  servers: [{ url: "/" }],
  tags: [
    { name: "Config", description: "Versioned configs. Their `policies` are enforced." },
    { name: "Checkpoints", description: "Snapshots of an agent's state." },
    { name: "Data", description: "Governed key-value data." },
    { name: "Audit", description: "The hash-chained trail of every operation." },
    { name: "Service", description: "Probes. They need no key." },
  ],
  security: [{ ApiKey: [] }],
};

const API_KEY = {
  type: "apiKey",
  in: "header",
  name: "X-API-Key",
  description:
    "A key belongs to one workspace and selects it. It is secret: keep it out of client-side code.",
};

const TAGS: Readonly<Record<string, string>> = {
  config: "Config",
  checkpoint: "Checkpoints",
  data: "Data",
  audit: "Audit",
};

/** Makes the document's JSON text. Slow: call it once. */
export async function openApiJson(routes: readonly Route[]): Promise<string> {
  // This application never listens: it holds the documented routes for the plugin to read.
  const documented = new Elysia().use(
    swagger({
      specPath: OPENAPI_PATH,
      documentation: {
        ...DOCUMENTATION,
        components: { schemas: componentSchemas(), securitySchemes: { ApiKey: API_KEY } },
      } as never,
    }),
  );
  for (const route of routes) {
    documented.route(route.method, route.path, () => "", { detail: describe(route) as never });
  }
  for (const [path, detail] of Object.entries(PROBES))
    documented.get(path, () => "", { detail: detail as never });
  const response = await documented.handle(new Request(`http://localhost${OPENAPI_PATH}`));
  return response.text();
}

function describe(route: Route): JsonObject {
  const { summary, description } = route.docs;
  const variant = route.variant === undefined ? "" : ` or \`${route.variant.operation}\``;
  const recorded = isInspection(route.operation)
    ? "Not recorded: it is about the workspace's seals alone and says nothing of any agent."
    : `Recorded as \`${route.operation}\`${variant}.`;
  const scopes = scopesOf(route.operation).map((scope) => `\`${scope}\``);
  return {
    operationId: route.operation.replace(/[._](.)/g, (_match, letter: string) => letter.toUpperCase()),
    tags: [TAGS[route.operation.split(".")[0] as string] as string],
    summary,
    description: `${description}\n\n${recorded} Scopes: ${scopes.join(", ")}.`,
    parameters: parametersOf(route),
    ...requestBodyOf(route),
    responses: responsesOf(route),
  };
}

const PATH_PARAMETERS: Readonly<Record<string, JsonObject>> = {
  agent_id: {
    description: "The agent's id.",
    schema: { type: "string", minLength: 1, maxLength: 128 },
    example: "support-bot",
  },
  version: { description: "A config version.", schema: { type: "string" }, example: "v3" },
  id: { description: "The identifier.", schema: { type: "string" } },
};

function parametersOf(route: Route): JsonObject[] {
  const inPath = [...route.path.matchAll(/:([a-z_]+)/g)].map(([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    ...PATH_PARAMETERS[name],
  }));
  const inHeader = Object.entries(route.docs.headers ?? {}).map(([name, description]) => ({
    name,
    in: "header",
    description,
    schema: { type: "string" },
  }));
  return [...inPath, ...queryParameters(route.querySchema), ...inHeader] as JsonObject[];
}

function queryParameters(schema: TObject | null): JsonObject[] {
  const required = new Set<string>(schema?.required ?? []);
  return Object.entries(schema?.properties ?? {}).map(([name, { description, ...rest }]) => ({
    name,
    in: "query",
    required: required.has(name),
    ...(description === undefined ? {} : { description }),
    schema: rest as unknown as JsonObject,
  }));
}

function requestBodyOf(route: Route): JsonObject {
  if (route.bodySchema === null) return {};
  const example = route.docs.requestExample;
  return {
    requestBody: {
      required: !route.bodyOptional,
      content: {
        "application/json": {
          schema: route.bodySchema as unknown as JsonObject,
          ...(example === undefined ? {} : { example }),
        },
      },
    },
  };
}

function probe(operationId: string, summary: string, status: string): JsonObject {
  return {
    operationId,
    tags: ["Service"],
    summary,
    security: [],
    responses: {
      200: {
        description: "Yes.",
        content: {
          "application/json": {
            schema: {
              type: "object",
              properties: { status: { const: status } },
              required: ["status"],
              additionalProperties: false,
            },
          },
        },
      },
      ...problemResponses(["https_required", "internal", "unavailable"]),
    },
  };
}

const PROBES: Readonly<Record<string, JsonObject>> = {
  "/healthz": probe("health", "Is the daemon alive?", "ok"),
  "/readyz": probe("ready", "Can the daemon take requests?", "ready"),
};

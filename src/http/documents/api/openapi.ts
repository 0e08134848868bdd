/** The OpenAPI document, made from the schemas that validate requests. */
import { swagger } from "@elysiajs/swagger";
import { type TObject, type TProperties, Type as t } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { exportTrail } from "../../../features/audit/routes.ts";
import type { JsonObject } from "../../../json.ts";
import { leavesNoTrace } from "../../../operations.ts";
import type { Action } from "../../account/action.ts";
import { DOWNLOAD_PATH } from "../../pipeline/download.ts";
import { scopesOf } from "../../pipeline/scopes.ts";
import { SESSION_COOKIE } from "../../pipeline/session.ts";
import type { CompiledEndpoint, Route } from "../../route.ts";
import { componentSchemas, exampleOf, object } from "../../shapes.ts";
import { OPENAPI_PATH } from "./page.ts";
import { actionResponses, problemResponses, responsesOf } from "./responses.ts";

const DOCUMENTATION = {
  // JSON Schema 2020-12, which is what the schemas are.
  openapi: "3.1.0",
  info: {
    title: "governd",
    version: "1",
    summary: "Governance for software agents.",
    description:
      "Versioned configs with enforced policies, governed key-value data, checkpoints, and a hash-chained audit trail. Operations are recorded unless their description says otherwise; `X-Audit-Id` names the event. Errors are problem documents (RFC 9457).",
    license: { name: "Apache-2.0", identifier: "Apache-2.0" },
  },
  servers: [{ url: "/" }],
  tags: [
    { name: "Agents", description: "All agents at a glance, and the switch that suspends one." },
    { name: "Config", description: "Versioned configs. Their `policies` are enforced." },
    { name: "Checkpoints", description: "Snapshots of an agent's state." },
    { name: "Data", description: "Governed key-value data." },
    { name: "Audit", description: "The hash-chained trail of every operation." },
    {
      name: "Tlog-tiles",
      description: "The audit trail as tiles (C2SP tlog-tiles), for stock clients of transparency logs.",
    },
    { name: "Account", description: "Signing up and in, sessions, passwords, second factors. For people." },
    { name: "Workspaces", description: "Workspaces, their members, and invitations. For people." },
    { name: "Keys", description: "API keys of a workspace. For people." },
    { name: "Service", description: "Probes. They need no key." },
  ],
  security: [{ ApiKey: [] }, { Session: [], Workspace: [] }],
};

const SECURITY_SCHEMES = {
  ApiKey: {
    type: "apiKey",
    in: "header",
    name: "X-API-Key",
    description: "A key belongs to one workspace and selects it. It is secret: keep it out of client-side code.",
  },
  Session: {
    type: "apiKey",
    in: "cookie",
    name: SESSION_COOKIE,
    description: "A person's session. Requests other than GET need the Origin of this server, which browsers send.",
  },
  Workspace: {
    type: "apiKey",
    in: "header",
    name: "X-Workspace-Id",
    description: "With a session: the workspace of the request. Not secret.",
  },
};

/** Returns the document as JSON text. It is slow, so call it once. */
export async function openApiJson(routes: readonly Route[], actions: readonly Action[]): Promise<string> {
  // This application never listens. The plugin reads the documented routes from it.
  const documented = new Elysia().use(
    swagger({
      specPath: OPENAPI_PATH,
      documentation: {
        ...DOCUMENTATION,
        components: { schemas: componentSchemas(), securitySchemes: SECURITY_SCHEMES },
      } as never,
    }),
  );
  const add = (method: string, path: string, detail: JsonObject) =>
    documented.route(method, path, () => "", { detail: detail as never });
  for (const route of routes) add(route.method, route.path.replace("*", ":tile"), describe(route));
  for (const action of actions) add(action.method, action.path, describeAction(action));
  add("POST", DOWNLOAD_PATH, describeDownload());
  for (const [path, probe] of Object.entries(PROBES)) add("GET", path, probe);
  const response = await documented.handle(new Request(`http://localhost${OPENAPI_PATH}`));
  return response.text();
}

function describe(route: Route): JsonObject {
  const { summary, description } = route;
  const variant = route.variant === undefined ? "" : ` or \`${route.variant.operation}\``;
  const recorded = leavesNoTrace(route.operation)
    ? "Not recorded: it is about the workspace's log as a whole."
    : `Recorded as \`${route.operation}\`${variant}.`;
  const scopes = scopesOf(route.operation).map((scope) => `\`${scope}\``);
  return {
    // The one operation with two paths is public below a workspace's id.
    operationId: camelCase(route.path.includes(":workspace_id") ? `public.${route.operation}` : route.operation),
    tags: [tagOfOperation(route.operation)],
    summary,
    description: `${description}\n\n${recorded} Scopes: ${scopes.join(", ")}.`,
    parameters: parametersOf(route),
    ...requestBodyOf(route),
    responses: responsesOf(route),
  };
}

/** Returns the tag whose name begins with the operation's word: `Agents` for `agent.list`. */
function tagOfOperation(operation: string): string {
  const [word = ""] = operation.split(".");
  return DOCUMENTATION.tags.find(({ name }) => name.toLowerCase().startsWith(word))?.name as string;
}

function describeAction(action: Action): JsonObject {
  const { summary, description, recordedAs = [] } = action;
  const recorded = recordedAs.map((name) => `\`${name}\``).join(" or ");
  return {
    operationId: camelCase(`account.${action.name}`),
    tags: [tagOf(action)],
    summary,
    description: recorded === "" ? description : `${description}\n\nRecorded as ${recorded}.`,
    security: action.isPublic ? [] : [{ Session: [] }],
    parameters: pathParameters(action.path),
    ...requestBodyOf(action),
    responses: actionResponses(action),
  };
}

function tagOf({ path }: Action): string {
  if (!path.startsWith("/account/workspaces")) return "Account";
  return path.includes("/keys") ? "Keys" : "Workspaces";
}

function describeDownload(): JsonObject {
  return {
    operationId: "accountExport",
    tags: ["Workspaces"],
    summary: "Export the audit trail from a form",
    description:
      "What `POST /v1/audit/export` does, for a form of the dashboard: the browser saves the response to a file. Empty fields are ignored.\n\nRecorded as `audit.export`.",
    security: [{ Session: [] }],
    parameters: pathParameters(DOWNLOAD_PATH),
    requestBody: {
      required: true,
      content: { "application/x-www-form-urlencoded": { schema: exportTrail.body?.schema as unknown as JsonObject } },
    },
    responses: responsesOf(exportTrail),
  };
}

const camelCase = (name: string): string => name.replace(/[._](.)/g, (_match, letter: string) => letter.toUpperCase());

const PATH_PARAMETERS: Readonly<Record<string, JsonObject>> = {
  agent_id: {
    description: "The agent's id.",
    schema: { type: "string", minLength: 1, maxLength: 128 },
    example: "support-bot",
  },
  version: { description: "A config version.", schema: { type: "string" }, example: "v3" },
  id: { description: "The identifier.", schema: { type: "string" } },
  workspace_id: { description: "A workspace of yours.", schema: { type: "string" } },
  account_id: { description: "A member's account.", schema: { type: "string" } },
  invitation_id: { description: "An invitation.", schema: { type: "string" } },
  level: { description: "The level of the tile, 0 to 63.", schema: { type: "string" }, example: "0" },
  tile: {
    description:
      "The number of the tile in groups of three digits, all but the last after an x; a partial tile ends in .p/ and its width.",
    schema: { type: "string" },
    example: "x001/067.p/12",
  },
  key_id: { description: "A key's id, not the key.", schema: { type: "string" } },
};

function pathParameters(path: string): JsonObject[] {
  return [...path.matchAll(/:([a-z_]+)|\*/g)].map(([, name = "tile"]) => ({
    name,
    in: "path",
    required: true,
    ...PATH_PARAMETERS[name],
  }));
}

function parametersOf({ path, query, headers }: Route): JsonObject[] {
  const inHeader = Object.entries(headers).map(([name, description]) => ({
    name,
    in: "header",
    description,
    schema: { type: "string" },
  }));
  return [...pathParameters(path), ...queryParameters(query?.schema), ...inHeader];
}

function queryParameters(schema: TObject | undefined): JsonObject[] {
  return Object.entries(schema?.properties ?? {}).map(([name, { description, ...rest }]) => ({
    name,
    in: "query",
    required: schema?.required?.includes(name) === true,
    ...(description === undefined ? {} : { description }),
    schema: rest as unknown as JsonObject,
  }));
}

function requestBodyOf({ body, bodyOptional }: CompiledEndpoint): JsonObject {
  if (body === null) return {};
  const { schema } = body;
  const content = { "application/json": { schema: schema as unknown as JsonObject, example: exampleOf(schema) } };
  return { requestBody: { required: !bodyOptional, content } };
}

function probe(operationId: string, summary: string, status: string, more: TProperties = {}): JsonObject {
  const schema = object({ status: t.Literal(status), ...more }) as unknown as JsonObject;
  return {
    operationId,
    tags: ["Service"],
    summary,
    security: [],
    responses: {
      200: { description: "Yes.", content: { "application/json": { schema } } },
      ...problemResponses(["https_required", "internal", "unavailable"]),
    },
  };
}

const PROBES: Readonly<Record<string, JsonObject>> = {
  "/healthz": probe("health", "Is the daemon alive?", "ok"),
  "/readyz": probe("ready", "Can the daemon take requests?", "ready", {
    workspaces_down: t.Optional(
      t.Integer({
        minimum: 1,
        description: "How many workspaces have unusable files; absent for none. The others work.",
      }),
    ),
  }),
};

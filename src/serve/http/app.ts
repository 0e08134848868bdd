/**
 * The application: every route, and the steps of a request on its way to one.
 *
 * The order is fixed: request id, HTTPS, authentication, path and method, scope of the key, body, validation,
 * operation. Elysia only routes. Validation and all error bodies are governd's own, since Elysia's strip unknown
 * members, convert types and repeat the input.
 */
import { Elysia } from "elysia";
import { NO_SUCH_PATH } from "../../api/problem-document.ts";
import type { AccountRoute, AnyRoute, Route } from "../../api/route.ts";
import type { Principal } from "../../core/writer/contract.ts";
import { entryRoutes } from "../../ops/accounts/routes/entry-routes.ts";
import { keyRoutes } from "../../ops/accounts/routes/key-routes.ts";
import { oidcRoutes } from "../../ops/accounts/routes/oidc-routes.ts";
import { passkeyRoutes } from "../../ops/accounts/routes/passkey-routes.ts";
import { selfRoutes } from "../../ops/accounts/routes/self-routes.ts";
import { workspaceRoutes } from "../../ops/accounts/routes/workspace-routes.ts";
import { agentRoutes } from "../../ops/agents/routes.ts";
import { auditRoutes, exportTrail } from "../../ops/audit/routes.ts";
import { proofRoutes } from "../../ops/audit/state/routes.ts";
import { checkpointRoutes } from "../../ops/checkpoints/routes.ts";
import { configRoutes } from "../../ops/config/routes.ts";
import { dataRoutes } from "../../ops/data/routes.ts";
import { policyRoutes } from "../../ops/policies/routes.ts";
import { quarantineRoutes } from "../../ops/quarantine/routes.ts";
import { sinkRoutes } from "../../ops/sinks/routes.ts";
import { publicTlogRoutes, tlogRoutes } from "../../ops/tlog/routes.ts";
import { Problem } from "../../problem.ts";
import { publicPages } from "./documents/pages.ts";
import { MCP_PATHS, McpEndpoint } from "./mcp/endpoint.ts";
import { resourceMetadataPages } from "./mcp/resource-metadata.ts";
import { DOWNLOAD_PATH } from "./pipeline/download.ts";
import type { Exchange } from "./pipeline/exchange.ts";
import { queryTextOf, type Routed } from "./pipeline/handle.ts";
import { type AppDeps, Pipeline } from "./pipeline/pipeline.ts";

/** Every operation's route. */
export const routes: readonly Route[] = [
  agentRoutes,
  configRoutes,
  checkpointRoutes,
  dataRoutes,
  quarantineRoutes,
  policyRoutes,
  auditRoutes,
  proofRoutes,
  tlogRoutes,
  sinkRoutes,
].flat();

/** Every route of `/v1`: those of all operations, and those of a public log without a key. */
export const apiRoutes: readonly Route[] = [...routes, ...publicTlogRoutes];

/** Every route of `/account`. */
export const accountRoutes: readonly AccountRoute[] = [
  entryRoutes,
  oidcRoutes,
  passkeyRoutes,
  selfRoutes,
  workspaceRoutes,
  keyRoutes,
].flat();

/** The context of Elysia's general handler, of which its public types show only a part. */
type Context = Routed & { path: string };

/** The application, and the function that answers requests that do not reach it. */
interface App {
  app: ReturnType<typeof application>;
  /** Responds to a request that was refused or has failed before routing. It is logged and counted like any other. */
  refuse(request: Request, error: unknown): Response;
}

/** Makes the application. It does not listen: its `fetch` must be passed to a server. */
export function createApp(deps: AppDeps): App {
  const pages = publicPages(apiRoutes, accountRoutes, deps);
  const pipeline = new Pipeline(deps, new Set(pages.map((page) => page.path)));
  return {
    app: application(pipeline, pages, deps),
    refuse: (request, error) => pipeline.fail(pipeline.open(request), error),
  };
}

/**
 * Makes the routes.
 *
 * Elysia reads the source of every handler to see what it uses. A handler that passes its context on would get headers,
 * cookies and query parsed for every request, so handlers here name only what they need. The hook on requests returns
 * no call, which would make it asynchronous.
 */
function application(pipeline: Pipeline, pages: ReturnType<typeof publicPages>, deps: AppDeps) {
  // Elysia applies hooks only to what is added after them, so these come first. With strict paths, a trailing slash
  // makes another path.
  const again = (request: Request): Response | Promise<Response> => app.fetch(request);
  const app = new Elysia({ strictPath: true, normalize: false })
    .decorate("exchange", null as unknown as Exchange)
    .onError({ as: "global" }, ({ exchange, error, code }) => {
      const failed = pipeline.fail(exchange, code === "NOT_FOUND" ? NO_SUCH_PATH : error);
      return failed;
    })
    .onRequest((context) => {
      const exchange = pipeline.open(context.request);
      context.exchange = exchange;
      const refused = pipeline.admit(exchange, context.request, (context as unknown as Context).path, again);
      if (refused !== undefined) return refused;
    });
  const served = [
    ...[...apiRoutes, ...(deps.accounts === undefined ? [] : accountRoutes)].map((route) => ({
      ...route,
      run: operation(pipeline, route),
    })),
    ...(deps.accounts === undefined ? [] : [download(pipeline)]),
    ...mcpRoutes(pipeline, deps),
    ...[...pages, ...resourceMetadataPages(deps)].map(({ path, answer }) => ({
      method: "GET",
      path,
      run: ({ exchange, request }: Context) => pipeline.serve(path, exchange, () => answer(exchange, request)),
    })),
  ];
  for (const { method, path, run } of served) app.route(method, path, run as never, UNPARSED);
  for (const [path, allow] of allowedMethods(served)) {
    const run = ({ request, exchange }: Context) =>
      pipeline.serve(path, exchange, () => otherMethod(exchange, request, allow));
    app.all(path, run as never, UNPARSED);
  }
  return app;
}

/** Bodies are read by the pipeline. */
const UNPARSED = { parse: "none" } as const;

function operation(pipeline: Pipeline, route: AnyRoute) {
  return ({ request, url, qi, params, exchange }: Context) =>
    pipeline.operate(route, { request, url, qi, params, exchange });
}

function mcpRoutes(pipeline: Pipeline, deps: AppDeps) {
  const endpoint = new McpEndpoint(deps);
  const run =
    (path: string) =>
    ({ request, url, qi, params, exchange }: Context) =>
      pipeline.serve(path, exchange, () =>
        endpoint.handle({
          request,
          exchange,
          principal: exchange.principal as Principal,
          agentId: params?.agent_id,
          queryText: queryTextOf({ url, qi }),
        }),
      );
  return MCP_PATHS.map((path) => ({ method: "POST", path, run: run(path) }));
}

/** The export for a form of the dashboard. */
function download(pipeline: Pipeline) {
  const run = ({ request, url, qi, params, exchange }: Context) =>
    pipeline.download(exportTrail, { request, url, qi, params, exchange });
  return { method: "POST", path: DOWNLOAD_PATH, run };
}

/** Returns the methods of every path, as `Allow` lists them (RFC 9110 section 10.2.1). */
function allowedMethods(all: readonly { method: string; path: string }[]): Map<string, string> {
  const methods = new Map<string, Set<string>>();
  for (const { method, path } of all) {
    const known = methods.get(path) ?? new Set();
    methods.set(path, known.add(method));
    if (method === "GET") known.add("HEAD");
  }
  return new Map([...methods].map(([path, known]) => [path, [...known, "OPTIONS"].sort().join(", ")]));
}

function otherMethod(exchange: Exchange, request: Request, allow: string): Response {
  if (request.method === "OPTIONS") {
    const headers = exchange.headers("text/plain");
    headers.allow = allow;
    return new Response(null, { status: 204, headers });
  }
  throw new Problem("method_not_allowed", `This path takes ${allow}.`, { headers: { allow } });
}

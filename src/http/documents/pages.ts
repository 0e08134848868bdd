/** The public pages: probes, the API's documentation, the dashboard. */
import type { Action } from "../account/action.ts";
import type { Exchange } from "../pipeline/exchange.ts";
import { Problem } from "../problem.ts";
import type { Route } from "../route.ts";
import { DOCS_FILES, type DocsFile, OPENAPI_PATH } from "./api/page.ts";
import { DASHBOARD_PAGES } from "./dashboard/pages.ts";
import type { PublicPage } from "./public-page.ts";

const JSON_TYPE = "application/json";

/** Whether the daemon is ready. The names of workspaces that are down are not public. */
export interface ReadinessAnswer {
  ready: boolean;
  /** How many workspaces have unusable files. The others work, so the daemon is still ready. */
  workspacesDown: number;
}

/** Returns every public page. `isReady` reports whether the storage can be written and is migrated. */
export function publicPages(
  routes: readonly Route[],
  actions: readonly Action[],
  isReady: () => ReadinessAnswer | Promise<ReadinessAnswer>,
): PublicPage[] {
  let document: Promise<string> | undefined;
  return [
    { path: "/healthz", answer: (exchange) => json(exchange, '{"status":"ok"}') },
    { path: "/readyz", answer: async (exchange) => readiness(exchange, await isReady()) },
    {
      path: OPENAPI_PATH,
      answer: async (exchange) => {
        document ??= makeDocument(routes, actions);
        return json(exchange, await document);
      },
    },
    ...DOCS_FILES.map((file) => ({ path: file.path, answer: (exchange: Exchange) => serveFile(exchange, file) })),
    ...DASHBOARD_PAGES,
  ];
}

/** Makes the document on the first request, and loads the code for it only then. */
async function makeDocument(routes: readonly Route[], actions: readonly Action[]): Promise<string> {
  const { openApiJson } = await import("./api/openapi.ts");
  return openApiJson(routes, actions);
}

function readiness(exchange: Exchange, { ready, workspacesDown }: ReadinessAnswer): Response {
  const down = workspacesDown === 0 ? {} : { workspaces_down: workspacesDown };
  if (ready) return json(exchange, JSON.stringify({ status: "ready", ...down }));
  throw new Problem("unavailable", "The storage cannot be written. The daemon's log says why; try again.");
}

function json(exchange: Exchange, body: string): Response {
  return new Response(body, { headers: exchange.headers(JSON_TYPE) });
}

function serveFile(exchange: Exchange, file: DocsFile): Response {
  const headers = { ...exchange.headers(file.contentType), ...file.headers, "cache-control": file.cacheControl };
  return new Response(file.body(), { headers });
}

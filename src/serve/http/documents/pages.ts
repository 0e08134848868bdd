/** The public pages: probes, the API's documentation, the dashboard. */

import type { AccountRoute, Route } from "../../../api/route.ts";
import { Problem } from "../../../problem.ts";
import { ACCOUNT_API_PATH, docsPages, OPENAPI_PATH } from "./api/page.ts";
import { DASHBOARD_PAGES } from "./dashboard.ts";
import { filePage, type PublicPage, page } from "./public-page.ts";

const JSON_TYPE = "application/json";

/** Whether the daemon is ready. The names of workspaces that are down are not public. */
interface ReadinessAnswer {
  ready: boolean;
  /** The number of workspaces with unusable files. The others work, so the daemon is still ready. */
  workspacesDown: number;
}

/** The state of the daemon on public pages. */
export interface PublicState {
  /** Reports whether the storage can be written and is migrated, and how many workspaces are down. */
  isReady(): ReadinessAnswer | Promise<ReadinessAnswer>;
  /** The daemon's own certificate authority, for the commands in the documentation; null for none. */
  caFile?: string | null;
}

/** Returns every public page. */
export function publicPages(
  routes: readonly Route[],
  accountRoutes: readonly AccountRoute[],
  { isReady, caFile = null }: PublicState,
): PublicPage[] {
  return [
    page("/healthz", JSON_TYPE, () => '{"status":"ok"}'),
    page("/readyz", JSON_TYPE, async () => readiness(await isReady())),
    // The code for the documents is loaded only when it is needed.
    filePage(OPENAPI_PATH, JSON_TYPE, async () => (await import("./api/openapi.ts")).openApiJson(routes)),
    filePage(ACCOUNT_API_PATH, JSON_TYPE, async () => (await import("./api/account.ts")).accountJson(accountRoutes)),
    ...docsPages(caFile),
    ...DASHBOARD_PAGES,
  ];
}

function readiness({ ready, workspacesDown }: ReadinessAnswer): string {
  if (!ready)
    throw new Problem(
      "unavailable",
      "The storage cannot be written, or the file of the installation was replaced. The daemon's log says why; try again.",
    );
  return JSON.stringify({ status: "ready", ...(workspacesDown > 0 && { workspaces_down: workspacesDown }) });
}

/** The OpenAPI document of `/account`, for sessions of people. */

import type { AccountRoute } from "../../../../api/route.ts";
import { SESSION_COOKIE } from "../../../../api/session.ts";
import type { JsonObject } from "../../../../json.ts";
import { exportTrail } from "../../../../ops/audit/routes.ts";
import { DOWNLOAD_PATH } from "../../pipeline/download.ts";
import { type Described, describedRoute, documentJson, INFO, requestBodyOf } from "./document.ts";
import { OPENAPI_PATH } from "./page.ts";
import { pathParameters } from "./parameters.ts";
import { responsesOf } from "./responses.ts";

const ABOUT = {
  info: {
    title: "governd accounts",
    summary: "Accounts, workspaces and API keys, for people.",
    description: `What the dashboard does with the session of a person. Programs use \`${OPENAPI_PATH}\` with an API key. With a session, a request to \`/v1\` also needs \`X-Workspace-Id\`, one of the person's workspaces. Requests other than GET need the \`Origin\` of this server, which browsers send.`,
    ...INFO,
  },
  tags: [
    { name: "Account", description: "Signing up and in, sessions, passwords, second factors." },
    { name: "Workspaces", description: "Workspaces, their members, and invitations." },
    { name: "Keys", description: "API keys of a workspace." },
  ],
  security: [{ Session: [] }],
};

const SESSION = { type: "apiKey", in: "cookie", name: SESSION_COOKIE, description: "A person's session." };

/** Returns the document as JSON text. It is slow, so call it once. */
export function accountJson(routes: readonly AccountRoute[]): Promise<string> {
  const described = routes.map((route) => describedRoute(route, tagOf(route), recordedAs(route)));
  return documentJson(ABOUT, { Session: SESSION }, [...described, DOWNLOAD]);
}

function recordedAs(route: AccountRoute): string {
  const names = route.recordedAs.map((operation) => `\`${operation}\``).join(" or ");
  return names === "" ? "" : `Recorded as ${names}.`;
}

function tagOf({ path }: AccountRoute): string {
  if (!path.startsWith("/account/workspaces")) return "Account";
  return path.includes("/keys") ? "Keys" : "Workspaces";
}

const DOWNLOAD: Described = {
  method: "POST",
  path: DOWNLOAD_PATH,
  describe(components) {
    const body = requestBodyOf(exportTrail, components) as { requestBody: { content: JsonObject } };
    return {
      operationId: "accountExport",
      tags: ["Workspaces"],
      summary: "Export the audit trail from a form",
      description:
        "What `POST /v1/audit/export` does, for a form of the dashboard: the browser saves the response to a file. Empty fields are ignored.\n\nRecorded as `audit.export`.",
      parameters: pathParameters(DOWNLOAD_PATH),
      requestBody: {
        required: true,
        content: { "application/x-www-form-urlencoded": body.requestBody.content["application/json"] as JsonObject },
      },
      responses: responsesOf(exportTrail, components),
    };
  },
};

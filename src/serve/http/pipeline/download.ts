/**
 * An export that the browser saves to a file. A form of the dashboard cannot set headers or send JSON, so it is
 * converted to a request to `POST /v1/audit/export`.
 */
import type { JsonObject } from "../../../json.ts";
import { invalid } from "../../../problem.ts";
import { authenticateRequest, type People } from "./authenticate.ts";
import { readForm } from "./body.ts";

export const DOWNLOAD_PATH = "/account/workspaces/:workspace_id/export";

/** Far more than the form can hold. */
const MAX_FORM_BYTES = 8 * 1024;

/** The characters of workspace ids. A header cannot hold some of the others. */
const WORKSPACE_ID = /^[a-z0-9_]+$/;

/**
 * Returns the headers of the form's request, converted to those of a request to `/v1`. A `workspaceId` that is not a
 * valid id, or null for invalid percent-encoding, names no workspace.
 */
export function downloadHeaders(request: Request, workspaceId: string | null | undefined): Headers {
  const headers = new Headers(request.headers);
  for (const name of ["x-api-key", "authorization", "content-length", "transfer-encoding"]) headers.delete(name);
  headers.set("content-type", "application/json");
  headers.set("x-workspace-id", WORKSPACE_ID.test(workspaceId ?? "") ? (workspaceId as string) : "");
  return headers;
}

/** Authenticates the form by its session and its origin; an API key is not accepted. @throws {Problem} */
export function authenticateDownload(headers: Headers, people: People | null) {
  return authenticateRequest({ method: "POST", headers, url: "" }, { authenticate: () => null, people });
}

/**
 * Returns the request to `/v1` with the filled fields of the form; commas separate the items of `lists`.
 * @throws {Problem}
 */
export async function requestOfForm(
  request: Request,
  headers: Headers,
  lists: ReadonlySet<string> = new Set(),
): Promise<Request> {
  const fields: JsonObject = {};
  for (const [name, value] of await readForm(request, { maxBodyBytes: MAX_FORM_BYTES })) {
    if (name in fields) throw invalid("The form has a repeated field. Send each field once.");
    if (value !== "") fields[name] = lists.has(name) ? value.split(",") : value;
  }
  return new Request(request.url, { method: "POST", headers, body: JSON.stringify(fields) });
}

/**
 * An export that the browser saves by itself, as it comes: a form of the dashboard, which can name the
 * workspace in no header and send no JSON, becomes the request to `POST /v1/audit/export` that it means.
 */

import { invalid } from "../problem.ts";
import { authenticateRequest, type Sessions } from "./authenticate.ts";
import { readForm } from "./body.ts";

export const DOWNLOAD_PATH = "/account/workspaces/:workspace_id/export";

/** What the form can hold is far less. */
const MAX_FORM_BYTES = 8 * 1024;

/** No key is of use here. */
const nobody = () => null;

/** The headers that the form's request would have as one to `/v1`. */
export function downloadHeaders(request: Request, workspaceId: string): Headers {
  const headers = new Headers(request.headers);
  for (const name of ["x-api-key", "content-length", "transfer-encoding"]) headers.delete(name);
  headers.set("content-type", "application/json");
  headers.set("x-workspace-id", workspaceId);
  return headers;
}

/** Who asks: always a session, and a page of this server. @throws {Problem} as `authenticateRequest` */
export function authenticateDownload(headers: Headers, sessions: Sessions | undefined) {
  return authenticateRequest({ method: "POST", headers }, nobody, sessions);
}

/** The request to `/v1` with the fields of the form that are filled in. @throws {Problem} */
export async function requestOfForm(request: Request, headers: Headers): Promise<Request> {
  const fields: Record<string, string> = {};
  for (const [name, value] of await readForm(request, { maxBodyBytes: MAX_FORM_BYTES })) {
    if (name in fields) throw invalid("The form has a field twice. Send each once.");
    if (value !== "") fields[name] = value;
  }
  return new Request(request.url, { method: "POST", headers, body: JSON.stringify(fields) });
}

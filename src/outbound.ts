/** Requests that the program makes. Each names the program and its version. */
import { VERSION } from "./version.ts";

/** The header `User-Agent` of every request that the program makes itself (RFC 9110 section 10.1.5). */
export const USER_AGENT = `governd/${VERSION}`;

/** Fetches like `fetch`, with the program's `User-Agent`, also where a library has set its own. */
export function sendRequest(url: string | URL | Request, init: BunFetchRequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set("user-agent", USER_AGENT);
  return fetch(url, { ...init, headers });
}

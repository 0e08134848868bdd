/** Requests that the program makes. Each names the program and its version. */
import { VERSION } from "./version.ts";

/** The header `User-Agent` of every request that the program makes itself (RFC 9110 section 10.1.5). */
export const USER_AGENT = `governd/${VERSION}`;

/** Reads the body of a response; null when it has more than `most` bytes, of which the rest is not read. */
export async function readAtMost(response: Response, most: number): Promise<Buffer | null> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of response.body ?? []) {
    bytes += piece.length;
    if (bytes > most) return null;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** Fetches like `fetch`, with the program's `User-Agent`, also where a library has set its own. */
export function sendRequest(url: string | URL | Request, init: BunFetchRequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set("user-agent", USER_AGENT);
  return fetch(url, { ...init, headers });
}

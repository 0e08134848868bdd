/** Requests that a page of another site has a browser send are refused. */
import { Problem } from "../problem.ts";

/** Methods that change nothing (RFC 9110 section 9.2.1). */
const SAFE = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * A cookie comes along by itself, so what is done with one must have been begun by our own page: the
 * browser says so in `Origin`, which no page can forge (RFC 6454 section 7).
 * @throws {Problem} `forbidden`
 */
export function requireSameOrigin(method: string, headers: Headers): void {
  if (SAFE.has(method)) return;
  const origin = headers.get("origin");
  const host = headers.get("host");
  if (origin !== null && host !== null && origin.toLowerCase() === `https://${host.toLowerCase()}`) return;
  throw new Problem(
    "forbidden",
    "With a session, send Origin: https:// and the Host of the request. A browser does so by itself on pages of this server.",
    { param: "Origin" },
  );
}

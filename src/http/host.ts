/**
 * Elysia looks for the path of a URL from a fixed index on, which a host of one or two characters
 * ends before; and the runtime leaves the host out when the `Host` header is malformed. Routing must
 * not depend on either, so such requests get another host, which nothing looks at.
 */

/** The first index at which Elysia looks for the slash before the path. */
const ROUTER_STARTS_AT = 11;

const USUAL_ORIGIN = "https://localhost";

/** The request itself, or a copy whose URL the router reads right. */
export function withRoutableHost(request: Request): Request {
  const { url } = request;
  const slash = url.startsWith("/") ? 0 : url.indexOf("/", url.indexOf("://") + 3);
  if (slash >= ROUTER_STARTS_AT) return request;
  return new Request(USUAL_ORIGIN + url.slice(Math.max(slash, 0)), request);
}

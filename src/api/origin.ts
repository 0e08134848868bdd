/** Hosts in `Host` headers and origins (RFC 6454), compared as browsers do: an origin leaves the default port out. */

/**
 * Returns the origin of an HTTPS request to a host, as a browser names it: in lower case, without the default port.
 * Null for text that is no host with or without a port.
 */
export function originOfHost(host: string): string | null {
  const url = URL.parse(`https://${host}`);
  return url !== null && url.href === `${url.origin}/` ? url.origin : null;
}

/** A name with a dot at its end is the same host (RFC 3986 section 3.2.2). */
const DOT_AT_END = /\.(?=:\d+$|$)/;

/** Reports whether an `Origin` header names the host of an HTTPS request. */
export function isOriginOf(origin: string, host: string): boolean {
  const own = originOfHost(host);
  const [, authority] = /^https:\/\/([^/]+)$/i.exec(origin) ?? [];
  const named = authority === undefined ? null : originOfHost(authority);
  return own !== null && named?.replace(DOT_AT_END, "") === own.replace(DOT_AT_END, "");
}

/** Returns the origin under which a client called this server; `https://localhost` for a client that names no host. */
export const ownOrigin = (headers: Headers): string => originOfHost(headers.get("host") ?? "") ?? "https://localhost";

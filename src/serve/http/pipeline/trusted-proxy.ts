/** With TLS off, only configured proxies may send requests, and only for HTTPS clients. */
import { canonicalAddress, type Networks } from "../../../networks.ts";
import { Problem } from "../../../problem.ts";

/** Reports whether a request came from a trusted proxy for an HTTPS client. */
export const isOverHttps = (proxies: Networks, peer: string | null, headers: Headers): boolean =>
  // A chain of proxies would make a list; only the proxy that terminates TLS may set the header.
  peer !== null && proxies.includes(peer) && headers.get("x-forwarded-proto") === "https";

/** @throws {Problem} `https_required` for a request that is not {@link isOverHttps} */
export function requireHttps(proxies: Networks, peer: string | null, headers: Headers): void {
  if (isOverHttps(proxies, peer, headers)) return;
  throw new Problem(
    "https_required",
    "Send the request over HTTPS. This daemon is reached through a TLS proxy, which must be among its trusted_proxies and send X-Forwarded-Proto: https.",
  );
}

/** An address with a port, and an IPv6 address in brackets with or without one. */
const ADDRESS_AND_PORT = /^(?:\[([^\]]*:[^\]]*)\](?::\d{1,5})?|([\d.]+):\d{1,5})$/;
const QUOTED = /^"(.*)"$/;

/** Returns the address in an element of `X-Forwarded-For`, in one spelling; null when there is none. */
function readHop(element: string): string | null {
  const text = element.trim().replace(QUOTED, "$1");
  const [, bracketed, dotted] = ADDRESS_AND_PORT.exec(text) ?? [];
  return canonicalAddress(bracketed ?? dotted ?? text);
}

/**
 * Returns the address of a client, which it cannot forge: the peer's, or behind trusted proxies what they saw. Each of
 * them appends the address of its peer to `X-Forwarded-For`, so the last one that is not a proxy's is the client's. An
 * element that cannot be read ends the search at the proxy that appended it, since the client may have written all that
 * stands before.
 */
export function clientAddress(proxies: Networks | undefined, peer: string | null, headers: Headers): string {
  const direct = canonicalAddress(peer ?? "") ?? "unknown";
  if (proxies === undefined) return direct;
  const elements = headers.get("x-forwarded-for")?.split(",") ?? [];
  let client = direct;
  for (const element of elements.toReversed()) {
    const hop = proxies.includes(client) ? readHop(element) : null;
    if (hop === null) break;
    client = hop;
  }
  return client;
}

/** With TLS off, only configured proxies may send requests, and only for HTTPS clients. */
import { familyOf, type Networks } from "../../networks.ts";
import { Problem } from "../../problem.ts";

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

/**
 * Returns the address of a client: the peer, or behind trusted proxies the last address of `X-Forwarded-For` that is
 * not a proxy's, which a client cannot forge.
 */
export function clientAddress(proxies: Networks | undefined, peer: string | null, headers: Headers): string {
  const direct = peer ?? "unknown";
  if (proxies === undefined) return direct;
  const named = (headers.get("x-forwarded-for") ?? "").split(",").map((address) => address.trim());
  const last = named.findLast((address) => familyOf(address) !== null && !proxies.includes(address));
  return last ?? direct;
}

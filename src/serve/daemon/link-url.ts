/** URLs of the daemon for people: one-time links, and reachable addresses. */

import type { LinkKind } from "../../core/rows/access/links.ts";
import { isEveryAddress } from "../../networks.ts";
import type { Settings } from "../../settings/definitions.ts";
import { type Address, formatAddress } from "../../settings/values.ts";

const PAGES: Record<LinkKind | "invitation", string> = { setup: "/sign-up", invitation: "/join", reset: "/reset" };

const HTTPS_PORT = 443;

/** Returns the URL of a one-time link. The token is in the fragment, which browsers never send. */
export const linkUrl = (base: string, kind: keyof typeof PAGES, token: string): string =>
  `${base}${PAGES[kind]}#token=${token}`;

/**
 * Returns the base URL for people, with the first host name without a wildcard if there is one. Behind a TLS proxy the
 * port is not known, so the default port is used.
 */
export function publicBase({ hostnames, tls }: Settings, listen: Address): string {
  const name = hostnames.find((one) => !one.startsWith("*."));
  const { host, port } = tls === "off" ? { host: "localhost", port: HTTPS_PORT } : reachable(listen);
  return new URL(`https://${formatAddress({ host: name ?? host, port })}`).origin;
}

/** Returns an address to which clients can connect: `localhost` if the daemon listens on all addresses. */
export function reachable({ host, port }: Address): Address {
  return { host: isEveryAddress(host) ? "localhost" : host, port };
}

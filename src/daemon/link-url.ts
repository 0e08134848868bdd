/** URLs of the daemon for people: one-time links, and reachable addresses. */
import type { LinkKind } from "../control/accounts/links.ts";
import { isEveryAddress } from "../networks.ts";
import type { Settings } from "../settings/definitions.ts";
import { type Address, formatAddress } from "../settings/values.ts";

const PAGES: Record<LinkKind, string> = { setup: "/sign-up", invitation: "/join", reset: "/reset" };

/** Returns the URL of a one-time link. The token is in the fragment, which browsers never send. */
export const linkUrl = (base: string, kind: LinkKind, token: string): string => `${base}${PAGES[kind]}#token=${token}`;

/**
 * Returns the base URL for people, with the first host name if there is one. Behind a TLS proxy the port is not known,
 * so the default port is used.
 */
export function publicBase({ hostnames, tls }: Settings, listen: Address): string {
  const [name] = hostnames;
  if (tls === "off") return `https://${name ?? "localhost"}`;
  return `https://${formatAddress(name === undefined ? reachable(listen) : { host: name, port: listen.port })}`;
}

/** Returns an address to which clients can connect: `localhost` if the daemon listens on all addresses. */
export function reachable({ host, port }: Address): Address {
  return { host: isEveryAddress(host) ? "localhost" : host, port };
}

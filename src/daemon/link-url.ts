/** The address of a one-time link. The token stands behind the `#`, which a browser never sends. */
import type { LinkKind } from "../control/accounts/links.ts";
import type { Address, Settings } from "../settings/schema.ts";
import { formatAddress } from "../settings/values.ts";

const PAGES: Record<LinkKind, string> = { setup: "/sign-up", invitation: "/join", reset: "/reset" };

export function linkUrl(base: string, kind: LinkKind, token: string): string {
  return `${base}${PAGES[kind]}#token=${token}`;
}

/**
 * Where people reach the daemon: by its first host name if it has one. Behind a TLS proxy the port is
 * the proxy's, which is not known here: the usual one.
 */
export function publicBase({ hostnames, tls }: Settings, listen: Address): string {
  const [name] = hostnames;
  if (tls === "off") return `https://${name ?? "localhost"}`;
  return `https://${formatAddress(name === undefined ? reachable(listen) : { host: name, port: listen.port })}`;
}

/** An address that means "all of this machine's" is nothing to connect to; this machine's own name is. */
export function reachable({ host, port }: Address): Address {
  return { host: host === "0.0.0.0" || host === "::" ? "localhost" : host, port };
}

/** With TLS off, only configured proxies may send requests, and only for HTTPS clients. */
import { BlockList, isIP } from "node:net";
import { Problem } from "../../problem.ts";

const IPV4_BITS = 32;
const IPV6_BITS = 128;

/** IPv4 addresses as a dual-stack socket shows them. */
const MAPPED_IPV4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** A set of IPv4 and IPv6 addresses and CIDR ranges. */
export class TrustedProxies {
  readonly #addresses = new BlockList();

  /** @throws {TypeError} that names the first entry which is neither an address nor a CIDR range */
  constructor(entries: readonly string[]) {
    for (const entry of entries) this.#add(entry);
  }

  #add(entry: string): void {
    const [address = "", bits, ...rest] = entry.split("/");
    const family = familyOf(address);
    const most = family === "ipv4" ? IPV4_BITS : IPV6_BITS;
    const prefix = bits === undefined ? most : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN;
    if (family === null || rest.length > 0 || !(prefix <= most)) {
      throw new TypeError(`not an IP address or a CIDR range: ${entry}`);
    }
    this.#addresses.addSubnet(address, prefix, family);
  }

  /** Reports whether the set holds a peer's address. */
  includes(peer: string): boolean {
    const address = MAPPED_IPV4.exec(peer)?.[1] ?? peer;
    const family = familyOf(address);
    return family !== null && this.#addresses.check(address, family);
  }
}

function familyOf(address: string): "ipv4" | "ipv6" | null {
  const version = isIP(address) as 0 | 4 | 6;
  return version === 0 ? null : `ipv${version}`;
}

/**
 * Checks that a request came from a trusted proxy for an HTTPS client.
 * @throws {Problem} `https_required` when it did not
 */
export function requireHttps(proxies: TrustedProxies, peer: string | null, headers: Headers): void {
  // A chain of proxies would make a list; only the proxy that terminates TLS may set the header.
  if (peer !== null && proxies.includes(peer) && headers.get("x-forwarded-proto") === "https") return;
  throw new Problem(
    "https_required",
    "Send the request over HTTPS. This daemon is reached through a TLS proxy, which must be among its trusted_proxies and send X-Forwarded-Proto: https.",
  );
}

/**
 * Returns the address of a client: the peer, or behind trusted proxies the last address of `X-Forwarded-For` that is
 * not a proxy's, which a client cannot forge.
 */
export function clientAddress(proxies: TrustedProxies | undefined, peer: string | null, headers: Headers): string {
  const direct = peer ?? "unknown";
  if (proxies === undefined) return direct;
  const named = (headers.get("x-forwarded-for") ?? "").split(",").map((address) => address.trim());
  const last = named.findLast((address) => familyOf(address) !== null && !proxies.includes(address));
  return last ?? direct;
}

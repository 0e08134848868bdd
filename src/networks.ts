/** Sets of IP addresses and networks in CIDR form (RFC 4632, RFC 4291 section 2.3). */
import { BlockList, isIP } from "node:net";

const BITS = { ipv4: 32, ipv6: 128 } as const;

type Family = keyof typeof BITS;

/** IPv4 addresses as a dual-stack socket shows them. */
const MAPPED_IPV4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** Returns the family of an address; null for anything else. An address with a zone belongs to one machine. */
export function familyOf(address: string): Family | null {
  const version = address.includes("%") ? 0 : (isIP(address) as 0 | 4 | 6);
  return version === 0 ? null : `ipv${version}`;
}

/** Reports whether the text is an IP address or a network in CIDR form (`10.0.0.0/8`, `fd00::/8`). */
export const isNetwork = (text: string): boolean => parse(text) !== null;

function parse(text: string): { address: string; prefix: number; family: Family } | null {
  const [address = "", bits, ...rest] = text.split("/");
  const family = familyOf(address);
  if (family === null || rest.length > 0) return null;
  const prefix = bits === undefined ? BITS[family] : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN;
  return prefix <= BITS[family] ? { address, prefix, family } : null;
}

/** A set of IPv4 and IPv6 addresses and networks. */
export class Networks {
  readonly #addresses = new BlockList();

  /** @throws {TypeError} that names the first entry which is neither an address nor a network */
  constructor(entries: readonly string[]) {
    for (const entry of entries) {
      const network = parse(entry);
      if (network === null) throw new TypeError(`not an IP address or a CIDR range: ${entry}`);
      this.#addresses.addSubnet(network.address, network.prefix, network.family);
    }
  }

  /** Reports whether the set holds the address of a peer. */
  includes(peer: string): boolean {
    const address = MAPPED_IPV4.exec(peer)?.[1] ?? peer;
    const family = familyOf(address);
    return family !== null && this.#addresses.check(address, family);
  }
}

const LOOPBACK = new Networks(["127.0.0.0/8", "::1"]);

/** Reports whether an address, or the host that a listener is bound to, is reachable from this machine only. */
export const isLoopback = (address: string): boolean => address === "localhost" || LOOPBACK.includes(address);

/** Reports whether a host to listen on stands for all addresses of the machine. Clients cannot connect to it. */
export const isEveryAddress = (host: string): boolean => host === "0.0.0.0" || host === "::";

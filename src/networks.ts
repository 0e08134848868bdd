/** Sets of IP addresses and networks in CIDR form (RFC 4632, RFC 4291 section 2.3). */
import { BlockList, isIP } from "node:net";

const BITS = { ipv4: 32, ipv6: 128 } as const;

type Family = keyof typeof BITS;

/** The bits before the IPv4 address in an IPv6 address that a dual-stack socket shows (RFC 4291 section 2.5.5.2). */
const MAPPED_BITS = 96;
const MAPPED_IPV4 = /^::ffff:([\da-f]+):([\da-f]+)$/;
const DOTTED_END = /(\d+)\.(\d+)\.(\d+)\.(\d+)$/;

const familyOf = (address: string): Family => (address.includes(":") ? "ipv6" : "ipv4");

/**
 * Returns the one spelling of an IP address: an IPv4 address in dotted form, also when it is mapped into IPv6, and an
 * IPv6 address compressed and without its zone, which names an interface of one machine. Null for anything else.
 */
export function canonicalAddress(text: string): string | null {
  const version = isIP(text);
  if (version !== 6) return version === 0 ? null : text;
  const [address = ""] = text.split("%");
  // The runtime's URLs refuse some addresses with a dotted end, such as `0:0:0::0:0.0.0.0`.
  const inHex = address.replace(
    DOTTED_END,
    (_, ...bytes) => `${groupOf(bytes[0], bytes[1])}:${groupOf(bytes[2], bytes[3])}`,
  );
  const canonical = new URL(`http://[${inHex}]`).hostname.slice(1, -1);
  const [, high, low] = MAPPED_IPV4.exec(canonical) ?? [];
  if (high === undefined || low === undefined) return canonical;
  return [high, low].flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff]).join(".");
}

const groupOf = (high: string, low: string): string => (Number(high) * 256 + Number(low)).toString(16);

/** Reports whether the text is an IP address or a network in CIDR form (`10.0.0.0/8`, `fd00::/8`). */
export const isNetwork = (text: string): boolean => parse(text) !== null;

function parse(text: string): { address: string; prefix: number; family: Family } | null {
  const [given = "", bits, ...rest] = text.split("/");
  const address = given.includes("%") ? null : canonicalAddress(given);
  if (address === null || rest.length > 0) return null;
  const family = familyOf(address);
  const mappedBits = family === "ipv4" && given.includes(":") ? MAPPED_BITS : 0;
  const prefix = bits === undefined ? BITS[family] : /^\d{1,3}$/.test(bits) ? Number(bits) - mappedBits : Number.NaN;
  return prefix >= 0 && prefix <= BITS[family] ? { address, prefix, family } : null;
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
    const address = canonicalAddress(peer);
    return address !== null && this.#addresses.check(address, familyOf(address));
  }
}

const LOOPBACK = new Networks(["127.0.0.0/8", "::1"]);

/** Reports whether an address, or the host that a listener is bound to, is reachable from this machine only. */
export const isLoopback = (address: string): boolean => address === "localhost" || LOOPBACK.includes(address);

/** Reports whether a host to listen on stands for all addresses of the machine. Clients cannot connect to it. */
export const isEveryAddress = (host: string): boolean => host === "0.0.0.0" || host === "::";

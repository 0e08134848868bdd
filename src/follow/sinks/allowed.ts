/**
 * The receivers to which connections are allowed, by the setting `sink_allow`. Each entry is a host
 * (`siem.example.org`), a host with a port, or an address or network. Addresses are checked after each resolution of a
 * name, so a name cannot lead to another machine later. Addresses of this machine or its link are allowed only by an
 * entry with an address or network.
 */
import { lookup } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import { isNetwork, Networks } from "../../networks.ts";
import { SinkFailed } from "./config.ts";

/** Addresses that a name never allows: of this machine, link-local, unspecified, and multicast. */
const OWN = new Networks([
  "0.0.0.0/8",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "224.0.0.0/4",
  "255.255.255.255",
  "::",
  "::1",
  "fe80::/10",
  "ff00::/8",
]);

/** One address of a host. */
interface Resolved {
  address: string;
  family: number;
}

type Resolve = (host: string) => Promise<readonly Resolved[]>;

const systemResolve: Resolve = (host) => lookup(host, { all: true });

export class AllowedPlaces {
  readonly #networks: Networks;
  readonly #hasNetworks: boolean;
  /** `host` or `host:port`, in lower case. */
  readonly #names: ReadonlySet<string>;

  constructor(
    entries: readonly string[],
    private readonly resolve: Resolve = systemResolve,
  ) {
    const networks = entries.filter(isNetwork);
    this.#networks = new Networks(networks);
    this.#hasNetworks = networks.length > 0;
    this.#names = new Set(entries.filter((entry) => !isNetwork(entry)).map((entry) => entry.toLowerCase()));
  }

  /** Reports whether a sink may have this receiver, as far as can be decided without resolving its name. */
  mayReach(host: string, port: number): boolean {
    return isIP(host) === 0 ? this.#isNamed(host, port) || this.#hasNetworks : this.#allows(host, host, port);
  }

  /**
   * Returns the addresses of a receiver to which connections are allowed.
   * @throws {SinkFailed} when there is none
   */
  async addressesOf(host: string, port: number): Promise<readonly Resolved[]> {
    const found = isIP(host) === 0 ? await this.#resolved(host) : [{ address: host, family: isIP(host) }];
    const allowed = found.filter(({ address }) => this.#allows(address, host, port));
    if (allowed.length > 0) return allowed;
    throw new SinkFailed("the setting sink_allow does not allow connections to the receiver's address");
  }

  /** Returns the function with which a socket resolves the name of its peer. */
  lookupFor(port: number): LookupFunction {
    return (host, options, callback) => {
      this.addressesOf(host, port).then(
        (found) => {
          if (options.all) return callback(null, [...found]);
          const [{ address, family }] = found as [Resolved];
          return callback(null, address, family);
        },
        (error) => callback(error, "", 0),
      );
    };
  }

  async #resolved(host: string): Promise<readonly Resolved[]> {
    try {
      return await this.resolve(host);
    } catch {
      throw new SinkFailed("the receiver's name cannot be resolved");
    }
  }

  #isNamed(host: string, port: number): boolean {
    const name = host.toLowerCase();
    return this.#names.has(name) || this.#names.has(`${name}:${port}`);
  }

  #allows(address: string, host: string, port: number): boolean {
    if (this.#networks.includes(address)) return true;
    const named = isIP(host) === 0 ? this.#isNamed(host, port) : this.#names.has(endpointName(host, port));
    return named && (isIP(host) !== 0 || !OWN.includes(address));
  }
}

/** Returns an address with a port in the form of an entry. */
const endpointName = (host: string, port: number): string =>
  `${host.includes(":") ? `[${host}]` : host}:${port}`.toLowerCase();

/** Returns the host of an address, without the brackets of an IPv6 address. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, "$1");

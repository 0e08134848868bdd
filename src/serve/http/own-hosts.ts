/** The names of this server. A request for another host may be an attack by another site (DNS rebinding). */
import { X509Certificate } from "node:crypto";
import { isIP, isIPv6 } from "node:net";
import { canonicalAddress, isEveryAddress } from "../../networks.ts";

/** The most hosts whose result is cached, since a client can name any number. */
const MAX_KNOWN = 256;

/**
 * A host, which is not empty, and its port (RFC 3986 section 3.2.2). No comma, with which the runtime joins several
 * `Host` headers, and no address of a future version of IP.
 */
const HOST = /^(?:\[([\da-f:.]+)\]|((?:[\w.~!$&'()*+;=-]|%[\da-f]{2})+))(?::\d*)?$/i;

/** Reports whether a `Host` header is valid, whatever it names. */
export function isHost(host: string): boolean {
  const [found, address] = HOST.exec(host) ?? [];
  return found !== undefined && (address === undefined || isIPv6(address));
}

/** Returns the one spelling of a name, which ends without a dot, or of an IP address. */
const spelled = (name: string): string => canonicalAddress(name) ?? name.toLowerCase().replace(/\.$/, "");

export class OwnHosts {
  readonly #names: ReadonlySet<string>;
  readonly #everyAddress: boolean;
  #certificate: X509Certificate | null;
  readonly #known = new Map<string, boolean>();

  /** `names`: those in the settings, and the listening address. `cert`: the certificate in PEM; null without TLS. */
  constructor(names: readonly string[], cert: string | null) {
    this.#names = new Set(names.map(spelled));
    this.#everyAddress = names.some(isEveryAddress);
    this.#certificate = cert === null ? null : new X509Certificate(cert);
  }

  /** Reports whether a `Host` header names this server. */
  has(host: string): boolean {
    let known = this.#known.get(host);
    if (known === undefined) {
      const [, address, name] = HOST.exec(host) ?? [];
      known = this.#covers(spelled(address ?? name ?? ""));
      if (this.#known.size >= MAX_KNOWN) this.#known.clear();
      this.#known.set(host, known);
    }
    return known;
  }

  /** Reports whether an `Origin` header names this server. */
  hasOrigin(origin: string): boolean {
    return URL.canParse(origin) && this.has(new URL(origin).host);
  }

  #covers(name: string): boolean {
    if (this.#names.has(name) || this.#names.has(name.replace(/^[^.]+/, "*"))) return true;
    if (isIP(name) !== 0) return this.#everyAddress || this.#certificate?.checkIP(name) !== undefined;
    return name !== "" && this.#certificate?.checkHost(name) !== undefined;
  }
}

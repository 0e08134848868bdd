/**
 * The open port of the API. A renewed certificate is put in place by opening the port anew: those who are
 * connected stay connected with the old one until they leave, everybody else gets the new one.
 */
import { Failure, systemCode } from "../failure.ts";
import type { Address } from "../settings/schema.ts";
import { formatAddress } from "../settings/values.ts";
import type { ServerCertificate } from "../tls/certificate.ts";

/** An HTTP server that accepts connections. */
export interface HttpServer {
  port: number;
  /** Accepts nothing more; resolves when all that was begun is answered. With `true` it does not wait. */
  stop(now?: boolean): Promise<void>;
}

/** Opens a port; certificate null is plain HTTP. Throws the system's error when it cannot. */
export type Serve = (address: Address, certificate: ServerCertificate | null) => HttpServer;

export class Listener {
  readonly #serve: Serve;
  #server: HttpServer;
  /** Servers with an older certificate that still answer somebody. */
  readonly #leaving = new Set<Promise<void>>();
  readonly address: Address;

  /** @throws {Failure} `port_in_use` or `address_unavailable`. */
  constructor(serve: Serve, address: Address, certificate: ServerCertificate | null) {
    this.#serve = serve;
    try {
      this.#server = serve(address, certificate);
    } catch (error) {
      throw explained(error, address);
    }
    this.address = { host: address.host, port: this.#server.port };
  }

  /** Uses another certificate for all connections from now on. */
  replaceCertificate(certificate: ServerCertificate): void {
    const leaving = this.#server.stop();
    this.#server = this.#serve(this.address, certificate);
    this.#leaving.add(leaving);
    void leaving.finally(() => this.#leaving.delete(leaving));
  }

  /** Accepts nothing more, and waits for what was begun, at most this long. */
  async close(patienceMs: number): Promise<void> {
    const done = Promise.all([this.#server.stop(), ...this.#leaving]);
    const timeout = Promise.withResolvers<void>();
    const timer = setTimeout(timeout.resolve, patienceMs);
    await Promise.race([done, timeout.promise]);
    clearTimeout(timer);
    await this.#server.stop(true);
  }
}

function explained(error: unknown, address: Address): unknown {
  const place = formatAddress(address);
  switch (systemCode(error)) {
    case "EADDRINUSE":
      return new Failure(
        "port_in_use",
        `${place} is in use by another program. Stop that one, or choose another address with --listen.`,
        { cause: error },
      );
    case "EACCES":
    case "EPERM":
      return new Failure(
        "address_unavailable",
        `Not allowed to listen on ${place}: ports below 1024 need a privilege. Choose another with --listen.`,
        { cause: error },
      );
    case "EADDRNOTAVAIL":
      return new Failure(
        "address_unavailable",
        `${place} is not an address of this machine. Choose another with --listen, for example 127.0.0.1:8443.`,
        { cause: error },
      );
    default:
      return error;
  }
}

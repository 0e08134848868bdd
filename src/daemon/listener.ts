/** An open port, of the API or of the metrics: why it cannot be opened, in words, and its orderly end. */
import { Failure, systemCode } from "../failure.ts";
import type { Address } from "../settings/schema.ts";
import { formatAddress } from "../settings/values.ts";
import type { ServerCertificate } from "../tls/certificate.ts";

/** An HTTP server that accepts connections. */
export interface HttpServer {
  readonly port: number;
  /** Uses another certificate for new connections; resolves when it is so. */
  replaceCertificate(certificate: ServerCertificate): Promise<void>;
  /** Accepts nothing more; resolves when all that was begun is answered. With `true` it does not wait. */
  stop(now?: boolean): Promise<void>;
}

/** Opens a port; certificate null is plain HTTP. Throws the system's error when it cannot. */
export type Serve = (address: Address, certificate: ServerCertificate | null) => HttpServer;

export class Listener {
  readonly #server: HttpServer;
  readonly address: Address;

  /** `flag` sets the address. @throws {Failure} `port_in_use` or `address_unavailable`. */
  constructor(serve: Serve, address: Address, certificate: ServerCertificate | null, flag = "--listen") {
    try {
      this.#server = serve(address, certificate);
    } catch (error) {
      throw explained(error, address, flag);
    }
    this.address = { host: address.host, port: this.#server.port };
  }

  /** Uses another certificate for new connections; requests under way are answered. */
  replaceCertificate(certificate: ServerCertificate): Promise<void> {
    return this.#server.replaceCertificate(certificate);
  }

  /** Accepts nothing more, and waits for what was begun, at most this long. */
  async close(patienceMs: number): Promise<void> {
    const timeout = Promise.withResolvers<void>();
    const timer = setTimeout(timeout.resolve, patienceMs);
    await Promise.race([this.#server.stop(), timeout.promise]);
    clearTimeout(timer);
    await this.#server.stop(true);
  }
}

function explained(error: unknown, address: Address, flag: string): unknown {
  const place = formatAddress(address);
  switch (systemCode(error)) {
    case "EADDRINUSE":
      return new Failure(
        "port_in_use",
        `${place} is in use by another program. Stop that one, or choose another address with ${flag}.`,
        { cause: error },
      );
    case "EACCES":
    case "EPERM":
      return new Failure(
        "address_unavailable",
        `Not allowed to listen on ${place}: ports below 1024 need a privilege. Choose another with ${flag}.`,
        { cause: error },
      );
    case "EADDRNOTAVAIL":
      return new Failure(
        "address_unavailable",
        `${place} is not an address of this machine. Choose another with ${flag}, for example 127.0.0.1:${address.port}.`,
        { cause: error },
      );
    default:
      return error;
  }
}

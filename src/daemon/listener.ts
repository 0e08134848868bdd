/** An open port of the API or of the metrics. Explains why a port cannot be opened, and closes it gracefully. */
import { Failure, systemCode } from "../failure.ts";
import { type Address, formatAddress } from "../settings/values.ts";
import type { ServerCertificate } from "../tls/certificate.ts";

/** An HTTP server that accepts connections. */
export interface HttpServer {
  readonly port: number;
  /** Uses another certificate for new connections. Resolves when it is in use. */
  replaceCertificate(certificate: ServerCertificate): Promise<void>;
  /** Stops accepting connections. Resolves when all running requests are finished; `now` does not wait for them. */
  stop(now?: boolean): Promise<void>;
}

/** Opens a port. A null certificate means plain HTTP. @throws the system's error when the port cannot be opened */
export type Serve = (address: Address, certificate: ServerCertificate | null) => HttpServer;

export class Listener {
  readonly #server: HttpServer;
  readonly address: Address;

  /** `flag` is the flag that sets the address. @throws {Failure} `port_in_use` or `address_unavailable` */
  constructor(serve: Serve, address: Address, certificate: ServerCertificate | null, flag = "--listen") {
    try {
      this.#server = serve(address, certificate);
    } catch (error) {
      throw explained(error, address, flag);
    }
    this.address = { host: address.host, port: this.#server.port };
  }

  /** Uses another certificate for new connections. Running requests are finished. */
  replaceCertificate(certificate: ServerCertificate): Promise<void> {
    return this.#server.replaceCertificate(certificate);
  }

  /** Stops accepting connections, and waits at most this long for running requests. */
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
        `${place} is in use by another program. Stop that program, or choose another address with ${flag}.`,
        { cause: error },
      );
    case "EACCES":
    case "EPERM":
      return new Failure(
        "address_unavailable",
        `Not allowed to listen on ${place}: ports below 1024 require a privilege. Choose another address with ${flag}.`,
        { cause: error },
      );
    case "EADDRNOTAVAIL":
      return new Failure(
        "address_unavailable",
        `${place} is not an address of this machine. Choose another address with ${flag}, for example 127.0.0.1:${address.port}.`,
        { cause: error },
      );
    default:
      return error;
  }
}

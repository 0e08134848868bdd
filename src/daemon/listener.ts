/**
 * An open port of the API or of the metrics. Explains why a port cannot be opened, has another server take it over, and
 * closes it gracefully.
 */
import { Failure, systemCode } from "../failure.ts";
import { type Address, formatAddress } from "../settings/values.ts";
import { atMost } from "../timer.ts";

/** An HTTP server that accepts connections. */
interface HttpServer {
  readonly port: number;
  /** Stops accepting connections. Resolves when all running requests are finished; `now` does not wait for them. */
  stop(now?: boolean): Promise<void>;
}

/** A server that another one can take over from. */
interface LeavingServer extends HttpServer {
  /** Accepts no more connections. Resolves when it serves only requests that it already has. */
  leave(): Promise<void>;
}

export class Listener<Server extends HttpServer> {
  readonly address: Address;
  /** The one that accepts connections, and those before it that may still have requests. */
  readonly #servers: Server[];

  /**
   * Opens the port. `serve` throws the system's error when that is not possible. `flag` is the flag that sets the
   * address.
   * @throws {Failure} `port_in_use` or `address_unavailable`
   */
  constructor(serve: (address: Address) => Server, address: Address, flag: string) {
    try {
      this.#servers = [serve(address)];
    } catch (error) {
      throw explained(error, address, flag);
    }
    this.address = { host: address.host, port: (this.#servers[0] as Server).port };
  }

  /** Has another server accept the connections, which `serve` opens on the same port. No connection is refused. */
  async replace<Next extends LeavingServer>(this: Listener<Next>, serve: (address: Address) => Next): Promise<void> {
    const leaving = this.#servers.at(-1);
    this.#servers.push(serve(this.address));
    await leaving?.leave();
  }

  /** Stops accepting connections, and waits at most this long for running requests. */
  async close(patienceMs: number): Promise<void> {
    await atMost(patienceMs, Promise.all(this.#servers.map((server) => server.stop())));
    await Promise.all(this.#servers.map((server) => server.stop(true)));
  }
}

function explained(error: unknown, address: Address, flag: string): unknown {
  const place = formatAddress(address);
  const advice = `Choose another address with ${flag}`;
  const unavailable = (message: string) => new Failure("address_unavailable", message, { cause: error });
  switch (systemCode(error)) {
    case "EADDRINUSE": {
      const message = `${place} is in use by another program. Stop that program, or choose another address with ${flag}.`;
      return new Failure("port_in_use", message, { cause: error });
    }
    case "EACCES":
    case "EPERM":
      return unavailable(`Not allowed to listen on ${place}: ports below 1024 require a privilege. ${advice}.`);
    case "EADDRNOTAVAIL":
      return unavailable(
        `${place} is not an address of this machine. ${advice}, for example 127.0.0.1:${address.port}.`,
      );
    default:
      return error;
  }
}

/**
 * An open port of the API or of the metrics. It explains why a port cannot be opened, hands the port over to another
 * server, and closes it gracefully.
 */
import { Failure, systemCode } from "../../failure.ts";
import { type Address, formatAddress } from "../../settings/values.ts";
import { atMost } from "../../timer.ts";

/** An HTTP server that accepts connections. */
interface HttpServer {
  readonly port: number;
  /** Stops accepting connections. Resolves when all running requests are finished; `now` does not wait for them. */
  stop(now?: boolean): Promise<void>;
}

/** A server that can hand its port over to another one. */
interface LeavingServer extends HttpServer {
  /** Stops accepting connections. Resolves when only requests that it already has are running. */
  leave(): Promise<void>;
}

export class Listener<Server extends HttpServer> {
  readonly address: Address;
  /** Earlier servers, which may still have requests, and last the server that accepts connections. */
  readonly #servers: Server[];

  /**
   * Opens the port. `serve` throws the system's error when it cannot be opened. `flag` is the flag that sets the
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

  /** Replaces the accepting server by one that `serve` opens on the same port. No connection is refused meanwhile. */
  async replace<Next extends LeavingServer>(this: Listener<Next>, serve: (address: Address) => Next): Promise<void> {
    const leaving = this.#servers.at(-1);
    this.#servers.push(serve(this.address));
    await leaving?.leave();
  }

  /** Stops accepting connections, and waits at most `patienceMs` for running requests. */
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

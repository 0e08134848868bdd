/** The listener: TLS, sizes and timeouts of connections. */
import { createApp } from "./app.ts";
import { withRoutableHost } from "./host.ts";
import type { AppDeps } from "./pipeline.ts";

/** Seconds without a byte after which a connection is closed. */
const IDLE_TIMEOUT_SECONDS = 60;

/**
 * The runtime's own limit of a body answers without a problem document and before authentication, so
 * it only stands behind ours: a declared length past it is refused by the runtime.
 */
const RUNTIME_BODY_LIMIT_BYTES = Number.MAX_SAFE_INTEGER;

/** Where and how to listen. */
export interface ListenOptions {
  hostname: string;
  /** 0 for any free port. */
  port: number;
  /** PEM texts; null serves plain HTTP, for a TLS proxy alone (`trustedProxies` is needed then). */
  tls: { key: string; cert: string } | null;
}

/** What a server is made of, but for its port. */
interface ServerConfig {
  hostname: string;
  tls?: { key: string; cert: string };
  fetch: (request: Request) => Response | Promise<Response>;
  idleTimeout: number;
  maxRequestBodySize: number;
  development: false;
}

/** A listening server. */
export interface RunningServer extends AsyncDisposable {
  readonly port: number;
  readonly hostname: string;
  /** Takes a new certificate for new connections. */
  replaceCertificate(tls: { key: string; cert: string }): void;
  /** Stops accepting and waits for the answers under way; with `force` it does not wait. */
  stop(force?: boolean): Promise<void>;
}

/**
 * Starts to listen.
 * @throws what the runtime throws: `EADDRINUSE`, a certificate that cannot be read.
 */
export function startServer(deps: Omit<AppDeps, "peerOf">, options: ListenOptions): RunningServer {
  if (options.tls === null && deps.trustedProxies === undefined) {
    throw new TypeError("without TLS the server needs trustedProxies");
  }
  // The runtime knows the peer of its own requests only, not of a copy.
  const originals = new WeakMap<Request, Request>();
  const peerOf = (request: Request) => server.requestIP(originals.get(request) ?? request)?.address ?? null;
  const app = createApp({ ...deps, peerOf });
  const fetch = (request: Request) => {
    const routable = withRoutableHost(request);
    if (routable !== request) originals.set(routable, request);
    return app.fetch(routable);
  };
  const serve = (tls: ListenOptions["tls"]): ServerConfig => ({
    hostname: options.hostname,
    ...(tls === null ? {} : { tls }),
    fetch,
    idleTimeout: IDLE_TIMEOUT_SECONDS,
    maxRequestBodySize: RUNTIME_BODY_LIMIT_BYTES,
    // No page of the runtime's own may show an error.
    development: false,
  });
  let server = open(serve(options.tls), options.port);
  const port = server.port as number;
  /** With an older certificate, and still answering somebody. */
  const leaving = new Set<Bun.Server<undefined>>();
  const stop = async (force = false) => {
    await Promise.all([server, ...leaving].map((each) => each.stop(force)));
  };
  return {
    port,
    hostname: options.hostname,
    replaceCertificate(tls) {
      // The runtime's reload() keeps the certificate. So the port is opened a second time, and the first
      // one closed after it: requests under way are answered, and nobody is refused in between. Only who
      // is in the middle of a handshake at that moment has to connect anew.
      const old = server;
      server = Bun.serve({ ...serve(tls), port, reusePort: true });
      leaving.add(old);
      void old.stop().finally(() => leaving.delete(old));
    },
    stop,
    [Symbol.asyncDispose]: () => stop(),
  };
}

/**
 * Opens a port that can be opened a second time, by this process. As others could then open it as well,
 * it is first opened in the way that fails when somebody has it: a second daemon must not share it.
 */
function open(config: ServerConfig, port: number): Bun.Server<undefined> {
  const alone = Bun.serve({ ...config, port, reusePort: false });
  void alone.stop(true);
  return Bun.serve({ ...config, port: alone.port as number, reusePort: true });
}

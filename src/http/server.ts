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
  const serve = (tls: ListenOptions["tls"]) => ({
    hostname: options.hostname,
    port: options.port,
    ...(tls === null ? {} : { tls }),
    fetch,
    idleTimeout: IDLE_TIMEOUT_SECONDS,
    maxRequestBodySize: RUNTIME_BODY_LIMIT_BYTES,
    // A second daemon on the same port must fail, and no page of the runtime's own may show an error.
    reusePort: false,
    development: false,
  });
  const server = Bun.serve(serve(options.tls));
  const stop = (force = false) => server.stop(force);
  return {
    port: server.port as number,
    hostname: options.hostname,
    replaceCertificate: (tls) => void server.reload(serve(tls)),
    stop,
    [Symbol.asyncDispose]: () => stop(),
  };
}

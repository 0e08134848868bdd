/** The listener: TLS, sizes and timeouts of connections. */
import { createApp } from "./app.ts";
import { ConnectionLimit, type ConnectionLimitOptions } from "./connection-limit.ts";
import { withRoutableHost } from "./host.ts";
import type { AppDeps } from "./pipeline/pipeline.ts";

/** Time without a byte after which a connection is closed, by default, ms. */
const DEFAULT_IDLE_TIMEOUT_MS = 60_000;
/** No time at all: the connection stays until the answer is there. */
const NEVER = 0;
/**
 * How long a server that is being replaced answers beside its successor, asking clients to connect anew:
 * who asked again on a connection that is just being closed would get no answer.
 */
const PARTING_MS = 500;

/**
 * The runtime's own limit of a body answers without a problem document and before authentication, so
 * it only stands behind ours: a declared length past it is refused by the runtime.
 */
const RUNTIME_BODY_LIMIT_BYTES = Number.MAX_SAFE_INTEGER;

/** PEM texts of what a server shows, and what it asks of its clients. */
export interface ServerTls {
  key: string;
  cert: string;
  /** Authorities by one of which every client must have a certificate; absent or null to ask for none. */
  clientCa?: string | null;
}

/** Where and how to listen. */
export interface ListenOptions {
  hostname: string;
  /** 0 for any free port. */
  port: number;
  /** Null serves plain HTTP, for a TLS proxy alone (`trustedProxies` is needed then). */
  tls: ServerTls | null;
  /**
   * Time without a byte after which a connection is closed, ms: of whole seconds, and done with by the
   * runtime within four seconds more. Headers of a new connection have 10 seconds, whatever this says.
   */
  idleTimeoutMs?: number;
  /** Absent for no bound on connections. */
  connections?: ConnectionLimitOptions;
}

/** What a server is made of, but for its port. */
interface ServerConfig {
  hostname: string;
  tls?: { key: string; cert: string; ca?: string; requestCert?: true; rejectUnauthorized?: true };
  fetch: (request: Request) => Response | Promise<Response>;
  idleTimeout: number;
  maxRequestBodySize: number;
  development: false;
}

/** A listening server. */
export interface RunningServer extends AsyncDisposable {
  readonly port: number;
  readonly hostname: string;
  /** Takes a new certificate for new connections. Resolves when it is in use. */
  replaceCertificate(tls: ServerTls): Promise<void>;
  /** Stops accepting and waits for the answers under way; with `force` it does not wait. */
  stop(force?: boolean): Promise<void>;
}

/**
 * Starts to listen.
 * @throws what the runtime throws: `EADDRINUSE`, a certificate that cannot be read.
 */
export function startServer(
  deps: Omit<AppDeps, "peerOf" | "setPatience">,
  options: ListenOptions,
): RunningServer {
  if (options.tls === null && deps.trustedProxies === undefined) {
    throw new TypeError("without TLS the server needs trustedProxies");
  }
  const idleTimeout = Math.ceil((options.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS) / 1_000);
  // The runtime knows its own requests only, not a copy; and any server of the process knows them all.
  const originals = new WeakMap<Request, Request>();
  const originalOf = (request: Request) => originals.get(request) ?? request;
  const app = createApp({
    ...deps,
    peerOf: (request) => server.requestIP(originalOf(request))?.address ?? null,
    setPatience: (request, patient) => server.timeout(originalOf(request), patient ? NEVER : idleTimeout),
  });
  const fetch = (request: Request) => {
    const routable = withRoutableHost(request);
    if (routable !== request) originals.set(routable, request);
    return app.fetch(routable);
  };
  const configFor = (tls: ListenOptions["tls"]): ServerConfig => ({
    hostname: options.hostname,
    ...(tls === null ? {} : { tls: tlsConfig(tls) }),
    fetch,
    idleTimeout,
    maxRequestBodySize: RUNTIME_BODY_LIMIT_BYTES,
    // No page of the runtime's own may show an error.
    development: false,
  });
  let config = configFor(options.tls);
  let server = open(config, options.port);
  const port = server.port as number;
  let accepting = true;
  let stopped = false;
  /** Replaced or closed for new connections, and still answering somebody. */
  const leaving = new Set<Bun.Server<undefined>>();
  const leave = (old: Bun.Server<undefined>) => {
    leaving.add(old);
    void old.stop().finally(() => leaving.delete(old));
  };
  const gate = {
    port,
    close() {
      accepting = false;
      leave(server);
    },
    open() {
      server = Bun.serve({ ...config, port, reusePort: true });
      accepting = true;
    },
  };
  const limit = options.connections && new ConnectionLimit(gate, options.connections);
  return {
    port,
    hostname: options.hostname,
    async replaceCertificate(tls) {
      const next = configFor(tls);
      if (!accepting) {
        config = next;
        return;
      }
      // The runtime's reload() keeps the certificate. So the port is opened a second time, and the first
      // one closed after it: requests under way are answered, and nobody is refused in between. Only who
      // is in the middle of a handshake at that moment has to connect anew.
      const old = server;
      server = Bun.serve({ ...next, port, reusePort: true });
      config = next;
      leaving.add(old);
      old.reload({ ...config, fetch: (request) => last(fetch(request)) });
      await Bun.sleep(PARTING_MS);
      if (!stopped) leave(old);
    },
    async stop(force = false) {
      stopped = true;
      limit?.[Symbol.dispose]();
      await Promise.all([server, ...leaving].map((each) => each.stop(force)));
    },
    [Symbol.asyncDispose]() {
      return this.stop();
    },
  };
}

/** The answer, and no other on this connection. */
async function last(answer: Response | Promise<Response>): Promise<Response> {
  const response = await answer;
  response.headers.set("connection", "close");
  return response;
}

/** Who has no valid certificate is turned away in the handshake, before there is a request. */
function tlsConfig({ key, cert, clientCa }: ServerTls): NonNullable<ServerConfig["tls"]> {
  if (clientCa === undefined || clientCa === null) return { key, cert };
  return { key, cert, ca: clientCa, requestCert: true, rejectUnauthorized: true };
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

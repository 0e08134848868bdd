/** The listener: TLS, sizes and timeouts of connections. */
import { createApp } from "./app.ts";
import {
  AddressConnections,
  type AddressLimitOptions,
  ConnectionLimit,
  type ConnectionLimitOptions,
} from "./connection-limit.ts";
import { MCP_PATHS } from "./mcp/endpoint.ts";
import { OwnHosts } from "./own-hosts.ts";
import type { AppDeps } from "./pipeline/pipeline.ts";
import { clientAddress, isOverHttps } from "./pipeline/trusted-proxy.ts";
import { answerInStages, closesConnection, lend } from "./unread-body.ts";

/** Time without a byte after which a connection is closed, by default, ms. */
const DEFAULT_IDLE_TIMEOUT_MS = 60_000;
/** No timeout: the connection stays until its response is sent. */
const NEVER = 0;
/**
 * How long a leaving server still serves requests and tells clients to reconnect, ms. Without this, a request on a
 * connection that is just being closed would get no response.
 */
const PARTING_MS = 500;

/**
 * The runtime's own limit of bodies, which responds without a problem document and before authentication, is disabled
 * by this.
 */
const RUNTIME_BODY_LIMIT_BYTES = Number.MAX_SAFE_INTEGER;

/** PEM texts of the server's certificate, and of the authorities of client certificates. */
interface ServerTls {
  key: string;
  cert: string;
  /** The authorities of client certificates, which all clients then need; absent or null when they need none. */
  clientCa?: string | null;
}

/**
 * Handles a request before the application. Errors that it throws are answered like errors of the application.
 * @param client the address of the request's client
 */
export type Before = (
  request: Request,
  client: string | null,
  setPatience: (patient: boolean) => void,
) => Promise<Response | Request>;

/** The options of a listener. */
export interface ListenOptions {
  hostname: string;
  /** Further names of this server, besides those in its certificate. */
  hostnames?: readonly string[];
  /** 0 for any free port. */
  port: number;
  /** Whether another server of this process still has the port, and will {@link RunningServer.leave} it. */
  shared?: boolean;
  /** Null for plain HTTP, only for a TLS proxy (`trustedProxies` is then required). */
  tls: ServerTls | null;
  /**
   * Time without a byte after which a connection is closed, ms. The runtime counts whole seconds and may take four
   * seconds more. The headers of a new connection always have 10 seconds.
   */
  idleTimeoutMs?: number;
  /** Responds instead of the application, or returns the request for the application. */
  before?: Before;
  /** Returns the address of a request's client, if the peer is another node, which states it. */
  clientOf?: (request: Request) => string | null;
  /** The limit of connections; absent for none. */
  connections?: ConnectionLimitOptions;
  /** The limit of connections of an address; absent for none. */
  addressConnections?: AddressLimitOptions;
}

type ServerConfig = Bun.Serve.HostnamePortServeOptions<undefined> & {
  fetch: (request: Request) => Response | Promise<Response>;
};

/** A listening server. */
export interface RunningServer extends AsyncDisposable {
  readonly port: number;
  readonly hostname: string;
  /**
   * Leaves the port to another server that was started beside this one: accepts no more connections, and responds to
   * one more request on each open connection. Resolves when clients have had time to send these requests.
   */
  leave(): Promise<void>;
  /** Stops accepting requests and waits for pending responses, unless `force`. */
  stop(force?: boolean): Promise<void>;
}

/** Starts to listen. @throws the runtime's errors, such as `EADDRINUSE` or a certificate that cannot be read */
export function startServer(
  deps: Omit<AppDeps, "ownHosts" | "peerOf" | "setPatience" | "isAbandoned" | "isCrowded">,
  options: ListenOptions,
): RunningServer {
  if (options.tls === null && deps.trustedProxies === undefined) {
    throw new TypeError("without TLS the server needs trustedProxies");
  }
  const { idleTimeoutMs = DEFAULT_IDLE_TIMEOUT_MS } = options;
  const idleTimeout = Math.ceil(idleTimeoutMs / 1_000);
  // The runtime's functions need its own request objects and not copies. Any server of the process accepts all of them.
  const originals = new WeakMap<Request, Request>();
  const originalOf = (request: Request) => originals.get(request) ?? request;
  const crowd = options.addressConnections && new AddressConnections(() => port, options.addressConnections);
  const ownHosts = new OwnHosts([options.hostname, ...(options.hostnames ?? [])], options.tls?.cert ?? null);
  const peerOf = options.clientOf ?? ((request: Request) => server.requestIP(originalOf(request))?.address ?? null);
  const setPatience = (request: Request, patient: boolean) =>
    server.timeout(originalOf(request), patient ? NEVER : idleTimeout);
  const { before } = options;
  const { app, refuse } = createApp({
    ...deps,
    // For forwarded requests, the forwarding node has checked the host.
    ...(options.clientOf === undefined && { ownHosts }),
    peerOf,
    ...(crowd && { isCrowded: (peer) => crowd.isCrowded(peer) }),
    isAbandoned: (request) => originalOf(request).signal.aborted,
    setPatience,
  });
  /** Whether the request did not come through the TLS proxy, so that the application will refuse it. */
  const isPlain = ({ headers }: Request, peer: string | null) =>
    deps.trustedProxies !== undefined && !isOverHttps(deps.trustedProxies, peer, headers);
  /** Whether the request names another host. The application refuses it; another node could not detect it. */
  const namesForeignHost = ({ url, headers }: Request) => {
    const [host, origin] = [headers.get("host"), headers.get("origin")];
    const isOwn = (host === null || ownHosts.has(host)) && (origin === null || ownHosts.hasOrigin(origin));
    return !isOwn && MCP_PATHS.some((path) => new URL(url).pathname.startsWith(path.replace(/\/:.*/, "")));
  };
  const answer = (routable: Request): Response | Promise<Response> => {
    if (before === undefined || namesForeignHost(routable)) return app.fetch(routable);
    // The address is read only here, since the runtime makes an object for it.
    const peer = peerOf(routable);
    if (isPlain(routable, peer)) return app.fetch(routable);
    const client = clientAddress(deps.trustedProxies, peer, routable.headers);
    const answered = before(routable, client, (patient) => setPatience(routable, patient));
    return answered.then(
      (found) => {
        if (found instanceof Response) return found;
        if (found !== routable) originals.set(found, originalOf(routable));
        return app.fetch(found);
      },
      (error) => refuse(routable, error),
    );
  };
  /** Handles a request. `isLast`: its response is to be the last one on its connection. */
  const serve = (request: Request, isLast: boolean): Response | Promise<Response> => {
    const routable = withRoutableHost(request);
    if (routable !== request) originals.set(routable, request);
    // A request that is passed on to another node is read by the runtime, which does not stop at a refusal.
    const lent = before !== undefined && (isLast || closesConnection(routable.headers)) ? lend(routable) : null;
    if (lent !== null) originals.set(lent.request, request);
    const finish = (response: Response) => {
      if (isLast) response.headers.set("connection", "close");
      return answerInStages(routable, response, idleTimeoutMs, lent);
    };
    const answered = answer(lent?.request ?? routable);
    return answered instanceof Response ? finish(answered) : answered.then(finish);
  };
  const config: ServerConfig = {
    hostname: options.hostname,
    ...(options.tls === null ? {} : { tls: tlsConfig(options.tls) }),
    fetch: (request) => serve(request, false),
    idleTimeout,
    maxRequestBodySize: RUNTIME_BODY_LIMIT_BYTES,
    // Errors must not show the runtime's own page.
    development: false,
  };
  let server = options.shared ? openAgain(config, options.port) : open(config, options.port);
  const port = server.port as number;
  let accepting = true;
  let stopped = false;
  /** Servers that accept no new connections but still have pending responses. */
  const leaving = new Set<Bun.Server<undefined>>();
  const gate = {
    port,
    close() {
      accepting = false;
      const old = server;
      leaving.add(old);
      void old.stop().finally(() => leaving.delete(old));
    },
    open() {
      server = openAgain(config, port);
      accepting = true;
    },
  };
  const limit = options.connections && new ConnectionLimit(gate, options.connections);
  const endLimits = () => {
    limit?.[Symbol.dispose]();
    crowd?.[Symbol.dispose]();
  };
  return {
    port,
    hostname: options.hostname,
    async leave() {
      endLimits();
      if (!accepting) return;
      server.reload({ ...config, fetch: (request) => serve(request, true) });
      await Bun.sleep(PARTING_MS);
      if (!stopped) gate.close();
    },
    async stop(force = false) {
      stopped = true;
      endLimits();
      await Promise.all([server, ...leaving].map((each) => each.stop(force)));
    },
    [Symbol.asyncDispose]() {
      return this.stop();
    },
  };
}

/** With `clientCa`, the handshake refuses clients without a valid certificate. */
function tlsConfig({ key, cert, clientCa }: ServerTls): Bun.TLSOptions {
  if (clientCa === undefined || clientCa === null) return { key, cert };
  return { key, cert, ca: clientCa, requestCert: true, rejectUnauthorized: true };
}

/**
 * Opens a port so that this process can open it a second time. Other processes could then open it too, so it is first
 * opened in the way that fails when it is in use: a second daemon must not share it.
 */
function open(config: ServerConfig, port: number): Bun.Server<undefined> {
  const alone = Bun.serve({ ...config, port, reusePort: false });
  void alone.stop(true);
  return openAgain(config, alone.port as number);
}

/**
 * Opens a port that this process has open already. Both servers accept connections, so none is refused while one
 * leaves.
 */
const openAgain = (config: ServerConfig, port: number): Bun.Server<undefined> =>
  Bun.serve({ ...config, port, reusePort: true });

/** The first index at which Elysia looks for the slash before the path. */
const ROUTER_STARTS_AT = 11;

const USUAL_ORIGIN = "https://localhost";

/**
 * Returns the request, or a copy whose URL the router reads correctly. Elysia looks for the path from a fixed index,
 * which a host of one or two characters ends before, and the runtime leaves the host out when the `Host` header is
 * malformed. Routing must depend on neither, so such requests get another host, which nothing reads.
 */
function withRoutableHost(request: Request): Request {
  const { url } = request;
  const slash = url.startsWith("/") ? 0 : url.indexOf("/", url.indexOf("://") + 3);
  if (slash >= ROUTER_STARTS_AT) return request;
  return new Request(USUAL_ORIGIN + url.slice(Math.max(slash, 0)), request);
}

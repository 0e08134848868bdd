/**
 * The listener for monitoring systems: metrics and probes over plain HTTP, for this machine or a private network. It
 * shows more than the public probes. It accepts no body, no key and no other path.
 */

import { isHost } from "../http/own-hosts.ts";
import { answerInStages } from "../http/unread-body.ts";

/** Seconds without a byte after which a connection is closed. */
const IDLE_TIMEOUT_SECONDS = 30;

interface MetricsAnswers {
  /** The metrics in Prometheus's text format, and its media type. */
  metrics(): Promise<string>;
  metricsType: string;
  /** Whether the daemon accepts requests, with the details as JSON. */
  readiness(): Promise<{ ready: boolean; body: string }>;
}

/** Opens the listener. @throws the runtime's error, such as `EADDRINUSE` */
export function serveMetrics(answers: MetricsAnswers, { host, port }: { host: string; port: number }) {
  const server = Bun.serve({
    hostname: host,
    port,
    // A second daemon must not share the port.
    reusePort: false,
    idleTimeout: IDLE_TIMEOUT_SECONDS,
    // The runtime would close the connection while the client still sends the body.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    development: false,
    fetch: async (request) => answerInStages(request, await answer(answers, request), IDLE_TIMEOUT_SECONDS * 1_000),
    error: () => text(500, "Cannot collect the metrics. See the daemon's log.\n"),
  });
  return { port: server.port as number, stop: (now = false) => server.stop(now) };
}

async function answer(answers: MetricsAnswers, request: Request): Promise<Response> {
  if (!isHost(request.headers.get("host") ?? "localhost")) return text(400, "Send one Host header.\n");
  const { pathname } = new URL(request.url, "http://localhost");
  const found = PATHS[pathname];
  if (found === undefined) return text(404, `Not found. Available: ${Object.keys(PATHS).join(", ")}.\n`);
  if (request.method !== "GET" && request.method !== "HEAD") return text(405, "Use GET.\n", { allow: "GET, HEAD" });
  return found(answers);
}

const PATHS: Readonly<Record<string, (answers: MetricsAnswers) => Promise<Response>>> = {
  "/metrics": async (answers) => new Response(await answers.metrics(), { headers: headersOf(answers.metricsType) }),
  "/healthz": async () => new Response('{"status":"ok"}', { headers: headersOf("application/json") }),
  "/readyz": async (answers) => {
    const { ready, body } = await answers.readiness();
    return new Response(body, { status: ready ? 200 : 503, headers: headersOf("application/json") });
  },
};

const text = (status: number, body: string, headers: Record<string, string> = {}): Response =>
  new Response(body, { status, headers: { ...headersOf("text/plain; charset=utf-8"), ...headers } });

function headersOf(contentType: string): Record<string, string> {
  return { "content-type": contentType, "cache-control": "no-store", "x-content-type-options": "nosniff" };
}

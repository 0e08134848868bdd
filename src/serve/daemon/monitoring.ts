/** The listener for metrics and probes. This file is imported only when the listener is set. */
import type { Anchors } from "../../follow/anchors/anchors.ts";
import type { Installation } from "../../ops/directory/installation.ts";
import { countWorkspaces } from "../../ops/directory/workspaces.ts";
import type { Address } from "../../settings/values.ts";
import type { RequestMeter } from "../http/pipeline/request-meter.ts";
import { Metrics, type MetricsSources } from "../metrics/metrics.ts";
import { serveMetrics } from "../metrics/server.ts";
import type { Tally } from "../metrics/workspaces.ts";
import type { WorkspacePool } from "../threads/pool.ts";
import { Listener } from "./listener.ts";
import type { Logger } from "./logger.ts";
import type { ReadinessProbe } from "./readiness.ts";
import type { Sinks } from "./sinks.ts";

/** The parts of a service that can be monitored. */
export interface Monitored {
  pool: WorkspacePool;
  anchors: Anchors;
  sinks: Sinks;
  /** Null without metrics, in which case requests are not counted. */
  requests: RequestMeter | null;
  tally: Tally;
  readiness: ReadinessProbe;
}

/** How long a running scrape may delay the shutdown, ms. */
const LAST_SCRAPE_MS = 500;

/** The sources of metrics besides the service. */
interface MonitoringParts extends Pick<MetricsSources, "directory" | "certificates" | "backups" | "clock"> {
  installation: Installation;
  logger: Logger;
}

/** An open listener for metrics and probes. */
export interface Monitoring extends AsyncDisposable {
  address: Address;
}

/** Opens the listener. @throws {Failure} `port_in_use` or `address_unavailable` */
export async function openMonitoring(
  address: Address,
  { requests, readiness, ...monitored }: Monitored,
  { installation, logger, ...parts }: MonitoringParts,
): Promise<Monitoring> {
  if (requests === null) throw new Error("the requests are not counted");
  await using stack = new AsyncDisposableStack();
  const metrics = stack.use(
    new Metrics({
      ...monitored,
      ...parts,
      requests,
      countWorkspaces: () => countWorkspaces(installation.connection),
      onError: (metric, error) =>
        logger.error("cannot read a metric", { metric, name: error instanceof Error ? error.name : typeof error }),
    }),
  );
  const answers = {
    metrics: () => metrics.text(),
    metricsType: metrics.contentType,
    readiness: () => readiness.detailed(),
  };
  const listener = new Listener((at) => serveMetrics(answers, at), address, "--metrics-listen");
  stack.defer(() => listener.close(LAST_SCRAPE_MS));
  const held = stack.move();
  return { address: listener.address, [Symbol.asyncDispose]: () => held.disposeAsync() };
}

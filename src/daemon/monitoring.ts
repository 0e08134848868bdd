/** What the daemon shows to monitoring systems: the listener for metrics and probes. Imported only when it is set. */
import type { Anchors } from "../anchors/anchors.ts";
import type { ControlDatabase } from "../control/database.ts";
import { countWorkspaces } from "../control/workspaces.ts";
import type { DataDirectory } from "../datadir/layout.ts";
import type { RequestMeter } from "../http/pipeline/request-meter.ts";
import type { Clock } from "../ids.ts";
import { Metrics } from "../metrics/metrics.ts";
import { serveMetrics } from "../metrics/server.ts";
import type { Moments } from "../metrics/storage.ts";
import type { Address } from "../settings/values.ts";
import type { WorkspacePool } from "../threads/pool.ts";
import { Listener } from "./listener.ts";
import type { Logger } from "./logger.ts";
import type { ReadinessProbe } from "./readiness.ts";

/** Counts since the start. */
export interface Tally {
  unexpectedFailures: number;
  seals: number;
  /** When the last seal was made, ms since the epoch. */
  lastSealMs: number | null;
}

/** The parts of a service that can be monitored. */
export interface Monitored {
  pool: WorkspacePool;
  anchors: Anchors;
  /** Null without metrics. Then requests are not counted. */
  requests: RequestMeter | null;
  tally: Tally;
  readiness: ReadinessProbe;
}

/** How long a running scrape may delay the shutdown. */
const LAST_SCRAPE_MS = 500;

export interface MonitoringParts {
  monitored: Monitored;
  control: ControlDatabase;
  directory: DataDirectory;
  moments: Moments;
  clock: Clock;
  logger: Logger;
}

/** An open listener for metrics and probes. */
export interface Monitoring extends AsyncDisposable {
  address: Address;
}

/** Opens the listener. @throws {Failure} `port_in_use` or `address_unavailable` */
export async function openMonitoring(address: Address, parts: MonitoringParts): Promise<Monitoring> {
  const { monitored, control, directory, moments, clock, logger } = parts;
  const { pool, anchors, requests, tally, readiness } = monitored;
  if (requests === null) throw new Error("the requests are not counted");
  await using stack = new AsyncDisposableStack();
  const metrics = stack.use(
    new Metrics({
      requests,
      pool,
      counts: {
        workspaces: () => countWorkspaces(control.connection),
        seals: () => ({ made: tally.seals, lastMs: tally.lastSealMs }),
        failures: () => tally.unexpectedFailures,
      },
      anchors: () => anchors.lags,
      directories: directory,
      moments,
      clock,
      monotonicMs: () => performance.now(),
      onError: (family, error) =>
        logger.error("cannot read a metric", {
          metric: family,
          name: error instanceof Error ? error.name : typeof error,
        }),
    }),
  );
  const answers = {
    metrics: () => metrics.text(),
    metricsType: metrics.contentType,
    readiness: () => readiness.detailed(),
  };
  const serve = (at: Address) => ({ ...serveMetrics(answers, at), replaceCertificate: async () => {} });
  const listener = new Listener(serve, address, null, "--metrics-listen");
  stack.defer(() => listener.close(LAST_SCRAPE_MS));
  const held = stack.move();
  return { address: listener.address, [Symbol.asyncDispose]: () => held.disposeAsync() };
}

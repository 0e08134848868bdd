/** What the daemon shows to whoever watches it: the listener for metrics and probes. */
import type { ControlDatabase } from "../control/database.ts";
import { countWorkspaces } from "../control/workspaces.ts";
import type { DataDirectory } from "../datadir/layout.ts";
import type { Clock } from "../ids.ts";
import { Metrics } from "../metrics/metrics.ts";
import { serveMetrics } from "../metrics/server.ts";
import type { Moments } from "../metrics/storage.ts";
import type { Address } from "../settings/schema.ts";
import { Listener } from "./listener.ts";
import type { Logger } from "./logger.ts";
import type { Watched } from "./watched.ts";

/** How long a scrape that was begun may take at the end. */
const LAST_SCRAPE_MS = 500;

export interface WatchingParts {
  watched: Watched;
  control: ControlDatabase;
  directory: DataDirectory;
  moments: Moments;
  clock: Clock;
  logger: Logger;
}

/** An open listener for metrics and probes. */
export interface Watching extends AsyncDisposable {
  address: Address;
}

/** @throws {Failure} `port_in_use` or `address_unavailable`. */
export async function openWatching(address: Address, parts: WatchingParts): Promise<Watching> {
  const { watched, control, directory, moments, clock, logger } = parts;
  const { pool, anchors, requests, tally, readiness } = watched;
  if (requests === null) throw new Error("the requests are not counted");
  await using stack = new AsyncDisposableStack();
  const metrics = stack.use(
    new Metrics({
      requests,
      pool,
      counts: {
        workspaces: () => countWorkspaces(control.connection),
        seals: () => ({ made: tally.seals, lastMs: tally.lastSealMs }),
        failures: () => tally.failures,
      },
      anchors: () => anchors.lags,
      directories: directory,
      moments,
      clock,
      monotonicMs: () => performance.now(),
      onError: (family, error) =>
        logger.error("a metric could not be read", {
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

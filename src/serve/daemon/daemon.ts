/** The daemon as one disposable object. It acquires its resources in order and releases them in reverse order. */

import { ownDataDirectory } from "../../core/datadir/lock.ts";
import { openDataDirectory } from "../../core/datadir/open.ts";
import { readSealKey, sealKeySource } from "../../core/datadir/seal-key.ts";
import { openNode } from "../../engine-libsql/nodes/node.ts";
import { requireUsable } from "../../engine-libsql/requirements.ts";
import type { Clock } from "../../ids.ts";
import { Installation } from "../../ops/directory/installation.ts";
import { countWorkspaces } from "../../ops/directory/workspaces.ts";
import type { Settings } from "../../settings/definitions.ts";
import type { Reread } from "../../settings/reread.ts";
import { formatAddress } from "../../settings/values.ts";
import type { CertificateStatus, ServerCertificate } from "../tls/certificate.ts";
import { certificateSource } from "../tls/source.ts";
import { CertificateWatch } from "./certificate-watch.ts";
import { CompactRequests } from "./compaction.ts";
import { linkUrl, publicBase, reachable } from "./link-url.ts";
import { Listener } from "./listener.ts";
import { serveLogRequests } from "./log-requests.ts";
import type { Logger } from "./logger.ts";
import type { Monitoring } from "./monitoring.ts";
import { Reload } from "./reload.ts";
import { Schedules } from "./schedules.ts";
import { openService } from "./service.ts";
import { type Watched, watchedNothing } from "./upkeep.ts";

/** How long running requests may take at shutdown, ms. The rest of the ten seconds is for closing. */
const DRAIN_MS = 5_000;

/** A running daemon. Disposing of it stops it gracefully. */
export interface Daemon extends AsyncDisposable {
  /** The address of the API. */
  url: string;
  dataDir: string;
  /** The file of the daemon's own certificate authority, which clients must trust; null when it does not use one. */
  authorityFile: string | null;
  /** Whether there is no workspace yet. */
  empty: boolean;
  /** The page with a one-time token for the first account; null when there is an account. */
  signUpUrl: string | null;
  /** The address of metrics and probes; null without the setting. */
  metricsUrl: string | null;
  /** Applies changed settings that do not need a restart, and reloads the certificate. */
  reload(found: Settings): Promise<void>;
  /** The certificates in use, the server's own first; none without TLS. */
  certificates(): CertificateStatus[];
}

/**
 * Starts the daemon. It accepts requests when the promise resolves.
 * @throws {Failure} for every problem that the operator can fix
 */
export async function startDaemon(settings: Settings, clock: Clock, logger: Logger): Promise<Daemon> {
  await using stack = new AsyncDisposableStack();
  const found = openDataDirectory(settings);
  // Reports an unreadable key now instead of at the first seal.
  readSealKey(sealKeySource(found, settings.seal_key));
  const { directory } = stack.use(ownDataDirectory(found));
  if (directory.server !== null) await requireUsable(directory.server);
  const warn = (warning: string) => logger.warn(warning);
  const installation = stack.use(await Installation.open(directory, warn));
  const onError = (error: unknown) =>
    logger.error("cannot use the file of the installation", { reason: String(error) });
  const watched = watchedNothing();
  const service = stack.use(await openService({ settings, directory, installation, clock, logger, watched, onError }));
  const source = certificateSource(settings, directory, clock);
  const certificate = (await source?.load()) ?? null;
  const node =
    installation.nodes && stack.use(await openNode({ settings, directory, installation, service, clock, logger }));
  const before = node?.before;
  const listener = new Listener(
    (address) => service.serve(address, certificate, { before }),
    settings.listen,
    "--listen",
  );
  stack.defer(() => listener.close(DRAIN_MS));
  stack.defer(() => service.endLive());
  const serveAgain = (next: ServerCertificate | null) =>
    listener.replace((address) => service.serve(address, next, { shared: true, before }));
  const sourceOf = (now: Settings) => certificateSource(now, directory, clock);
  const watch =
    source && certificate
      ? stack.use(new CertificateWatch(source, certificate, { clock, logger, sourceOf, use: serveAgain }))
      : null;
  const certificates = () => watch?.status ?? [];
  stack.defer(serveLogRequests(directory, service.monitored.pool, logger));
  stack.use(new CompactRequests(directory, service.monitored.pool, logger));
  const schedules = stack.use(await Schedules.of(settings, directory, clock, logger));
  const backups = () => schedules.backups;
  Object.assign(watched, { certificates, backups } satisfies Watched);
  let monitoring: Monitoring | null = null;
  if (settings.metrics_listen !== null) {
    const { openMonitoring } = await import("./monitoring.ts");
    const parts = { installation, directory, certificates, backups, clock, logger };
    monitoring = stack.use(await openMonitoring(settings.metrics_listen, service.monitored, parts));
  }
  const server = {
    apply: async ({ changed }: Reread) => (changed.size > 0 ? serveAgain(watch?.certificate ?? null) : undefined),
  };
  const reload = new Reload(
    settings,
    [service, schedules, ...(watch ? [watch] : []), ...(node ? [node] : []), server],
    logger,
  );
  const empty = countWorkspaces(installation.connection) === 0;
  const token = await service.startLink();
  // The threads start while this one opens the port.
  await service.ready();
  const held = stack.move();
  return {
    url: `${certificate ? "https" : "http"}://${formatAddress(reachable(listener.address))}`,
    signUpUrl: token && linkUrl(publicBase(settings, listener.address), "setup", token),
    metricsUrl: monitoring && `http://${formatAddress(reachable(monitoring.address))}/metrics`,
    dataDir: directory.root,
    authorityFile: source?.authorityFile ?? null,
    empty,
    reload: (found) => reload.run(found),
    certificates,
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

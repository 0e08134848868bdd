/** What answers the requests: the workspaces on their threads, and the HTTP application before them. */

import { Anchors, sinksOf } from "../anchors/anchors.ts";
import { Attempts } from "../control/accounts/attempts.ts";
import { Passwords } from "../control/accounts/passwords.ts";
import type { SessionKeeper } from "../control/accounts/session-keeper.ts";
import type { Authenticator } from "../control/authenticator.ts";
import type { ControlDatabase } from "../control/database.ts";
import { listWorkspaces } from "../control/workspaces.ts";
import { type DataDirectory, workspaceFile } from "../datadir/layout.ts";
import { DiskReserve } from "../datadir/reserve.ts";
import { sealKeySource } from "../datadir/seal-key.ts";
import { stackFrames, systemCode, systemReason } from "../failure.ts";
import type { Quota } from "../features/data/quota.ts";
import type { AccountDeps } from "../http/account/action.ts";
import type { ConnectionLimitOptions } from "../http/connection-limit.ts";
import { canCountConnections } from "../http/connection-limit.ts";
import type { RequestLogEntry } from "../http/pipeline/exchange.ts";
import type { AppDeps } from "../http/pipeline/pipeline.ts";
import { RequestMeter } from "../http/pipeline/request-meter.ts";
import { TrustedProxies } from "../http/pipeline/trusted-proxy.ts";
import { startServer } from "../http/server.ts";
import { type Clock, IdSource, RandomPool, systemClock } from "../ids.ts";
import { databaseBytes } from "../metrics/storage-sizes.ts";
import { sealingOptions } from "../seals/options.ts";
import type { Settings } from "../settings/schema.ts";
import { FULL_TEXT_FROM } from "../state/full-text.ts";
import { WorkspacePool } from "../threads/pool.ts";
import { collectWhenQuiet } from "../threads/quiet-memory.ts";
import { anchorLog, proveConsistency, withAnchors } from "./anchoring.ts";
import { embeddingOptions } from "./embeddings.ts";
import type { Serve } from "./listener.ts";
import type { LogFields, Logger, LogLevel } from "./logger.ts";
import { ReadinessProbe } from "./readiness.ts";
import { poolRecorder, workspaceRecorder } from "./recorder.ts";
import { Sweeper } from "./upkeep.ts";
import { Tally, type Watched } from "./watched.ts";

/** Everything that a service is made of. */
export interface ServiceParts {
  settings: Settings;
  directory: DataDirectory;
  control: ControlDatabase;
  authenticator: Authenticator;
  sessions: SessionKeeper;
  clock: Clock;
  logger: Logger;
}

/** Opens ports that answer the API. Disposing of it finishes what is under way and closes the workspaces. */
export interface Service extends AsyncDisposable {
  serve: Serve;
  /** What there is to watch. */
  watched: Watched;
  /** Ends the answers that would never end by themselves. */
  endLive(): void;
}

export async function openService(parts: ServiceParts): Promise<Service> {
  const { settings, directory, control, clock, logger } = parts;
  const embeddings = await embeddingOptions(settings);
  await using stack = new AsyncDisposableStack();
  const sinks = sinksOf(settings, {
    proveConsistency: (workspaceId, from, to) => proveConsistency(pool, workspaceId, from, to),
    keep: ({ workspaceId, size, note }) => pool.cosigned(workspaceId, size, note),
  });
  const anchors = stack.use(
    new Anchors(sinks, anchorLog(logger), {
      notesDir: directory.anchors,
      clock,
      onError: (error) =>
        logger.warn("an anchor could not be noted", { reason: systemCode(error) ?? "it failed" }),
    }),
  );
  const tally = new Tally();
  const pool: WorkspacePool = stack.use(
    new WorkspacePool({
      workspacesDir: directory.workspaces,
      encryptionKey: directory.encryptionKey?.reveal() ?? null,
      // A thread cannot be given a function: it is told how far this clock is from the system's.
      clockOffsetMs: clock() - systemClock(),
      searchMemoryBytes: settings.search_memory,
      fullTextFrom: FULL_TEXT_FROM,
      embeddings,
      quota: quotaOf(settings),
      threads: settings.threads,
      sealing: sealingOptions(directory, settings),
      onStorage: (_, trouble) => {
        if (trouble === "disk_full") reserve.release();
      },
      onSealed: (workspaceId, { size, note }) => {
        tally.seals++;
        tally.lastSealMs = clock();
        anchors.offer({ workspaceId, size, note });
      },
      onFailure: ({ where, name, frames }) => {
        tally.failures++;
        logger.error("unexpected failure", { where, name, frames: frames.join(" | ") });
      },
      onDown: ({ workspaceId, reason }) =>
        logger.error("a workspace is down, the others work", { workspace_id: workspaceId, reason }),
      onUp: (workspaceId) => logger.info("a workspace works again", { workspace_id: workspaceId }),
      onRecovery: ({ where, failures }) => logger.info("works again", { where, failures }),
    }),
  );
  await pool.ready();
  const reserve = stack.use(
    new DiskReserve(directory.reserve, (sparing) => {
      pool.sparing = sparing;
      if (sparing) logger.error("the disk is full: only reads and deletions are taken", {});
      else logger.info("the disk has space again", {});
    }),
  );
  collectWhenQuiet();
  stack.use(new Sweeper(() => listWorkspaces(control.connection).map(({ id }) => id), pool));
  const readiness = new ReadinessProbe({
    root: directory.root,
    threadsRunning: () => pool.running,
    down: pool.down,
    takesWrites: () => !pool.diskFails && !pool.sparing,
    monotonicMs: () => performance.now(),
  });
  const requests = settings.metrics_listen === null ? null : new RequestMeter();
  const watched = { pool, anchors, requests, tally, readiness };
  const deps = appDeps(parts, watched);
  const held = stack.move();
  return {
    watched,
    endLive: () => pool.endLive(),
    serve: (address, certificate) =>
      startServer(deps, {
        hostname: address.host,
        port: address.port,
        tls: certificate,
        idleTimeoutMs: settings.idle_timeout,
        ...(settings.max_connections > 0 && canCountConnections()
          ? { connections: connectionLimit(settings.max_connections, logger) }
          : {}),
      }),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

function quotaOf({ quota_entries: entries, quota_bytes: bytes }: Settings): Quota | null {
  return entries === 0 && bytes === 0 ? null : { entries, bytes };
}

function appDeps(parts: ServiceParts, watched: Watched): Omit<AppDeps, "peerOf"> {
  const { settings, authenticator, logger } = parts;
  const { pool, anchors, requests, tally, readiness } = watched;
  const random = new RandomPool();
  return {
    workspaces: withAnchors(pool, anchors),
    authenticate: (apiKey) => authenticator.authenticate(apiKey),
    accounts: accountDeps(parts, pool),
    isReady: () => readiness.brief(),
    ...(requests === null ? {} : { meter: requests }),
    logs: (status) => logger.writes(levelOf(status)),
    log: (entry) => logger[levelOf(entry.status)]("request", known(entry)),
    onInternalError: (error, requestId) => {
      tally.failures++;
      logger.error("unexpected failure", {
        request_id: requestId,
        name: error instanceof Error ? error.name : typeof error,
        frames: stackFrames(error).join(" | "),
      });
    },
    monotonicMs: () => performance.now(),
    randomBytes: (length) => random.take(length),
    maxBodyBytes: settings.max_body,
    bodyTimeoutMs: settings.request_timeout,
    requestsPerSecond: settings.rate_limit,
    wrongKeysPerMinute: settings.auth_failure_limit,
    ...(settings.tls === "off" ? { trustedProxies: new TrustedProxies(settings.trusted_proxies) } : {}),
  };
}

function connectionLimit(maxConnections: number, logger: Logger): ConnectionLimitOptions {
  return {
    maxConnections,
    onFull: (connections) =>
      logger.warn("too many connections: nothing more is accepted for now", {
        connections,
        max_connections: maxConnections,
      }),
    onRoom: () => logger.info("connections are accepted again"),
    onTrouble: (error) =>
      logger.error("the port could not be opened again, which is tried every second", {
        reason: systemReason(error),
      }),
  };
}

function accountDeps(parts: ServiceParts, pool: WorkspacePool): AccountDeps {
  const { settings, directory, control, sessions, clock, logger } = parts;
  const random = new RandomPool();
  const files = workspaceRecorder(directory, {
    key: sealKeySource(directory, settings.seal_key),
    hostnames: settings.hostnames,
    onUnsealed: (reason) => logger.warn("a new workspace is not sealed yet", { reason }),
  });
  return {
    sessions,
    parts: {
      control,
      recorder: poolRecorder(files, pool),
      clock,
      ids: new IdSource(clock, random),
      random,
      passwords: new Passwords(random),
      attempts: new Attempts(() => performance.now()),
      signup: settings.signup,
      signingUp: new Set(),
    },
    storageBytes: (workspaceId) => databaseBytes(workspaceFile(directory, workspaceId)),
    quota: { bytes: settings.quota_bytes || null, entries: settings.quota_entries || null },
  };
}

/** The fields of a request's line that say something. */
function known(entry: RequestLogEntry): LogFields {
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== null));
}

/** Nothing is wrong with the daemon then: the workspace has used up its quota. */
const WORKSPACE_FULL = 507;

/**
 * What was done stands in the audit trail; the log tells, unless asked for more, what was refused or
 * failed, which the trail does not hold.
 */
function levelOf(status: number): LogLevel {
  if (status >= 500 && status !== WORKSPACE_FULL) return "error";
  return status >= 400 ? "info" : "debug";
}

/** What answers the requests: the workspaces on their threads, and the HTTP application before them. */

import { stat } from "node:fs/promises";
import type { AccountDeps } from "../account/action.ts";
import { Anchors, sinksOf } from "../anchors/anchors.ts";
import { Attempts } from "../control/attempts.ts";
import type { Authenticator } from "../control/authenticator.ts";
import type { ControlDatabase } from "../control/database.ts";
import { Passwords } from "../control/passwords.ts";
import type { SessionKeeper } from "../control/session-keeper.ts";
import { listWorkspaces } from "../control/workspaces.ts";
import { type DataDirectory, workspaceFile } from "../datadir/layout.ts";
import { sealKeySource } from "../datadir/seal-key.ts";
import { systemCode } from "../failure.ts";
import type { AppDeps } from "../http/pipeline.ts";
import { startServer } from "../http/server.ts";
import { TrustedProxies } from "../http/trusted-proxy.ts";
import { type Clock, IdSource, RandomPool, systemClock } from "../ids.ts";
import { sealingOptions } from "../seals/options.ts";
import type { Settings } from "../settings/schema.ts";
import { FULL_TEXT_FROM } from "../state/full-text.ts";
import { WorkspacePool } from "../threads/pool.ts";
import { anchorLog, proveConsistency } from "./anchoring.ts";
import { embeddingOptions } from "./embeddings.ts";
import type { Serve } from "./listener.ts";
import type { Logger, LogLevel } from "./logger.ts";
import { poolRecorder, workspaceRecorder } from "./recorder.ts";
import { isWritable, Sweeper } from "./upkeep.ts";

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
  /** Ends the answers that would never end by themselves. */
  endLive(): void;
}

export async function openService(parts: ServiceParts): Promise<Service> {
  const { settings, directory, control, clock, logger } = parts;
  await using stack = new AsyncDisposableStack();
  const sinks = sinksOf(settings, {
    proveConsistency: (workspaceId, from, to) => proveConsistency(pool, workspaceId, from, to),
    keep: ({ workspaceId, size, note }) => pool.cosigned(workspaceId, size, note),
  });
  const anchors = stack.use(new Anchors(sinks, anchorLog(logger)));
  const pool: WorkspacePool = stack.use(
    new WorkspacePool({
      workspacesDir: directory.workspaces,
      // A thread cannot be given a function: it is told how far this clock is from the system's.
      clockOffsetMs: clock() - systemClock(),
      searchMemoryBytes: settings.search_memory,
      fullTextFrom: FULL_TEXT_FROM,
      embeddings: embeddingOptions(settings),
      threads: settings.threads,
      sealing: sealingOptions(directory, settings),
      onSealed: (workspaceId, { size, note }) => anchors.offer({ workspaceId, size, note }),
      onFailure: ({ where, name, frames }) =>
        logger.error("unexpected failure", { where, name, frames: frames.join(" | ") }),
    }),
  );
  await pool.ready();
  stack.use(new Sweeper(() => listWorkspaces(control.connection).map(({ id }) => id), pool));
  const deps = appDeps(parts, pool);
  const held = stack.move();
  return {
    endLive: () => pool.endLive(),
    serve: (address, certificate) =>
      startServer(deps, {
        hostname: address.host,
        port: address.port,
        tls: certificate && { key: certificate.key, cert: certificate.cert },
      }),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

function appDeps(parts: ServiceParts, pool: WorkspacePool): Omit<AppDeps, "peerOf"> {
  const { settings, directory, authenticator, logger } = parts;
  const random = new RandomPool();
  return {
    workspaces: pool,
    authenticate: (apiKey) => authenticator.authenticate(apiKey),
    accounts: accountDeps(parts, pool),
    isReady: () => isWritable(directory.root),
    logs: (status) => logger.writes(levelOf(status)),
    log: (entry) => logger[levelOf(entry.status)]("request", { ...entry }),
    onInternalError: (error, requestId) =>
      logger.error("unexpected failure", {
        request_id: requestId,
        name: error instanceof Error ? error.name : typeof error,
        frames: stackFrames(error),
      }),
    monotonicMs: () => performance.now(),
    randomBytes: (length) => random.take(length),
    maxBodyBytes: settings.max_body,
    requestsPerSecond: settings.rate_limit,
    ...(settings.tls === "off" ? { trustedProxies: new TrustedProxies(settings.trusted_proxies) } : {}),
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
    storageBytes: (workspaceId) => storageBytes(workspaceFile(directory, workspaceId)),
  };
}

/** What a database occupies, with what is not yet written back into it. */
async function storageBytes(path: string): Promise<number> {
  const files = [path, `${path}-wal`, `${path}-shm`];
  const sizes = await Promise.all(files.map((file) => stat(file).then(({ size }) => size, absent)));
  return sizes.reduce((total, size) => total + size, 0);
}

function absent(error: unknown): number {
  if (systemCode(error) === "ENOENT") return 0;
  throw error;
}

/**
 * What was done stands in the audit trail; the log tells, unless asked for more, what was refused or
 * failed, which the trail does not hold.
 */
function levelOf(status: number): LogLevel {
  if (status >= 500) return "error";
  return status >= 400 ? "info" : "debug";
}

/** Where an error happened; its message is left out, since it may repeat what a client sent. */
function stackFrames(error: unknown): string {
  if (!(error instanceof Error)) return "";
  const frames = (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  return frames.map((line) => line.trim()).join(" | ");
}

/** The part of the daemon that handles requests: the workspaces on their threads, and the HTTP application. */

import { type DataDirectory, workspaceFile } from "../../core/datadir/layout.ts";
import { DiskReserve } from "../../core/datadir/reserve.ts";
import { sealKeySource } from "../../core/datadir/seal-key.ts";
import { hasAccounts } from "../../core/rows/access/accounts.ts";
import { FULL_TEXT_FROM } from "../../core/rows/full-text.ts";
import { sealingOptions } from "../../core/seals/options.ts";
import { systemPrincipal } from "../../core/writer/contract.ts";
import type { NodeIdentity } from "../../engine-libsql/cluster/identity.ts";
import { nothingOwned, type Ownership } from "../../engine-libsql/nodes/ownership.ts";
import { identified, serveNodes } from "../../engine-libsql/nodes/requests.ts";
import { messageOf, stackFrames, systemCode } from "../../failure.ts";
import { Anchors, targetsOf } from "../../follow/anchors/anchors.ts";
import { type Clock, IdSource, RandomPool, systemClock } from "../../ids.ts";
import type { RowTableName } from "../../log/row-effects.ts";
import { isLoopback, Networks } from "../../networks.ts";
import type { WaitingFlow } from "../../oidc/issuer.ts";
import { Attempts } from "../../ops/accounts/attempts.ts";
import { FactorKey } from "../../ops/accounts/factor-key.ts";
import { FailedSignIns } from "../../ops/accounts/failed-sign-ins.ts";
import { Memberships } from "../../ops/accounts/memberships.ts";
import type { AccountParts } from "../../ops/accounts/parts.ts";
import { Passwords } from "../../ops/accounts/passwords.ts";
import type { AccountDeps } from "../../ops/accounts/routes/contract.ts";
import { SessionKeeper } from "../../ops/accounts/session-keeper.ts";
import { startLink } from "../../ops/accounts/start-link.ts";
import { Waiting } from "../../ops/accounts/waiting.ts";
import { Authenticator } from "../../ops/directory/authenticator.ts";
import { removeDeleted, removeUnfinished } from "../../ops/directory/deletion.ts";
import { HeadsUpkeep } from "../../ops/directory/heads.ts";
import type { Installation } from "../../ops/directory/installation.ts";
import { fileJournal, threadJournal, withWriter } from "../../ops/directory/journal.ts";
import type { Workloads } from "../../ops/directory/workloads.ts";
import { listLogIds } from "../../ops/directory/workspaces.ts";
import type { SettingName, Settings } from "../../settings/definitions.ts";
import type { Address } from "../../settings/values.ts";
import { sinkPlaces } from "../../sink.ts";
import { systemTimer } from "../../timer.ts";
import { DescriptorReserve } from "../http/descriptor-reserve.ts";
import type { AppDeps } from "../http/pipeline/pipeline.ts";
import { RequestMeter } from "../http/pipeline/request-meter.ts";
import { type Before, type RunningServer, startServer } from "../http/server.ts";
import { databaseBytes } from "../metrics/storage.ts";
import type { Tally } from "../metrics/workspaces.ts";
import { collectWhenIdle } from "../threads/idle-collection.ts";
import type { ChangeableOptions } from "../threads/messages.ts";
import { WorkspacePool } from "../threads/pool.ts";
import type { ServerCertificate } from "../tls/certificate.ts";
import { anchorLog, proveConsistency, stateRootsOf, withAnchors } from "./anchoring.ts";
import { connectionLimits, descriptorPlan } from "./connection-limits.ts";
import { embeddingOptions } from "./embeddings.ts";
import { signInIssuer, workloadsOf } from "./issuer.ts";
import { type Logger, levelOfStatus, warnSparingly } from "./logger.ts";
import type { Monitored } from "./monitoring.ts";
import { ReadinessProbe } from "./readiness.ts";
import type { Applies } from "./reload.ts";
import { Sinks } from "./sinks.ts";
import { Sweeper } from "./sweeper.ts";
import { upkeepFrom, type Watched } from "./upkeep.ts";
import { findingsFrom, keyFinder, workspacesOf } from "./workspace-requests.ts";

interface ServiceParts {
  settings: Settings;
  directory: DataDirectory;
  installation: Installation;
  clock: Clock;
  logger: Logger;
  watched: Watched;
  /** Called when the file of the installation cannot be used in the background. */
  onError: (error: unknown) => void;
}

/** Serves the API. Disposing of it finishes running requests and closes the workspaces. */
interface Service extends Applies, AsyncDisposable {
  /**
   * Opens a port; a null certificate means plain HTTP. `shared`: another server still has the port, and will leave it.
   * @throws the system's error when the port cannot be opened
   */
  serve(
    address: Address,
    certificate: ServerCertificate | null,
    options?: { shared?: boolean; before?: Before | undefined },
  ): RunningServer;
  /** Opens a port for other nodes, which forward requests of clients and state the clients' addresses. */
  serveNodes(address: Address, identity: NodeIdentity, options: { shared: boolean; before: Before }): RunningServer;
  /** Returns the workspace of a request's credentials; null when they are not valid, or not for a single workspace. */
  identify(request: Request): Promise<string | null>;
  /**
   * Applies changed settings. Those of requests and connections apply only to servers that {@link serve} opens later.
   */
  apply: Applies["apply"];
  monitored: Monitored;
  ownership: Ownership;
  /** On a node, brings the working copy of the file of the installation up to date. */
  refreshInstallation(): Promise<void>;
  /** As {@link startLink}; null when there is an account, or when the accounts cannot be used, which is logged. */
  startLink(): Promise<string | null>;
  /** Resolves when the workspace threads have started. Requests that arrive earlier wait for them. */
  ready(): Promise<void>;
  /** Ends responses that do not end by themselves. */
  endLive(): void;
}

export async function openService(parts: ServiceParts): Promise<Service> {
  const { directory, installation, clock, logger } = parts;
  let { settings } = parts;
  const embeddings = await embeddingOptions(settings);
  let descriptors = descriptorPlan(settings, logger);
  await using stack = new AsyncDisposableStack();
  const descriptorReserve = stack.use(new DescriptorReserve());
  const places = () =>
    targetsOf(settings, {
      proveConsistency: (workspaceId, from, to) => proveConsistency(pool, workspaceId, from, to),
      keep: ({ workspaceId, size, note }) => pool.cosigned(workspaceId, size, note),
    });
  const anchors = stack.use(
    new Anchors(places(), anchorLog(logger), {
      notesDir: directory.anchors,
      clock,
      onError: (error) => logger.warn("cannot store an anchor receipt", { reason: systemCode(error) ?? "it failed" }),
    }),
  );
  const tally: Tally = { unexpectedFailures: 0, seals: 0, lastSealMs: null };
  const pool: WorkspacePool = stack.use(
    new WorkspacePool({
      workspacesDir: directory.workspaces,
      encryptionKey: directory.encryptionKey?.reveal() ?? null,
      server: directory.server,
      // A thread cannot receive a function, so it gets the offset of this clock from the system clock.
      clockOffsetMs: clock() - systemClock(),
      searchMemoryBytes: settings.search_memory,
      fullTextFrom: FULL_TEXT_FROM,
      embeddings,
      ...workspaceOptions(directory, settings),
      threads: settings.threads,
      open: descriptors.open,
      onStorage: (_, trouble) => {
        if (trouble === "disk_full") reserve.release();
      },
      onNoSpace: () => reserve.release(),
      onRows(workspaceId, tables) {
        if (tables.keys !== undefined) authenticator.forget(workspaceId);
        if (tables.members !== undefined || tables.workspace !== undefined) memberships.forget(workspaceId);
        if (tables.sessions !== undefined) sessions.forgetAll();
        // Accounts may have gained or lost a second factor.
        if (FACTOR_TABLES.some((table) => tables[table] !== undefined)) memberships.forgetAll();
        if (tables.sinks !== undefined) sinks.notice(workspaceId, tables.sinks);
      },
      onNoDescriptors: () => descriptorReserve.release(),
      onSealed: (workspaceId, { size, note }) => {
        tally.seals++;
        tally.lastSealMs = clock();
        anchors.offer({ workspaceId, size, note });
        if (workspaceId !== installation.id) stateRoots.sealed(workspaceId);
      },
      onFailure: ({ where, name, frames }) => {
        tally.unexpectedFailures++;
        logger.error("unexpected failure", { where, name, frames: frames.join(" | ") });
      },
      onOpened: (workspaceId) => installation.reopened(workspaceId),
      onDown({ workspaceId, reason }) {
        logger.error("a workspace is down", { workspace_id: workspaceId, reason });
      },
      onUp(workspaceId) {
        logger.info("a workspace recovered", { workspace_id: workspaceId });
      },
      onWarning: warnSparingly(logger, () => performance.now()),
      onRecovery: ({ where, failures }) => logger.info("recovered", { where, failures }),
    }),
  );
  const stateRoots = stack.use(stateRootsOf(pool, settings.state_roots, clock, logger));
  const authenticator = stack.use(
    new Authenticator(installation, {
      clock,
      onError: parts.onError,
      find: keyFinder(pool, directory.server !== null),
      storeUse: (workspaceId, uses) => pool.note(workspaceId, { kind: "last_use", used: "keys", uses }),
    }),
  );
  const workspaces = workspacesOf(pool, installation, directory.server !== null);
  const sessions = stack.use(
    new SessionKeeper(installation, {
      clock,
      onError: parts.onError,
      storeUse: (uses) => pool.note(installation.id, { kind: "last_use", used: "sessions", uses }),
    }),
  );
  const memberships = stack.use(
    new Memberships(installation, {
      clock,
      onError: parts.onError,
      find: (workspaceId, accountId) => workspaces.ask(workspaceId, "member.find", { accountId }),
    }),
  );
  const reserve = stack.use(
    new DiskReserve(directory.reserve, pool.space, () => {
      if (pool.space.isFull) logger.error("the disk is full: only reads and deletions are accepted");
      else logger.info("the disk has space again");
    }),
  );
  collectWhenIdle();
  const ownership: Ownership = { owned: directory.server === null ? null : nothingOwned };
  const sinks: Sinks = stack.use(new Sinks({ installation, pool, logger, ownership, places: sinkPlaces(settings) }));
  const workspaceIds = () => listLogIds(installation.connection);
  stack.use(new Sweeper(workspaceIds, pool, ownership, logger));
  const readiness = new ReadinessProbe({
    root: directory.root,
    threadsRunning: () => pool.running,
    installationFails: () => installation.isReplaced || pool.down.has(installation.id),
    down: pool.down,
    takesWrites: () => !pool.down.diskFails && !pool.space.isFull,
    monotonicMs: () => performance.now(),
  });
  const requests = settings.metrics_listen === null ? null : new RequestMeter();
  const { failures, ...accounts } = accountDeps({ ...parts, sessions, workspaces, memberships }, pool);
  stack.use(failures);
  await installation.ensure(accounts.parts);
  // On a node, the working copy may be missing, or old.
  await installation.read(() => {}, undefined);
  sinks.start();
  removeDeleted(directory, installation);
  if (directory.server === null) {
    const onUnknown = (id: string) => logger.error("nobody made this workspace here", { workspace_id: id });
    await removeUnfinished(directory, installation, onUnknown);
  }
  const heads = stack.use(
    new HeadsUpkeep(
      {
        directory,
        installation,
        journal: accounts.parts.journal,
        sizeOf: (id) => pool.knownSize(id),
        onBehind: (id) => logger.error("a workspace is older than its recorded head", { workspace_id: id }),
      },
      settings.heads_interval,
    ),
  );
  const workloads = workloadsOf({ ...parts, workspaces });
  const depsNow = () => appDeps({ ...parts, settings, workloads, authenticator }, monitored, accounts);
  const monitored = { pool, anchors, sinks, requests, tally, readiness };
  const held = stack.move();
  return {
    monitored,
    ownership,
    ready: () => pool.ready(),
    endLive: () => pool.endLive(),
    async apply(reread) {
      settings = reread.settings;
      if (reread.changed.has("max_connections")) descriptors = descriptorPlan(settings, logger);
      pool.change(workspaceOptions(directory, settings));
      if (reread.changed.has("heads_interval")) heads.useInterval(settings.heads_interval);
      if (reread.changed.has("state_roots")) stateRoots.usePeriod(settings.state_roots);
      if (SINK_SETTINGS.some((name) => reread.changed.has(name))) sinks.allow(sinkPlaces(settings));
      workloads.apply(settings.workload);
      if (ANCHOR_SETTINGS.some((name) => reread.changed.has(name))) await anchors.replaceTargets(places());
    },
    identify: (request) => identified({ installation, sessions, workloads }, request),
    refreshInstallation: async () => void (await pool.refresh({ principal: systemPrincipal(installation.id) })),
    async startLink() {
      try {
        if (await hasAccounts(installation.connection)) return null;
        // This thread makes it, since the others are still starting.
        const key = sealKeySource(directory, settings.seal_key);
        const onUnsealed = (reason: string) => logger.warn("the start link is not sealed yet", { reason });
        const token = await withWriter(directory, key, installation.id, (writer, reader) =>
          startLink(writer, reader, onUnsealed),
        );
        await installation.changed();
        return token;
      } catch (error) {
        logger.error("the accounts cannot be used", { reason: messageOf(error) });
        return null;
      }
    },
    serveNodes: (...where) => serveNodes(depsNow(), ...where),
    serve: (address, certificate, { shared = false, before } = {}) =>
      startServer(depsNow(), {
        ...(before && { before }),
        hostname: address.host,
        hostnames: settings.hostnames,
        port: address.port,
        shared,
        tls: certificate,
        idleTimeoutMs: settings.idle_timeout,
        ...connectionLimits(
          {
            all: descriptors.connections,
            ofAddress: isReachedDirectly(settings, address) ? settings.address_connections : 0,
          },
          descriptorReserve,
          logger,
        ),
      }),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

/** The tables that say whether an account has a second factor. */
const FACTOR_TABLES = ["accounts", "passkeys", "identities"] as const satisfies readonly RowTableName[];

const SINK_SETTINGS = ["sink_allow", "sink_directory"] as const satisfies readonly SettingName[];

const ANCHOR_SETTINGS = [
  "anchor_command",
  "anchor_url",
  "witnesses",
  "timestamp_url",
] as const satisfies readonly SettingName[];

/** Returns the options of workspace threads that may change while they run. */
function workspaceOptions(directory: DataDirectory, settings: Settings): ChangeableOptions {
  const { quota_entries: entries, quota_bytes: bytes, quota_answers: answerBytes } = settings;
  const quota = entries === 0 && bytes === 0 ? null : { entries, bytes };
  return {
    quota,
    answerBytes,
    sealing: sealingOptions(directory, settings),
    site: { sinkKey: directory.sinkKey, places: sinkPlaces(settings) },
  };
}

/** The dependencies of the account routes, regardless of the settings. */
type ServiceAccounts = AccountDeps & { flows: Waiting<WaitingFlow> };

function appDeps(
  parts: ServiceParts & { workloads: Workloads; authenticator: Authenticator },
  monitored: Monitored,
  accounts: ServiceAccounts,
): Omit<AppDeps, "peerOf"> {
  const { settings, authenticator, workloads, logger } = parts;
  const { pool, anchors, requests, tally, readiness } = monitored;
  const random = new RandomPool();
  return {
    workspaces: withAnchors(pool, anchors),
    authenticate: (apiKey) => authenticator.authenticate(apiKey),
    renew: (principal) => authenticator.renew(principal),
    workloads,
    allowsFrom: (principal, address) => authenticator.allowsFrom(principal, address),
    accounts: {
      ...accounts,
      parts: { ...accounts.parts, signup: settings.signup, issuerOnly: settings.oidc_only },
      oidc: signInIssuer(parts, accounts.flows),
      quota: { bytes: settings.quota_bytes || null, entries: settings.quota_entries || null },
    },
    isReady: () => readiness.brief(),
    caFile: accounts.parts.caFile,
    ...(requests === null ? {} : { meter: requests }),
    logs: (status) => logger.writes(levelOfStatus(status)),
    log: (entry) => {
      const known = Object.entries(entry).filter(([, value]) => value !== null);
      logger[levelOfStatus(entry.status)]("request", Object.fromEntries(known));
    },
    onInternalError: (error, requestId) => {
      tally.unexpectedFailures++;
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
    addressRequestsPerSecond:
      settings.tls === "off" || isReachedDirectly(settings, settings.listen) ? settings.address_rate_limit : 0,
    wrongKeysPerMinute: settings.auth_failure_limit,
    publicLogs: new Set(settings.tlog_public),
    ...(settings.tls === "off" ? { trustedProxies: new Networks(settings.trusted_proxies) } : {}),
  };
}

/** Reports whether other machines connect to an address directly. Behind a proxy, all connections are the proxy's. */
const isReachedDirectly = ({ tls }: Settings, { host }: Address): boolean => tls !== "off" && !isLoopback(host);

function accountDeps(
  parts: ServiceParts & Pick<AccountParts, "workspaces" | "memberships"> & { sessions: SessionKeeper },
  pool: WorkspacePool,
): ServiceAccounts & { failures: FailedSignIns } {
  const { settings, directory, installation, sessions, clock, logger } = parts;
  const random = new RandomPool();
  const files = fileJournal(directory, {
    key: sealKeySource(directory, settings.seal_key),
    hostnames: settings.hostnames,
    onUnsealed: (reason) => logger.warn("a new workspace is not sealed yet", { reason }),
    onHeadsLate: (reason) => logger.warn("the heads of the workspaces are not recorded yet", { reason }),
  });
  const journal = threadJournal(files, pool);
  const failures = new FailedSignIns({
    record: async (event) => void (await journal.record(installation.id, event)),
    clock,
    timer: systemTimer,
    onError: (error) => logger.warn("failed sign-ins could not be recorded", { reason: messageOf(error) }),
  });
  return {
    failures,
    sessions,
    parts: {
      ...{ installation, journal, clock, ids: new IdSource(clock, random), random },
      failures,
      passwords: new Passwords(random),
      attempts: new Attempts(() => performance.now()),
      factorKey: new FactorKey(directory),
      workspaces: parts.workspaces,
      memberships: parts.memberships,
      signup: settings.signup,
      issuerOnly: settings.oidc_only,
      caFile: settings.tls === "auto" ? directory.authority : null,
    },
    flows: new Waiting(random, () => performance.now()),
    passkeys: new Waiting(random, () => performance.now()),
    oidc: null,
    findings: findingsFrom(pool, clock),
    upkeep: upkeepFrom(directory.root, pool.space, parts.watched),
    storageBytes: (workspaceId) => databaseBytes(workspaceFile(directory, workspaceId)),
  };
}

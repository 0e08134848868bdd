/** The daemon as one of several nodes on a libSQL server. */
import { existsSync, readFileSync } from "node:fs";
import type { DataDirectory } from "../../core/datadir/layout.ts";
import { replaceFile } from "../../core/datadir/private-files.ts";
import { readSealKey, type SealKey, sealKeySource } from "../../core/datadir/seal-key.ts";
import { messageOf } from "../../failure.ts";
import type { Clock } from "../../ids.ts";
import type { Installation } from "../../ops/directory/installation.ts";
import { listLogIds } from "../../ops/directory/workspaces.ts";
import { CertificateWatch } from "../../serve/daemon/certificate-watch.ts";
import { Listener } from "../../serve/daemon/listener.ts";
import type { Logger } from "../../serve/daemon/logger.ts";
import type { Applies } from "../../serve/daemon/reload.ts";
import type { openService } from "../../serve/daemon/service.ts";
import type { Before, RunningServer } from "../../serve/http/server.ts";
import { RENEW_BEFORE_MS } from "../../serve/tls/own-authority.ts";
import type { CertificateSource } from "../../serve/tls/source.ts";
import type { Settings } from "../../settings/definitions.ts";
import { requestsAtOnce } from "../../settings/load.ts";
import type { ServerOptions } from "../../settings/server-options.ts";
import { formatAddress } from "../../settings/values.ts";
import { systemTimer } from "../../timer.ts";
import { Cluster } from "../cluster/cluster.ts";
import { type NodeIdentity, nodeIdentity } from "../cluster/identity.ts";
import type { Leases } from "../leases.ts";
import { requireDurable } from "../requirements.ts";
import type { Coordination } from "./coordination.ts";

interface NodeParts {
  settings: Settings;
  directory: DataDirectory;
  installation: Installation;
  service: Awaited<ReturnType<typeof openService>>;
  clock: Clock;
  logger: Logger;
}

/** How long running requests of other nodes may take at shutdown, ms. */
const DRAIN_MS = 4_000;

/** A node, which also applies changed settings and renews its certificate. */
interface Node extends Applies, AsyncDisposable {
  /** Sends requests of clients to the nodes that serve their workspaces. */
  before: Before;
}

/** The share of the runtime's concurrent outgoing requests for forwarding. The rest is for the libSQL server. */
const FORWARDED = 0.75;

/**
 * Opens the port for other nodes and joins them. Disposing of the node gives up all leases and closes the port.
 * @throws {Failure} when the port cannot be opened; {ServerUnavailable}
 */
export async function openNode({
  settings,
  directory,
  installation,
  service,
  clock,
  logger,
}: NodeParts): Promise<Node> {
  await using stack = new AsyncDisposableStack();
  const sealKey = readSealKey(sealKeySource(directory, settings.seal_key));
  const nodes = installation.nodes as Coordination;
  const known = { maxNamespaces: settings.engine_max_namespaces, logs: listLogIds(installation.connection).length };
  await requireDurable(directory.server as ServerOptions, known);
  await nodes.shareKeys(directory, sealKey);
  const source = identitySource(sealKey, namesOf(settings), clock);
  const identity = await source.load();
  const cluster = stack.use(
    new Cluster({
      installation,
      nodes,
      identity,
      refreshInstallation: () => service.refreshInstallation(),
      workspaceOf: (request) => service.identify(request),
      mostForwarded: Math.floor(requestsAtOnce() * FORWARDED),
      monotonicMs: () => performance.now(),
      timer: systemTimer,
      onError: (error) => logger.warn("the leases of workspaces could not be renewed", { reason: messageOf(error) }),
    }),
  );
  const before: Before = (request) => cluster.answer(request);
  const listener = new Listener<RunningServer>(
    (address) => service.serveNodes(address, identity, { shared: false, before }),
    settings.node_listen,
    "--node-listen",
  );
  stack.defer(() => listener.close(DRAIN_MS));
  const serveAgain = (next: NodeIdentity) =>
    listener.replace((address) => service.serveNodes(address, next, { shared: true, before }));
  const watch = stack.use(
    new CertificateWatch<NodeIdentity>(source, identity, {
      clock,
      logger,
      sourceOf: () => source,
      use: async (next) => {
        cluster.use(next);
        await serveAgain(next);
      },
    }),
  );
  await succeed(directory, nodes.leases);
  await cluster.join(settings.node_url ?? `https://${formatAddress(listener.address)}`);
  service.ownership.owned = (workspaceIds) => cluster.owned(workspaceIds);
  const held = stack.move();
  return {
    before: (request, client, setPatience) => cluster.elsewhere(request, client, setPatience),
    async apply(reread) {
      await watch.apply(reread);
      if (reread.changed.size > 0) await serveAgain(watch.certificate);
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

/** Returns the names and addresses at which other nodes reach this one. */
function namesOf({ node_url, node_listen }: Settings): string[] {
  const host = node_url === null ? node_listen.host : new URL(node_url).hostname;
  return [...new Set([host.replace(/^\[|\]$/g, ""), node_listen.host])];
}

/** Returns the source of the node's certificates, which makes a new one before the present one expires. */
function identitySource(sealKey: SealKey, names: readonly string[], clock: Clock): CertificateSource<NodeIdentity> {
  let current: NodeIdentity | null = null;
  return {
    authorityFile: null,
    async load() {
      const now = clock();
      if (current === null || current.validFrom > now || current.expiresAt - now < RENEW_BEFORE_MS) {
        current = await nodeIdentity(sealKey, names, now);
      }
      return current;
    },
  };
}

/** Ends the leases that a previous daemon on this directory left if it was killed, and stores this daemon's name. */
async function succeed({ node }: DataDirectory, leases: Leases): Promise<void> {
  const name = leases.node;
  const before = existsSync(node) ? readFileSync(node, "utf8").trim() : name;
  await leases.endOf(before);
  replaceFile(node, `${name}\n`);
}

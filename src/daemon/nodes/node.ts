/** The daemon as one of several nodes on a libSQL server. */
import { existsSync, readFileSync } from "node:fs";
import { Cluster } from "../../cluster/cluster.ts";
import { nodeIdentity } from "../../cluster/identity.ts";
import type { ControlDatabase } from "../../control/database.ts";
import type { SharedControl } from "../../control/shared.ts";
import { listLogs } from "../../control/workspaces.ts";
import type { DataDirectory } from "../../datadir/layout.ts";
import { replaceFile } from "../../datadir/private-files.ts";
import { readSealKey, sealKeySource } from "../../datadir/seal-key.ts";
import type { Leases } from "../../engine/leases.ts";
import { requireDurable } from "../../engine/requirements.ts";
import { messageOf } from "../../failure.ts";
import { problemResponse } from "../../http/problem-document.ts";
import type { Before, RunningServer } from "../../http/server.ts";
import { type Clock, RandomPool } from "../../ids.ts";
import type { Settings } from "../../settings/definitions.ts";
import type { ServerOptions } from "../../settings/server-options.ts";
import { formatAddress } from "../../settings/values.ts";
import { systemTimer } from "../../timer.ts";
import { Listener } from "../listener.ts";
import type { Logger } from "../logger.ts";
import type { openService } from "../service.ts";

interface NodeParts {
  settings: Settings;
  directory: DataDirectory;
  control: ControlDatabase;
  service: Awaited<ReturnType<typeof openService>>;
  clock: Clock;
  logger: Logger;
}

/** How long requests of other nodes may take at shutdown, ms. */
const DRAIN_MS = 4_000;

interface Node extends AsyncDisposable {
  /** Sends requests of clients to the nodes that serve their workspaces. */
  before: Before;
}

/**
 * Opens the port for other nodes and joins them. Disposing of it gives up all leases and closes the port.
 * @throws {Failure} when the port cannot be opened; {ServerUnavailable}
 */
export async function openNode({ settings, directory, control, service, clock, logger }: NodeParts): Promise<Node> {
  await using stack = new AsyncDisposableStack();
  const host = settings.node_url === null ? settings.node_listen.host : new URL(settings.node_url).hostname;
  const names = [...new Set([host.replace(/^\[|\]$/g, ""), settings.node_listen.host])];
  const sealKey = readSealKey(sealKeySource(directory, settings.seal_key));
  const shared = control.shared as SharedControl;
  const known = { maxNamespaces: settings.engine_max_namespaces, logs: listLogs(control.connection).length };
  await requireDurable(directory.server as ServerOptions, known);
  await shared.shareKeys(directory, sealKey);
  const identity = await nodeIdentity(sealKey, names, clock());
  const random = new RandomPool();
  const cluster = stack.use(
    new Cluster({
      control,
      shared,
      identity,
      workspaceOf: (request) => service.identify(request),
      refuse: (problem) => {
        const requestId = `req_${random.take(12).toHex()}`;
        return problemResponse(problem, requestId, { "x-request-id": requestId, "cache-control": "no-store" });
      },
      monotonicMs: () => performance.now(),
      timer: systemTimer,
      onError: (error) => logger.warn("the leases of workspaces could not be renewed", { reason: messageOf(error) }),
    }),
  );
  const answer: Before = (request) => cluster.answer(request);
  const listener = new Listener<RunningServer>(
    (address) => service.serveNodes(address, identity, answer),
    settings.node_listen,
    "--node-listen",
  );
  stack.defer(() => listener.close(DRAIN_MS));
  await succeed(directory, shared.leases);
  await cluster.join(settings.node_url ?? `https://${formatAddress(listener.address)}`);
  service.ownership.owned = (workspaceIds) => cluster.owned(workspaceIds);
  const held = stack.move();
  return {
    before: (request, client, setPatience) => cluster.elsewhere(request, client, setPatience),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

/** Ends the leases of the daemon that ran before on this directory, which was killed if it left any, and notes this one's name. */
async function succeed({ node }: DataDirectory, leases: Leases): Promise<void> {
  if (existsSync(node)) await leases.endOf(readFileSync(node, "utf8").trim());
  replaceFile(node, `${leases.node}\n`);
}

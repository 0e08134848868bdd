/** Verifying the databases on a libSQL server: they are pulled into files, which are verified like any others. */
import { mkdirSync, rmSync } from "node:fs";
import { type DataDirectory, dataDirectory, presentWorkspaces, workspaceFile } from "../../core/datadir/layout.ts";
import { writePointer } from "../../core/datadir/pointer.ts";
import { installationOn } from "../../engine-libsql/nodes/coordination.ts";
import { NODES_NAMESPACE, ServerEngine } from "../../engine-libsql/server-engine.ts";
import { Failure, messageOf, systemReason } from "../../failure.ts";
import { listWorkspaces } from "../../ops/directory/workspaces.ts";
import type { ServerOptions } from "../../settings/server-options.ts";
import { openConnection } from "../../store/connection.ts";
import { markEmbedded } from "../../store/location.ts";
import type { SourceResult } from "../../verify/report.ts";
import type { Progress } from "../progress.ts";
import { privateDirectory } from "./evidence-file.ts";

/** Reports whether evidence is a server's address rather than a path. */
export const isServer = (evidence: string): boolean => /^https?:\/\//.test(evidence);

/**
 * Pulls all workspaces of a server into a directory, and returns the results of `verify` on
 * it. The server is only read, so a token for reading is enough. Replicas, when there are any, send the data.
 * @throws {Failure} `evidence_unreadable` when the server cannot be read
 */
export async function verifyServer(
  server: Pick<ServerOptions, "url" | "authToken" | "replicaUrls">,
  { progress, keep }: { progress: Progress; keep: string | null },
  verify: (directory: string) => Promise<SourceResult[]>,
): Promise<SourceResult[]> {
  const { path: root, remove } = keep === null ? privateDirectory() : newDirectory(keep);
  let isKept = false;
  try {
    const options: ServerOptions = { ...server, adminUrl: null, adminToken: null };
    await pull(dataDirectory(root), new ServerEngine(options, () => {}), progress).catch((error) => {
      const message = `The libSQL server ${server.url} cannot be read: ${messageOf(error)}. Check the URL and engine_auth_token.`;
      throw new Failure("evidence_unreadable", message, { cause: error });
    });
    settle(dataDirectory(root));
    const results = await verify(root);
    for (const { report } of results) report.path = report.path.replace(root, server.url.replace(/\/$/, ""));
    isKept = keep !== null;
    return results;
  } finally {
    if (!isKept) remove();
  }
}

/** @throws {Failure} `data_directory_unusable` when it cannot be created or exists already */
function newDirectory(path: string): { path: string; remove: () => void } {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    const message = `${path} cannot be created: ${systemReason(error)}. Name a directory that does not exist.`;
    throw new Failure("data_directory_unusable", message, { cause: error });
  }
  return { path, remove: () => rmSync(path, { recursive: true }) };
}

/** Turns the copies of a server's databases into databases of the embedded engine. */
function settle(directory: DataDirectory): void {
  const logs = presentWorkspaces(directory).map((id) => workspaceFile(directory, id));
  for (const path of logs) {
    using connection = openConnection(path);
    connection.exec("PRAGMA synchronous = FULL");
    markEmbedded(connection);
  }
}

/** Pulls the log of the installation first, as a backup copies it first: the others may hold more than it says, but not less. */
async function pull(directory: DataDirectory, engine: ServerEngine, progress: Progress): Promise<void> {
  mkdirSync(directory.workspaces);
  const installation = await installationOn(engine.namespace(NODES_NAMESPACE));
  if (installation === null) return;
  writePointer(directory, { installation_id: installation, engine: "embedded" });
  const path = workspaceFile(directory, installation);
  await engine.pull(installation, path, null);
  using connection = openConnection(path, { readOnly: true });
  const others = listWorkspaces(connection);
  for (const [done, { id }] of others.entries()) {
    progress.step(done + 1, others.length + 1, "pulled workspaces");
    await engine.pull(id, workspaceFile(directory, id), null);
  }
}

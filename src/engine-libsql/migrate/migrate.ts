/** Moves all workspaces of a data directory to a libSQL server, or back, one after another. */
import { type DataDirectory, workspaceFile } from "../../core/datadir/layout.ts";
import { WORKSPACE_SCHEMA } from "../../core/writer/file.ts";
import { namespaceOf, type ServerEngine } from "../server-engine.ts";
import { problemOfSides } from "./both-sides.ts";
import { moveToFile } from "./to-file.ts";
import { MoveToServer } from "./to-server.ts";

interface MigrationParts {
  directory: DataDirectory;
  engine: ServerEngine;
  workspaceIds: readonly string[];
  onProgress(done: number, total: number): void | Promise<void>;
}

/** The result of moving one workspace. */
export interface MovedWorkspace {
  workspace_id: string;
  /** False when the workspace had been moved before. */
  moved: boolean;
  /** How long its writers waited, ms. */
  paused_ms: number;
  /** Why the workspace does not verify on both sides; null when it does. */
  problem: string | null;
}

export type Direction = "to_server" | "to_embedded";

/**
 * Moves the workspaces in their order, and verifies each on both sides.
 * @throws {Failure} when the server does not answer or a namespace is in use; workspaces that were moved before stay
 * moved
 */
export async function migrateAll(direction: Direction, parts: MigrationParts): Promise<MovedWorkspace[]> {
  const moved: MovedWorkspace[] = [];
  for (const workspaceId of parts.workspaceIds) moved.push(await migrateOne(direction, workspaceId, parts));
  return moved;
}

async function migrateOne(
  direction: Direction,
  workspaceId: string,
  { directory, engine, onProgress }: MigrationParts,
): Promise<MovedWorkspace> {
  const name = namespaceOf(workspaceId);
  const namespace = engine.namespace(name);
  const file = { database: workspaceFile(directory, workspaceId), encryptionKey: directory.encryptionKey, namespace };
  if (direction === "to_server") await engine.ensureNamespace(name);
  const pausedMs =
    direction === "to_server"
      ? await new MoveToServer({ ...file, format: WORKSPACE_SCHEMA, folder: directory.migration, onProgress }).run()
      : await moveToFile(file);
  const problem = await problemOfSides({ directory, workspaceId, namespace });
  return { workspace_id: workspaceId, moved: pausedMs !== null, paused_ms: Math.ceil(pausedMs ?? 0), problem };
}

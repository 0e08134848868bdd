/** `governd migrate`: moves the workspaces of a data directory to a libSQL server, or back. */
import type { Command } from "commander";
import type { DataDirectory } from "../../core/datadir/layout.ts";
import { isLocked } from "../../core/datadir/lock.ts";
import { readPointer, writePointer } from "../../core/datadir/pointer.ts";
import { type Direction, type MovedWorkspace, migrateAll } from "../../engine-libsql/migrate/migrate.ts";
import { Coordination } from "../../engine-libsql/nodes/coordination.ts";
import { ServerEngine } from "../../engine-libsql/server-engine.ts";
import { EXIT, Failure } from "../../failure.ts";
import { Installation } from "../../ops/directory/installation.ts";
import { listLogIds } from "../../ops/directory/workspaces.ts";
import { SERVER_SETTINGS } from "../../settings/server-options.ts";
import { dataDirectoryOf } from "../data-directory.ts";
import { addCommonOptions, type Session } from "../session.ts";
import { count } from "../terminal.ts";

const DESCRIPTION = `move all workspaces to a libSQL server, or back

Beside a running node, which goes on serving: each workspace's writes wait only for the last step, usually less than a
second. First set engine = "libsql-server" and engine_url, and restart the daemon: it serves what is not moved yet from
its files. Start other nodes when all is moved. Back: stop the other nodes, run the command beside the last one, stop
that, run the command again, and set engine = "embedded".

The command may be interrupted or killed at any time. Run it again, and it goes on. In the end each workspace is verified
on both sides.`;

const EXIT_HELP = `
Exit codes: 0 all is moved and verified, 1 a workspace does not verify, 2 usage or environment.`;

interface MigrateOptions {
  to: string;
}

export function addMigrate(program: Command, session: Session): void {
  const migrate = program
    .command("migrate")
    .summary("move all workspaces to a libSQL server, or back")
    .description(DESCRIPTION)
    .requiredOption("--to <url|embedded>", "the libSQL server (engine_url), or embedded: this data directory")
    .addHelpText("after", EXIT_HELP)
    .action((options: MigrateOptions) => runMigrate(session, options));
  addCommonOptions(migrate, ["data_dir", "encryption_key_file", ...SERVER_SETTINGS]);
}

async function runMigrate(session: Session, options: MigrateOptions): Promise<void> {
  const direction: Direction = options.to === "embedded" ? "to_embedded" : "to_server";
  const { directory } = dataDirectoryOf(
    direction === "to_embedded" ? options : { ...options, engine: "libsql-server", engineUrl: options.to },
  );
  const { server } = directory;
  if (server === null)
    throw new Failure(
      "usage",
      'The settings name no libSQL server: engine = "libsql-server", engine_url and its token are needed to reach it.',
    );
  const warn = (warning: string) => void session.terminal.err(`${warning}\n`);
  const engine = new ServerEngine(server, warn);
  const workspaceIds = await logsOf(directory, direction, warn);
  const moved = await session.withProgress(
    (progress) =>
      migrateAll(direction, {
        directory,
        engine,
        workspaceIds,
        onProgress: (done, total) => progress.step(done, total, "rows"),
      }),
    { lines: true },
  );
  const isAllMoved = direction === "to_server" || (await comeHome(directory, engine, moved));
  if (moved.some(({ problem }) => problem !== null)) session.exitCode = EXIT.no;
  await session.print({ to: options.to, all_moved: isAllMoved, workspaces: moved }, [
    ...moved.map(lineOf),
    summary(moved, direction, isAllMoved),
  ]);
}

/**
 * Returns the ids of all logs. The server gets to know the installation first.
 * @throws {Failure} `busy` when the running daemon does not know the server: it would keep serving moved workspaces
 *   from their files
 */
async function logsOf(
  directory: DataDirectory,
  direction: Direction,
  warn: (warning: string) => void,
): Promise<string[]> {
  if (direction === "to_embedded" && isHome(directory)) {
    using home = await Installation.open({ ...directory, server: null });
    return await home.read(listLogIds, []);
  }
  if (direction === "to_server" && isHome(directory) && isLocked(directory))
    throw new Failure(
      "busy",
      'The daemon that runs on this data directory has the embedded engine. Set engine = "libsql-server" and engine_url in its settings and restart it: until they are moved, it serves the workspaces from their files. Then run the command again.',
    );
  using installation = await Installation.open(directory, warn);
  return await installation.read(listLogIds, []);
}

const isHome = (directory: DataDirectory): boolean => readPointer(directory)?.engine === "embedded";

/** Makes the data directory one of the embedded engine when no node uses it. Returns whether it is. */
async function comeHome(
  directory: DataDirectory,
  engine: ServerEngine,
  moved: readonly MovedWorkspace[],
): Promise<boolean> {
  const pointer = readPointer(directory);
  if (pointer?.engine === "embedded" && isLocked(directory)) return true;
  if (pointer === null || isLocked(directory) || moved.some(({ problem }) => problem !== null)) return false;
  writePointer(directory, { ...pointer, engine: "embedded" });
  using nodes = await Coordination.open(engine);
  await nodes.leave();
  return true;
}

function lineOf({ workspace_id, moved, paused_ms, problem }: MovedWorkspace): string {
  if (problem !== null) return `${workspace_id}: ${problem}`;
  return moved
    ? `${workspace_id}: moved and verified on both sides; its writes waited ${paused_ms} ms`
    : `${workspace_id}: was there already; verified on both sides`;
}

function summary(moved: readonly MovedWorkspace[], direction: Direction, isAllMoved: boolean): string {
  const done = `Moved ${count(moved.filter((one) => one.moved).length, "workspace")} of ${moved.length}.`;
  if (direction === "to_server") return `${done} Other nodes can be started now.`;
  return isAllMoved
    ? `${done} All is in the data directory: set engine = "embedded" and start the daemon.`
    : `${done} Stop the daemon and run the command again: it ends the move.`;
}

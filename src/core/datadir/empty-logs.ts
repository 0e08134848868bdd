/**
 * Requests to empty write-ahead logs, which may still hold erased data. While a daemon runs, a command may not empty
 * logs itself, so it leaves a file with the ids of the workspaces, which the daemon looks for.
 */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { systemCode } from "../../failure.ts";
import { isLogEmpty } from "../../store/closing.ts";
import { openConnection } from "../../store/connection.ts";
import { type DataDirectory, workspaceFile } from "./layout.ts";
import { isLocked } from "./lock.ts";
import { createPrivateFile } from "./private-files.ts";

const LOOK_EVERY_MS = 50;
/** How long a command waits, ms. When a reader needs a log for longer, the daemon empties the log afterwards. */
const PATIENCE_MS = 10_000;

/**
 * Returns the ids of the workspaces whose logs are to be emptied, and removes the request; null without one.
 * @throws {SyntaxError}
 */
export function takeRequest({ emptyLogs }: DataDirectory): string[] | null {
  if (!existsSync(emptyLogs)) return null;
  try {
    const ids = JSON.parse(readFileSync(emptyLogs, "utf8")) as string[];
    rmSync(emptyLogs, { force: true });
    return ids;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null; // removed meanwhile
    rmSync(emptyLogs, { force: true });
    throw error;
  }
}

/**
 * Empties the logs of these workspaces, in the daemon or here. Returns when they are empty, or after
 * {@link PATIENCE_MS}.
 */
export async function haveLogsEmptied(directory: DataDirectory, workspaceIds: readonly string[]): Promise<void> {
  const left = () => workspaceIds.filter((id) => !isLogEmpty(workspaceFile(directory, id)));
  const untilMs = performance.now() + PATIENCE_MS;
  for (let isAsked = false, ids = left(); ids.length > 0 && performance.now() < untilMs; ids = left()) {
    if (!isLocked(directory)) for (const id of ids) reopen(directory, id);
    else if (!isAsked) isAsked = createPrivateFile(directory.emptyLogs, JSON.stringify(ids));
    if (left().length > 0) await Bun.sleep(LOOK_EVERY_MS);
  }
}

/** Opens and closes a workspace, which empties its log unless another process holds the right to do so. */
function reopen(directory: DataDirectory, workspaceId: string): void {
  const { encryptionKey, takeLogRight } = directory;
  openConnection(workspaceFile(directory, workspaceId), { encryptionKey, takeLogRight }).close();
}

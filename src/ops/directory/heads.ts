/** Has the log of the installation record how far all workspaces have come. */

import type { DataDirectory } from "../../core/datadir/layout.ts";
import { headsRecordedMs, readHeads } from "../../core/heads/stored.ts";
import type { WorkspaceHead } from "../../core/heads/tree.ts";
import { continuesHead } from "../../core/writer/continuity.ts";
import { messageOf } from "../../failure.ts";
import { type Around, Follower } from "../../follower.ts";
import { headsEvent } from "./heads-event.ts";
import type { Installation } from "./installation.ts";
import { openLog, type WorkspaceJournal } from "./journal.ts";
import { listDeleted, listWorkspaces } from "./workspaces.ts";

/**
 * Records the heads of all workspaces after some were made or deleted. Reports it when that fails: the daemon records
 * them later.
 */
export async function recordHeads(
  { installation, journal }: { installation: Installation; journal: WorkspaceJournal },
  { made = [], deleted = [] }: { made?: readonly string[]; deleted?: readonly string[] },
): Promise<void> {
  try {
    await journal.record(installation.id, headsEvent({ grown: made.map((id) => journal.headOf(id)), gone: deleted }));
  } catch (error) {
    journal.headsLate(messageOf(error));
  }
}

/** The files that are read before the event loop has a turn. */
const FILES_AT_ONCE = 4;

interface HeadsParts {
  directory: DataDirectory;
  installation: Installation;
  journal: WorkspaceJournal;
  /** Returns the size of a workspace's log as far as this process knows it; null when it does not. */
  sizeOf(workspaceId: string): number | null;
  /** Called once for a workspace that does not continue its recorded head. */
  onBehind(workspaceId: string): void;
}

/**
 * Has the heads recorded of workspaces that grew, at most once in an interval. A workspace that does not continue its
 * recorded head keeps that head, so that the contradiction stays visible.
 */
export class HeadsUpkeep implements AsyncDisposable {
  readonly #follower: Follower;
  /** The workspaces that were reported to be behind their heads. */
  readonly #behind = new Set<string>();

  constructor(
    private readonly parts: HeadsParts,
    private intervalMs: number,
    around?: Around,
  ) {
    const failed = (error: unknown) => parts.journal.headsLate(messageOf(error));
    this.#follower = new Follower({ step: () => this.#record(), failed }, around);
    this.#follower.wake(intervalMs);
  }

  /** Changes the interval. A longer one counts from the next record on. */
  useInterval(intervalMs: number): void {
    this.intervalMs = intervalMs;
    this.#follower.wake(intervalMs);
  }

  /** Returns the time until the next one, ms. */
  async #record(): Promise<number> {
    const { journal } = this.parts;
    const { connection, id: log } = this.parts.installation;
    const { heads, recordedMs } = await this.#stored();
    const grown: WorkspaceHead[] = [];
    let read = 0;
    for (const { id } of listWorkspaces(connection)) {
      const size = this.parts.sizeOf(id);
      const stored = heads.get(id);
      if (size === null || size === stored?.size) continue;
      if (++read % FILES_AT_ONCE === 0) await Bun.sleep(0);
      if (stored === undefined || this.#continues(stored, recordedMs)) grown.push(journal.headOf(id));
    }
    const gone = listDeleted(connection).filter((id) => heads.has(id));
    if (grown.length > 0 || gone.length > 0) await journal.record(log, headsEvent({ grown, gone }));
    this.#follower.recovered();
    return this.intervalMs;
  }

  async #stored() {
    const { connection } = this.parts.installation;
    return { heads: await readHeads(connection), recordedMs: await headsRecordedMs(connection) };
  }

  #continues(head: WorkspaceHead, recordedMs: number): boolean {
    const { workspaceId } = head;
    using connection = openLog(this.parts.directory, workspaceId);
    const continues = continuesHead(connection, head, recordedMs);
    if (continues) this.#behind.delete(workspaceId);
    else if (!this.#behind.has(workspaceId)) {
      this.#behind.add(workspaceId);
      this.parts.onBehind(workspaceId);
    }
    return continues;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#follower.end();
  }
}

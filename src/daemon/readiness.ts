/** Whether the daemon can take requests: storage that can be written, threads that run. */
import type { DownWorkspace } from "../threads/down-workspaces.ts";
import { isWritable } from "./upkeep.ts";

/** An answer is good for so long: whoever asks more often does not have more files written. */
const FRESH_MS = 1_000;

export interface Readiness {
  storageWritable: boolean;
  threadsRunning: boolean;
}

export interface ReadinessParts {
  /** The data directory. */
  root: string;
  threadsRunning(): boolean;
  /** False while the disk refuses what workspaces write. */
  takesWrites(): boolean;
  down: { size: number; list(): DownWorkspace[] };
  monotonicMs(): number;
}

export class ReadinessProbe {
  readonly #parts: ReadinessParts;
  #looking = false;
  #looked: Promise<boolean> = Promise.resolve(false);
  #lookedAtMs = Number.NEGATIVE_INFINITY;

  constructor(parts: ReadinessParts) {
    this.#parts = parts;
  }

  /** For anybody: yes or no, and how many workspaces are down, which does not make it a no. */
  async brief(): Promise<{ ready: boolean; workspacesDown: number }> {
    return { ready: isReady(await this.#look()), workspacesDown: this.#parts.down.size };
  }

  /** For the operator: each check, and the workspaces that are down by name. */
  async detailed(): Promise<{ ready: boolean; body: string }> {
    const found = await this.#look();
    const ready = isReady(found);
    const body = {
      status: ready ? "ready" : "not_ready",
      checks: {
        storage: found.storageWritable ? "ok" : "cannot be written",
        // A daemon answers when the control database is migrated; a workspace is when it is opened.
        migrations: "ok",
        threads: found.threadsRunning ? "ok" : "being started again",
      },
      workspaces_down: this.#parts.down.list().map(({ workspaceId, reason, sinceMs }) => ({
        workspace_id: workspaceId,
        reason,
        since: new Date(sinceMs).toISOString(),
      })),
    };
    return { ready, body: JSON.stringify(body) };
  }

  async #look(): Promise<Readiness> {
    const { root, threadsRunning, takesWrites, monotonicMs } = this.#parts;
    // On a slow disk a look takes longer than its answer is good for: two at once would take each other's file away.
    if (!this.#looking && monotonicMs() - this.#lookedAtMs >= FRESH_MS) {
      this.#lookedAtMs = monotonicMs();
      this.#looking = true;
      this.#looked = isWritable(root).finally(() => {
        this.#looking = false;
      });
    }
    return { storageWritable: (await this.#looked) && takesWrites(), threadsRunning: threadsRunning() };
  }
}

function isReady({ storageWritable, threadsRunning }: Readiness): boolean {
  return storageWritable && threadsRunning;
}

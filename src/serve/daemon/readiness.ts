/** Reports whether the daemon can take requests: the storage is writable and the threads run. */
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { showTime } from "../../ids.ts";
import type { WorkspacePool } from "../threads/pool.ts";

/** How long a result is reused, ms, so that frequent probes do not write more files. */
const FRESH_MS = 1_000;

interface ReadinessParts {
  /** The data directory. */
  root: string;
  threadsRunning(): boolean;
  /** Whether the file of the installation was removed or replaced, or cannot be used. */
  installationFails(): boolean;
  /** False while the disk refuses writes of workspaces. */
  takesWrites(): boolean;
  down: Pick<WorkspacePool["down"], "size" | "values">;
  monotonicMs(): number;
}

export class ReadinessProbe {
  #probing = false;
  #probed: Promise<boolean> = Promise.resolve(false);
  #probedAtMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly parts: ReadinessParts) {}

  /** Returns the public result. Workspaces that are down do not make the daemon unready. */
  async brief(): Promise<{ ready: boolean; workspacesDown: number }> {
    const { ready } = await this.#probe();
    return { ready, workspacesDown: this.parts.down.size };
  }

  /** Returns the result for the operator: each check, and the ids of the workspaces that are down. */
  async detailed(): Promise<{ ready: boolean; body: string }> {
    const { ready, storageWritable, threadsRunning, installationFails } = await this.#probe();
    const body = {
      status: ready ? "ready" : "not_ready",
      checks: {
        storage: storageWritable ? "ok" : "not writable",
        // The daemon migrates the file of the installation before it listens, and a workspace when it opens it.
        migrations: "ok",
        installation: installationFails ? "its file was removed or replaced, or cannot be used" : "ok",
        threads: threadsRunning ? "ok" : "restarting",
      },
      workspaces_down: Array.from(this.parts.down.values(), ({ workspaceId, reason, sinceMs }) => ({
        workspace_id: workspaceId,
        reason,
        since: showTime(sinceMs),
      })),
    };
    return { ready, body: JSON.stringify(body) };
  }

  async #probe() {
    const { root, takesWrites, monotonicMs } = this.parts;
    // On a slow disk a probe takes longer than its result is reused, and two probes would remove each other's file.
    if (!this.#probing && monotonicMs() - this.#probedAtMs >= FRESH_MS) {
      this.#probedAtMs = monotonicMs();
      this.#probing = true;
      this.#probed = isWritable(root).finally(() => {
        this.#probing = false;
      });
    }
    const storageWritable = (await this.#probed) && takesWrites();
    const threadsRunning = this.parts.threadsRunning();
    const installationFails = this.parts.installationFails();
    const ready = storageWritable && threadsRunning && !installationFails;
    return { storageWritable, threadsRunning, installationFails, ready };
  }
}

/** Reports whether a file can be written durably to a directory. */
async function isWritable(directory: string): Promise<boolean> {
  const probe = join(directory, `.ready-${process.pid}`);
  try {
    await writeFile(probe, "ready", { mode: 0o600, flush: true });
    await rm(probe);
    return true;
  } catch {
    return false;
  }
}

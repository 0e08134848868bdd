/** Where seals go besides their file: a place that whoever has this machine cannot rewrite. */
import { basename } from "node:path";

/** A seal on its way. */
export interface AnchoredSeal {
  workspaceId: string;
  /** Events that it covers. */
  size: number;
  /** The signed note. */
  note: string;
}

export type AnchorKind = "command" | "webhook" | "witness";

/** One place. */
export interface AnchorSink {
  readonly kind: AnchorKind;
  /** What a workspace's users may know it by: a host, a witness's name; null for a program. */
  readonly place: string | null;
  /** For the log and the metrics; never a secret, such as the path or query of an address. */
  readonly name: string;
  /** Delivers a seal. @throws {AnchorFailed} when that did not work; it is tried again */
  deliver(seal: AnchoredSeal, signal: AbortSignal): Promise<void>;
}

/** Why a delivery failed, in words for the operator's log. */
export class AnchorFailed extends Error {
  override readonly name = "AnchorFailed";
}

/** Runs no shell and passes no arguments; the environment names the workspace and the size. */
export function commandSink(program: string): AnchorSink {
  return {
    kind: "command",
    place: null,
    name: `command ${basename(program)}`,
    async deliver({ workspaceId, size, note }: AnchoredSeal, signal: AbortSignal) {
      let child: Bun.Subprocess<Uint8Array, "ignore", "ignore">;
      try {
        child = Bun.spawn([program], {
          stdin: new TextEncoder().encode(note),
          stdout: "ignore",
          stderr: "ignore",
          // Nothing of the daemon's own environment, which may hold its key.
          env: {
            PATH: "/usr/local/bin:/usr/bin:/bin",
            GOVERND_WORKSPACE_ID: workspaceId,
            GOVERND_SEAL_SIZE: `${size}`,
          },
          signal,
        });
      } catch {
        throw new AnchorFailed("the program cannot be started");
      }
      const code = await child.exited;
      if (code !== 0) throw new AnchorFailed(`the program ended with exit code ${code}`);
    },
  };
}

/** Posts each seal as text; any 2xx answer means that it was taken. Redirections are not followed. */
export function webhookSink(url: string): AnchorSink {
  return {
    kind: "webhook",
    place: new URL(url).host,
    name: `webhook ${new URL(url).host}`,
    async deliver({ workspaceId, size, note }: AnchoredSeal, signal: AbortSignal) {
      const response = await fetch(url, {
        method: "POST",
        redirect: "manual",
        headers: {
          "content-type": "text/plain; charset=utf-8",
          "x-workspace-id": workspaceId,
          "x-seal-size": `${size}`,
          // The same seal may come twice: whoever keeps it can tell.
          "idempotency-key": `${workspaceId}-${size}`,
        },
        body: note,
        signal,
      });
      await response.body?.cancel();
      if (!response.ok) throw new AnchorFailed(`the address answered ${response.status}`);
    },
  };
}

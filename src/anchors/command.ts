/** A program that is run for each seal, with the seal on its standard input. */
import { basename } from "node:path";
import { type AnchoredSeal, AnchorFailed, type AnchorSink } from "./sink.ts";

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
